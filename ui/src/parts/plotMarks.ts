// What a chart has besides its curves: the side of a line that means collapse, bands over seeds, borders between stretches of x.
import type uPlot from "uplot";
import { css, parse } from "../design/colours";
import { token } from "../design/theme";
import type { Value } from "../format";
import type { Line } from "../schema";

export interface Border {
  /** Where the stretch begins. */
  at: number;
  label: string;
}

export interface Banded {
  colour: string;
  x: readonly number[];
  band: { low: readonly Value[]; high: readonly Value[] };
}

/** Tints the side of a line that means collapse. */
export function drawLine(plot: uPlot, line: Line): void {
  const { ctx, bbox } = plot;
  const at = plot.valToPos(line.value, "y", true);
  const clamped = Math.min(bbox.top + bbox.height, Math.max(bbox.top, at));
  ctx.save();
  ctx.fillStyle = token("bad-tint");
  if (line.side === "above") ctx.fillRect(bbox.left, bbox.top, bbox.width, clamped - bbox.top);
  else ctx.fillRect(bbox.left, clamped, bbox.width, bbox.top + bbox.height - clamped);
  if (at === clamped) {
    ctx.strokeStyle = token("bad");
    ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(bbox.left, at);
    ctx.lineTo(bbox.left + bbox.width, at);
    ctx.stroke();
  }
  ctx.restore();
}

/** Fills what lies between the least and the most of the seeds. */
export function drawBand(plot: uPlot, { colour, x, band }: Banded): void {
  const { ctx, bbox } = plot;
  const places = x.flatMap((value, i) => {
    const [low, high] = [band.low[i], band.high[i]];
    return low == null || high == null ? [] : [[plot.valToPos(value, "x", true), plot.valToPos(low, "y", true), plot.valToPos(high, "y", true)] as const];
  });
  if (places.length < 2) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = css(parse(colour), 0.17);
  ctx.beginPath();
  for (const [px, low] of places) ctx.lineTo(px, low);
  for (const [px, , high] of [...places].reverse()) ctx.lineTo(px, high);
  ctx.closePath();
  ctx.fill();
  ctx.restore();
}

/** A rule where each stretch begins, and its name at the top where there is room for it. */
export function drawBorders(plot: uPlot, borders: readonly Border[], font: string): void {
  const { ctx, bbox } = plot;
  const places = borders.map((border) => plot.valToPos(border.at, "x", true));
  const right = bbox.left + bbox.width;
  ctx.save();
  ctx.font = font.replace(/^[\d.]+/, (size) => String(Number(size) * devicePixelRatio));
  ctx.textBaseline = "top";
  borders.forEach((border, i) => {
    const from = Math.max(bbox.left, places[i]!);
    const to = Math.min(right, places[i + 1] ?? right);
    if (to <= from) return;
    if (places[i]! > bbox.left + 1) {
      ctx.strokeStyle = token("faint");
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(from, bbox.top);
      ctx.lineTo(from, bbox.top + bbox.height);
      ctx.stroke();
    }
    const room = to - from - 10 * devicePixelRatio;
    const label = [border.label, `${border.label.slice(0, 4)}…`, String(i + 1)].find((text) => ctx.measureText(text).width <= room);
    ctx.fillStyle = token("muted");
    if (label !== undefined) ctx.fillText(label, from + 6 * devicePixelRatio, bbox.top + 2 * devicePixelRatio);
  });
  ctx.restore();
}
