// What a colour means: swatches with names, or a ramp with its two ends.
import { css, type Rgb } from "../design/colours";

export function Legend({ entries }: { entries: readonly { label: string; colour: string; dash?: boolean }[] }) {
  return (
    <ul class="legend">
      {entries.map((entry) => (
        <li key={entry.label}>
          <i class={entry.dash ? "dash" : ""} style={{ background: entry.dash ? "none" : entry.colour, borderColor: entry.colour }} />
          {entry.label}
        </li>
      ))}
    </ul>
  );
}

export function RampLegend({ ramp, low, high, label }: { ramp: (share: number) => Rgb; low: string; high: string; label: string }) {
  const stops = Array.from({ length: 9 }, (_, i) => css(ramp(i / 8))).join(", ");
  return (
    <div class="ramp" aria-label={`${label}: from ${low} to ${high}`}>
      <span>{low}</span>
      <i style={{ background: `linear-gradient(to right, ${stops})` }} />
      <span>{high}</span>
    </div>
  );
}
