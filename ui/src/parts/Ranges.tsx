// Dots with their intervals, a row each on one axis, and where given the band that chance would fill.
import { mark } from "../format";
import { linearTicks } from "../ticks";
import { AxisRow } from "./AxisRow";

export interface RangeRow {
  label: string;
  value: number;
  low: number;
  high: number;
  /** What chance gives, the easier baseline and the harder one. */
  chance?: readonly [number, number];
  harder?: readonly [number, number];
  note: string;
  colour?: string;
}

export function Ranges({ rows, least = 0, most, unit }: { rows: readonly RangeRow[]; least?: number; most: number; unit: string }) {
  const at = (value: number) => `${Math.min(100, Math.max(0, (100 * (value - least)) / (most * 1.04 - least || 1)))}%`;
  const width = (low: number, high: number) => `${Math.max(0.3, (100 * (high - low)) / (most * 1.04 - least || 1))}%`;
  const marks = linearTicks(least, most);
  return (
    <div class="ranges">
      {rows.map((row) => (
        <div key={row.label} class="range" title={row.note}>
          <span class="range-label">{row.label}</span>
          <span class="range-track" role="img" aria-label={`${row.label}: ${row.note}`}>
            {row.chance && <i class="base" style={{ left: at(row.chance[0]), width: width(...row.chance) }} />}
            {row.harder && <i class="base harder" style={{ left: at(row.harder[0]), width: width(...row.harder) }} />}
            <i class="span" style={{ left: at(row.low), width: width(row.low, row.high), ...(row.colour ? { background: row.colour } : {}) }} />
            <i class="point" style={{ left: at(row.value), ...(row.colour ? { background: row.colour } : {}) }} />
          </span>
          <span class="range-value">{mark(Number(row.value.toPrecision(3)))}</span>
        </div>
      ))}
      <AxisRow ticks={marks} at={at} unit={unit} />
    </div>
  );
}
