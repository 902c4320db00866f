// The last row under rows on one axis: the numbers at its ticks, and the unit where the rows have their values.
import { mark } from "../format";

export function AxisRow({ ticks, at, unit }: { ticks: readonly number[]; at: (value: number) => string; unit: string }) {
  return (
    <div class="range axis" aria-hidden="true">
      <span class="range-label" />
      <span class="range-track">{ticks.map((value) => <small key={value} style={{ left: at(value) }}>{mark(Number(value.toPrecision(6)))}</small>)}</span>
      <span class="range-value">{unit}</span>
    </div>
  );
}
