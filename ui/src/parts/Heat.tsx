// A measure of all layers over time as one picture: a row a layer, the first on top; what lies beyond the line is marked.
import { useState } from "preact/hooks";
import { css, viridis } from "../design/colours";
import { token } from "../design/theme";
import { figure, whole, type Value } from "../format";
import type { Line } from "../schema";
import { useCanvas } from "./useCanvas";

interface HeatProps {
  title: string;
  steps: readonly number[];
  rows: readonly (readonly Value[])[];
  low: number;
  high: number;
  line?: Line | undefined;
  rowNames: readonly string[];
}

const isBad = (value: Value, line: Line | undefined): boolean =>
  value != null && line !== undefined && (line.side === "above" ? value > line.value : value < line.value);

/** The last record at or before each column of the picture, by step and not by number: records may be uneven. */
function columnRecords(steps: readonly number[], numColumns: number): number[] {
  const first = steps[0] ?? 0;
  const last = steps[steps.length - 1] ?? 1;
  const found: number[] = [];
  let at = 0;
  for (let column = 0; column < numColumns; column++) {
    const step = first + ((column + 0.5) / numColumns) * (last - first);
    while (at + 1 < steps.length && steps[at + 1]! <= step) at++;
    found.push(at);
  }
  return found;
}

export function Heat({ title, steps, rows, low, high, line, rowNames }: HeatProps) {
  const [hover, setHover] = useState<{ layer: number; record: number; x: number } | null>(null);
  const rowHeight = Math.max(7, Math.min(18, 110 / Math.max(1, rows.length)));
  const height = rowHeight * rows.length;
  const canvas = useCanvas(
    (context, width) => {
      const records = columnRecords(steps, Math.ceil(width));
      const first = rows[0]?.[0];
      const isFlat = rows.every((row) => row.every((value) => value === first || value == null));
      rows.forEach((row, layer) => {
        records.forEach((record, column) => {
          const value = row[record];
          if (value == null) return;
          context.fillStyle = isFlat ? token("grid") : css(viridis((value - low) / (high - low || 1)));
          context.fillRect(column, layer * rowHeight, 1.5, rowHeight - 1);
        });
        records.forEach((record, column) => {
          if (!isBad(row[record], line)) return;
          context.fillStyle = token("bad");
          context.fillRect(column, (layer + 1) * rowHeight - 2.5, 1.5, 2.5);
        });
      });
    },
    [steps, rows, low, high, line],
  );
  const point = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    const records = columnRecords(steps, 400);
    const layer = Math.min(rows.length - 1, Math.max(0, Math.floor((event.clientY - box.top) / rowHeight)));
    setHover({ layer, record: records[Math.min(399, Math.max(0, Math.floor(share * 400)))] ?? 0, x: share });
  };
  const value = hover ? rows[hover.layer]?.[hover.record] : null;
  const ends = rows.map((row, layer) => `${rowNames[layer]} ${figure(row[row.length - 1])}`).join(", ");
  return (
    <div class="heat" role="img" aria-label={`${title}. At the end: ${ends}.`}>
      <canvas ref={canvas} style={{ height: `${height}px` }} onPointerMove={point} onPointerLeave={() => setHover(null)} />
      {hover && (
        <div class="heat-card" style={hover.x > 0.5 ? { right: `${(1 - hover.x) * 100}%` } : { left: `${hover.x * 100}%` }}>
          {rowNames[hover.layer]}, step {whole(steps[hover.record])}: <b>{figure(value)}</b>
          {isBad(value, line) && <em> {line!.sentence}</em>}
        </div>
      )}
    </div>
  );
}
