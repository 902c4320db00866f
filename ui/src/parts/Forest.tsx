// A row for each arm or learner on one axis: a dot for the mean, a bar for its 95 % interval, a tick for every single seed.
import { fixed } from "../format";
import { excludesZero, half, signed, spread } from "../intervals";
import type { Interval } from "../schema";
import { linearTicks } from "../ticks";
import { AxisRow } from "./AxisRow";

export interface ForestRow {
  label: string;
  colour: string;
  interval: Interval;
  seeds: readonly number[];
  /** A difference that decides nothing, whatever its interval: an arm of it is untuned. */
  isOpen?: boolean;
}

interface ForestProps {
  title: string;
  rows: readonly ForestRow[];
  digits: number;
  unit: string;
  /** Rows are differences: zero is marked, numbers carry their sign. */
  isDifference?: boolean;
}

const REACH = 1.5;

/** What the axis spans: every seed, and the intervals as far as they do not press all seeds into a dot. */
function domain(rows: readonly ForestRow[], isDifference: boolean): [number, number] {
  const points = rows.flatMap(({ interval }) => [interval.mean, ...interval.values]).filter((value): value is number => value != null);
  if (isDifference) points.push(0);
  const [least, most] = [Math.min(...points), Math.max(...points)];
  const room = (most - least) * REACH || Math.abs(most) * 0.05 || 0.05;
  const low = Math.min(least, ...rows.map(({ interval }) => Math.max(interval.low ?? least, least - room)));
  const high = Math.max(most, ...rows.map(({ interval }) => Math.min(interval.high ?? most, most + room)));
  const edge = (high - low) * 0.04 || Math.abs(high) * 0.02 || 0.02;
  return [low - edge, high + edge];
}

export function Forest({ title, rows, digits, unit, isDifference = false }: ForestProps) {
  const [least, most] = domain(rows, isDifference);
  const share = (value: number) => (100 * (value - least)) / (most - least);
  const at = (value: number) => `${Math.min(100, Math.max(0, share(value)))}%`;
  const ticks = linearTicks(least, most, 5);
  const text = isDifference ? signed : spread;
  const note = ({ label, interval, seeds }: ForestRow): string => {
    const range = half(interval) ? `, 95 % interval ${fixed(interval.low, digits)} to ${fixed(interval.high, digits)}` : "";
    const single = interval.values.map((value, i) => `seed ${seeds[i] ?? i}: ${fixed(value, digits)}`).join(", ");
    return `${label}: ${text(interval, digits)}${range}${interval.values.length > 1 ? `; ${single}` : ""}`;
  };
  return (
    <div class={`ranges forest ${isDifference ? "differences" : ""}`} role="list" aria-label={title} data-testid="forest">
      {rows.map((row) => {
        const { interval, colour } = row;
        const [low, high] = [interval.low ?? interval.mean!, interval.high ?? interval.mean!];
        return (
          <div key={row.label} class="range" role="listitem" title={note(row)} aria-label={note(row)}>
            <span class="range-label"><i class="dot" style={{ background: colour }} />{row.label}</span>
            <span class="range-track" aria-hidden="true">
              {ticks.map((value) => <i key={`tick ${value}`} class="rule" style={{ left: at(value) }} />)}
              {isDifference && <i class="zero" style={{ left: at(0) }} />}
              {half(interval) !== null && (
                <i class={`span ${share(low) < 0 ? "cut-left" : ""} ${share(high) > 100 ? "cut-right" : ""}`} style={{ left: at(low), right: `calc(100% - ${at(high)})`, background: colour }} />
              )}
              {interval.values.length > 1 && interval.values.map((value, i) => value != null && <i key={i} class="seed" style={{ left: at(value), background: colour }} />)}
              <i class="point" style={{ left: at(interval.mean!), background: colour }} />
            </span>
            <span class={`range-value ${isDifference && !row.isOpen && excludesZero(interval) ? "sure" : ""}`}>{text(interval, digits)}</span>
          </div>
        );
      })}
      <AxisRow ticks={ticks} at={at} unit={unit} />
    </div>
  );
}
