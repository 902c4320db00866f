// Loss against the value of a setting: a line for each arm through its whole runs, the chosen value in a ring, runs that were
// stopped early as faint points at their last loss, and a cross at the top for a run that diverged.
import { useEffect, useRef, useState } from "preact/hooks";
import { figure, mark } from "../format";
import type { ValueLine, ValuePoint } from "../schema";
import { linearTicks, logTicks } from "../ticks";

export interface DrawnLine extends ValueLine {
  colour: string;
  dash?: readonly number[];
}

export interface ValueChartProps {
  title: string;
  lines: readonly DrawnLine[];
  xLabel: string;
  yLabel: string;
  /** A logarithmic x axis, for values that are factors apart. */
  log?: boolean;
  /** The values in words, at x = 0, 1, 2 ...; none where they are numbers. */
  labels?: readonly string[];
  height?: number;
}

interface Axis {
  at: (value: number) => number;
  ticks: readonly { value: number; text: string }[];
}

interface Placed {
  point: ValuePoint;
  line: DrawnLine;
  left: number;
  top: number;
  kind: "ended" | "stopped" | "diverged" | "beyond";
}

const [LEFT, RIGHT, TOP, BOTTOM] = [60, 18, 28, 50];
/** Where crosses and arrows stand, above the lines and apart from each other. */
const ABOVE = { diverged: TOP - 20, beyond: TOP - 7 };
/** Pixels that a mark of the x axis needs, those of a letter, and how near to a point the pointer has to be. */
const [ROOM, LETTER, NEAR] = [46, 6.5, 30];
/** Whole runs of an arm that make a line: with fewer, the stopped runs say more. */
const LEAST_OF_LINE = 3;

const written = (value: number): string => (Math.abs(value) >= 1000 ? mark(value) : String(Number(value.toPrecision(3))));

/** Marks stand at the values themselves where those have room, else at round numbers. */
function xAxis({ lines, log = false, labels = [] }: ValueChartProps, width: number): Axis {
  const values = [...new Set(lines.flatMap((line) => line.points.map((point) => point.x)))].sort((a, b) => a - b);
  const [first, last] = [values[0] ?? 1, values[values.length - 1] ?? 1];
  const scale = log ? Math.log : (value: number) => value;
  const span = scale(last) - scale(first) || (log ? Math.log(4) : Math.abs(last) || 1);
  const [low, high] = labels.length ? [-0.5, labels.length - 0.5] : [scale(first) - 0.07 * span, scale(last) + 0.07 * span];
  const at = (value: number) => LEFT + ((scale(value) - low) / (high - low)) * (width - LEFT - RIGHT);
  if (labels.length) {
    const most = Math.max(2, Math.floor((at(1) - at(0)) / LETTER) - 1);
    return { at, ticks: labels.map((text, value) => ({ value, text: text.length > most ? `${text.slice(0, most - 1)}…` : text })) };
  }
  const fits = values.every((value, i) => i === 0 || at(value) - at(values[i - 1]!) >= ROOM);
  const marks = fits ? values : log ? logTicks(first, last) : linearTicks(first, last);
  return { at, ticks: marks.map((value) => ({ value, text: written(value) })) };
}

/** Spans the whole runs. Stopped ones widen it by as much again at most, since their higher losses would flatten the lines. */
function yAxis(lines: readonly DrawnLine[], height: number): Axis & { most: number } {
  const losses = (ended: boolean) => lines.flatMap((line) => line.points.flatMap((point) => (point.ended === ended && point.y != null ? [point.y] : [])));
  const whole = losses(true).length ? losses(true) : losses(false);
  const [least, most] = whole.length ? [Math.min(...whole), Math.max(...whole)] : [0, 1];
  const room = most - least || Math.abs(most) * 0.05 || 1;
  const hasLines = lines.some((line) => line.points.filter((point) => point.ended).length >= LEAST_OF_LINE);
  const top = Math.max(most, ...losses(false).filter((loss) => !hasLines || loss <= most + room));
  const low = Math.min(least, ...losses(false));
  const edge = 0.08 * (top - low || room);
  const at = (value: number) => height - BOTTOM - ((value - low + edge) / (top - low + 2 * edge)) * (height - TOP - BOTTOM);
  const ticks = linearTicks(low - edge, top + edge, 5);
  const digits = Math.max(0, Math.ceil(-Math.log10((ticks[1] ?? low + 1) - (ticks[0] ?? low)) - 1e-9));
  return { at, most: top + edge, ticks: ticks.map((value) => ({ value, text: value.toFixed(Math.min(6, digits)) })) };
}

function placed(lines: readonly DrawnLine[], x: Axis, y: Axis & { most: number }): Placed[] {
  return lines.flatMap((line) =>
    line.points.map((point): Placed => {
      const kind = point.y == null ? "diverged" : point.y > y.most ? "beyond" : point.ended ? "ended" : "stopped";
      return { point, line, kind, left: x.at(point.x), top: kind === "diverged" || kind === "beyond" ? ABOVE[kind] : y.at(point.y!) };
    }),
  );
}

export function ValueChart(props: ValueChartProps) {
  const { lines, xLabel, yLabel, height = 330 } = props;
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  const [hover, setHover] = useState<Placed | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(200, entry!.contentRect.width)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const [x, y] = [xAxis(props, width), yAxis(lines, height)];
  const points = placed(lines, x, y);
  const floor = height - BOTTOM;
  const point = (event: PointerEvent & { currentTarget: Element }) => {
    const frame = event.currentTarget.getBoundingClientRect();
    const distance = (one: Placed) => Math.hypot(one.left - event.clientX + frame.left, one.top - event.clientY + frame.top);
    const nearest = points.length ? points.reduce((a, b) => (distance(b) < distance(a) ? b : a)) : null;
    setHover(nearest && distance(nearest) <= NEAR ? nearest : null);
  };
  return (
    <div class="scatter value-chart" ref={box} data-testid="value-chart">
      <svg width={width} height={height} role="img" aria-label={describe(props)} onPointerMove={point} onPointerLeave={() => setHover(null)}>
        {y.ticks.map(({ value, text }) => (
          <g key={`y ${value}`}>
            <line class="rule" x1={LEFT} x2={width - RIGHT} y1={y.at(value)} y2={y.at(value)} />
            <text class="mark" x={LEFT - 8} y={y.at(value) + 4} text-anchor="end">{text}</text>
          </g>
        ))}
        {x.ticks.map(({ value, text }) => <text key={`x ${value}`} class="mark tick" x={x.at(value)} y={floor + 20} text-anchor="middle">{text}</text>)}
        <text class="mark" x={(LEFT + width - RIGHT) / 2} y={height - 6} text-anchor="middle">{xLabel}</text>
        <text class="mark" transform={`translate(11 ${(floor + TOP) / 2}) rotate(-90)`} text-anchor="middle">{yLabel}</text>
        {lines.map((line) => <Path key={line.name} line={line} points={points} />)}
        {points.map((one, i) => <Mark key={i} {...one} />)}
        {hover && <circle cx={hover.left} cy={hover.top} r={7} fill="none" stroke={hover.line.colour} stroke-width={1} />}
      </svg>
      {hover && <p class="plot-card value-note" style={card(hover, width)}>{hover.point.note}</p>}
    </div>
  );
}

/** Through the whole runs of an arm, from the lowest value to the highest. */
function Path({ line, points }: { line: DrawnLine; points: readonly Placed[] }) {
  const through = points.filter((one) => one.line === line && one.kind === "ended").map((one) => `${one.left},${one.top}`);
  return <polyline class="path" points={through.join(" ")} fill="none" stroke={line.colour} stroke-width={1.75} {...(line.dash?.length ? { "stroke-dasharray": line.dash.join(" ") } : {})} />;
}

function Mark({ point, line, left, top, kind }: Placed) {
  const colour = line.colour;
  if (kind === "diverged") return <path class="diverged" d={`M${left - 3.5} ${top - 3.5}l7 7m0 -7l-7 7`} stroke={colour} stroke-width={1.5} opacity={0.6} />;
  if (kind === "beyond") return <path class="beyond" d={`M${left - 3} ${top + 3}l3 -6l3 6z`} fill={colour} opacity={point.ended ? 0.8 : 0.38} />;
  if (kind === "stopped") return <circle class="stopped" cx={left} cy={top} r={2.75} fill={colour} opacity={0.38} />;
  const isChosen = point.x === line.chosen;
  return (
    <>
      {isChosen && <circle class="chosen" cx={left} cy={top} r={9} fill="none" stroke={colour} stroke-width={2} />}
      <circle class="ended" cx={left} cy={top} r={isChosen ? 4.5 : 3.25} fill={colour} />
    </>
  );
}

/** Beside the point, on the side where there is more room. */
const card = ({ left, top }: Placed, width: number) => ({ top: `${Math.max(0, top - 16)}px`, ...(left > width / 2 ? { left: "auto", right: `${width - left + 14}px` } : { left: `${left + 14}px` }) });

/** The chart in sentences, for those who hear it. */
function describe({ title, lines, xLabel, yLabel, labels = [] }: ValueChartProps): string {
  const said = lines.map((line) => {
    const best = line.points.find((point) => point.x === line.chosen);
    const choice = best ? `chosen ${labels[best.x] ?? written(best.x)} with ${figure(best.y)}` : "nothing chosen yet";
    return `${line.name}: ${choice}; ${line.points.map((point) => point.note).join(", ")}`;
  });
  return `${title}. ${yLabel} over ${xLabel}. ${said.join(". ")}.`;
}
