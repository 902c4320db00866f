// Curves over a common x: uPlot with our axes, the lines beyond which it is collapse, and a card under the pointer.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { isDark, token } from "../design/theme";
import { figure, mark, type Value } from "../format";
import type { Line } from "../schema";
import { logTicks } from "../ticks";
import { drawBand, drawBorders, drawLine, type Border } from "./plotMarks";

export interface Curve {
  label: string;
  colour: string;
  x: readonly number[];
  y: readonly Value[];
  /** Points without a line between them, or a line; points are for what was measured rarely. */
  points?: boolean;
  width?: number;
  dash?: number[];
  alpha?: number;
  /** What seeds span around it. */
  band?: { low: readonly Value[]; high: readonly Value[] };
}

export interface PlotProps {
  /** What a screen reader says. */
  title: string;
  curves: readonly Curve[];
  xLabel: string;
  yLabel: string;
  log?: boolean;
  least?: Value;
  most?: Value;
  /** Take least and most as they are, for panels that share an axis; else they only bound what the data ask for. */
  fixed?: boolean;
  line?: Line | undefined;
  /** Stretches of x with names, such as the experiences of a stream. */
  borders?: readonly Border[];
  height?: number;
  format?: (value: number) => string;
  /** Charts with the same name share their pointer. */
  together?: string;
  /** Leave out the axis names: for small multiples, whose heading says them once. */
  bare?: boolean;
  /** Shared range of x, so that small multiples can be compared. */
  xMost?: number | undefined;
  /** Where x begins, where that is before the first point. */
  xLeast?: number | undefined;
}

const AXIS_FONT = '11px Inter, ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif';

/** uPlot wants one table: the curves, joined on x. */
function table(curves: readonly Curve[]): uPlot.AlignedData {
  if (!curves.length) return [[], []];
  const tables = curves.map((curve) => [[...curve.x], curve.y.map((value) => value ?? null)] as unknown as uPlot.AlignedData);
  return tables.length === 1 ? tables[0]! : uPlot.join(tables);
}

function extent(curves: readonly Curve[], props: PlotProps): [number, number] {
  if (props.fixed && props.least != null && props.most != null) return [props.least, props.most];
  const shown = curves.flatMap((curve) => [...curve.y, ...(curve.band ? [...curve.band.low, ...curve.band.high] : [])]);
  const values = shown.filter((value): value is number => value != null && (!props.log || value > 0));
  if (props.line) values.push(props.line.value);
  let low = values.length ? values.reduce((a, b) => Math.min(a, b)) : props.log ? 1 : 0;
  let high = values.length ? values.reduce((a, b) => Math.max(a, b)) : 1;
  const room = (high - low) * 0.08 || Math.abs(high) * 0.1 || 0.1;
  if (!props.log) {
    low -= room;
    high += props.borders ? 2 * room : room;
  } else {
    low /= 1.08;
    high *= 1.08;
  }
  // Bounds that the data come near to are shown; far ones would only flatten the curve.
  if (props.least != null) low = Math.max(low, props.least - (high - low) * 0.04);
  if (props.most != null) high = Math.min(high, props.most + (high - low) * 0.04);
  return [low, high];
}

function axes(props: PlotProps): uPlot.Axis[] {
  const common: uPlot.Axis = {
    stroke: token("muted"),
    font: AXIS_FONT,
    labelFont: AXIS_FONT,
    grid: { stroke: token("grid"), width: 1 },
    ticks: { show: false },
    labelSize: 18,
    gap: 6,
  };
  const marks = (_: uPlot, values: (number | null)[]): string[] => values.map((value) => (value == null ? "" : mark(value)));
  return [
    { ...common, ...(props.bare ? {} : { label: props.xLabel }), size: 28, space: 64, grid: { show: false }, values: marks },
    { ...common, ...(props.bare ? {} : { label: props.yLabel }), size: 46, space: 34, values: marks, ...(props.log ? { splits: logSplits, filter: (_: uPlot, splits: number[]) => splits } : {}) },
  ];
}

const logSplits = (_: uPlot, __: number, low: number, high: number): number[] => logTicks(low, high);

function seriesOf(curve: Curve): uPlot.Series {
  return {
    label: curve.label,
    stroke: curve.colour,
    width: curve.width ?? 1.75,
    alpha: curve.alpha ?? 1,
    spanGaps: true,
    ...(curve.dash ? { dash: curve.dash } : {}),
    points: curve.points || curve.x.length < 3 ? { show: true, size: 6, fill: curve.colour, stroke: curve.colour } : { show: false },
  };
}

function showCard(plot: uPlot, card: HTMLElement, props: PlotProps): void {
  const { idx, left } = plot.cursor;
  if (idx == null || left == null || left < 0) {
    card.hidden = true;
    return;
  }
  const format = props.format ?? figure;
  const x = plot.data[0][idx];
  const rows = props.curves.flatMap((curve, i) => {
    const value = nearest(plot.data[i + 1] as readonly Value[], idx);
    return value == null ? [] : [{ curve, text: format(value) + around(curve, x ?? 0, format) }];
  });
  if (x == null || !rows.length) {
    card.hidden = true;
    return;
  }
  const head = document.createElement("div");
  head.className = "card-head";
  head.textContent = `${props.xLabel.split(",")[0]} ${figure(x)}`;
  card.replaceChildren(
    head,
    ...rows.slice(0, 12).map(({ curve, text }) => {
      const row = document.createElement("div");
      const swatch = document.createElement("i");
      swatch.style.background = curve.colour;
      const label = document.createElement("span");
      label.textContent = curve.label;
      const value = document.createElement("b");
      value.textContent = text;
      row.append(swatch, label, value);
      return row;
    }),
  );
  card.hidden = false;
  const over = plot.over.getBoundingClientRect();
  const box = plot.root.getBoundingClientRect();
  const at = over.left - box.left + left;
  const flips = at + card.offsetWidth + 24 > box.width;
  card.style.transform = `translate(${Math.max(0, flips ? at - card.offsetWidth - 12 : at + 12)}px, 8px)`;
}

/** What the seeds span at a place of the curve. */
function around({ band, x }: Curve, at: number, format: (value: number) => string): string {
  const place = band ? x.indexOf(at) : -1;
  const [low, high] = [band?.low[place], band?.high[place]];
  return low == null || high == null || low === high ? "" : ` (${format(low)} to ${format(high)})`;
}

/** Wider than the data where the props say so; a range that the reader has dragged is kept. */
function xRange({ curves, xLeast, xMost }: PlotProps, low: number, high: number): [number, number] {
  const isWhole = xLeast !== undefined && curves.every(({ x }) => x.length === 0 || (low <= x[0]! && high >= x[x.length - 1]!));
  return [isWhole ? Math.min(low, xLeast) : low, (xLeast === undefined || isWhole ? Math.max(high, xMost ?? high) : high) || 1];
}

function drawMarks(chart: uPlot, { line, borders, curves }: PlotProps): void {
  if (line) drawLine(chart, line);
  if (borders) drawBorders(chart, borders, AXIS_FONT);
  for (const { colour, x, band } of curves) if (band) drawBand(chart, { colour, x, band });
}

/** Joined curves have gaps where another one was measured: the last value before is what the line shows there. */
function nearest(values: readonly Value[], idx: number): Value {
  for (let i = idx; i >= 0 && i > idx - 400; i--) if (values[i] != null) return values[i];
  return null;
}

export function Plot(props: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const card = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const dark = isDark.value;
  const structure = JSON.stringify([
    dark, props.log, props.bare, props.line, props.xLabel, props.yLabel, props.height, props.least, props.most,
    props.curves.map((curve) => [curve.label, curve.colour, curve.points, curve.width, curve.dash, curve.alpha, curve.x.length < 3]),
  ]); // prettier-ignore

  useEffect(() => {
    const element = box.current!;
    const now = latest.current;
    const height = now.height ?? 220;
    const options: uPlot.Options = {
      width: Math.max(120, element.clientWidth),
      height,
      padding: [10, 10, 0, 0],
      legend: { show: false },
      cursor: {
        drag: { x: true, y: false, setScale: true },
        points: { size: 7 },
        y: false,
        ...(now.together ? { sync: { key: now.together, setSeries: false } } : {}),
      },
      scales: {
        x: { time: false, range: (_, low, high) => xRange(latest.current, low, high) },
        y: { distr: now.log ? 3 : 1, range: () => extent(latest.current.curves, latest.current) },
      },
      axes: axes(now),
      series: [{}, ...now.curves.map(seriesOf)],
      hooks: {
        drawClear: [(chart) => drawMarks(chart, latest.current)],
        setCursor: [(chart) => void (card.current && showCard(chart, card.current, latest.current))],
      },
    };
    const chart = new uPlot(options, table(now.curves), element);
    plot.current = chart;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== chart.width) chart.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
      plot.current = null;
    };
  }, [structure]);

  useEffect(() => plot.current?.setData(table(props.curves)), [props.curves, props.xMost]);

  return (
    <div class="plot" role="img" aria-label={describe(props)} data-points={props.curves[0]?.x.length ?? 0}>
      <div ref={box} class="plot-box" />
      <div ref={card} class="plot-card" hidden />
    </div>
  );
}

/** The chart in a sentence, for those who hear it. */
function describe(props: PlotProps): string {
  const ends = props.curves.slice(0, 12).flatMap((curve) => {
    const value = nearest(curve.y, curve.y.length - 1);
    return value == null ? [] : [`${curve.label} ends at ${(props.format ?? figure)(value)}`];
  });
  const stretches = props.borders ? ` In ${props.borders.length} stretches: ${props.borders.map((border) => border.label).join(", ")}.` : "";
  return `${props.title}. ${props.yLabel} over ${props.xLabel}.${stretches} ${ends.join("; ")}.`;
}
