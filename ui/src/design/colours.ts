// The colours of data: Okabe and Ito's palette for kinds, two ramps for amounts. All survive every kind of colour vision.

export type Rgb = readonly [number, number, number];

/** Kinds, in the order in which they are given out. */
export const KINDS: readonly string[] = ["#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#0072B2", "#999999"];

/** The same for lines and text on paper, where yellow and sky blue are too faint. */
export const KINDS_ON_PAPER: readonly string[] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#7A3E9D", "#6B7280"];
export const KINDS_ON_NIGHT: readonly string[] = ["#56B4E9", "#E69F00", "#2BC79A", "#E39CC6", "#F0E442", "#FF8A4C", "#8FB8FF", "#B3BAC8"];

export const NIGHT: Rgb = [17, 26, 46];
export const UNKNOWN = "#64708A";

const SKY_RAMP: readonly (readonly [number, Rgb])[] = [
  [0, [52, 78, 132]],
  [0.45, [86, 180, 233]],
  [1, [240, 228, 66]],
];
const VIRIDIS: readonly (readonly [number, Rgb])[] = [
  [0, [68, 1, 84]],
  [0.13, [71, 44, 122]],
  [0.25, [59, 81, 139]],
  [0.38, [44, 113, 142]],
  [0.5, [33, 144, 141]],
  [0.63, [39, 173, 129]],
  [0.75, [92, 200, 99]],
  [0.88, [170, 220, 50]],
  [1, [253, 231, 37]],
];

function along(stops: readonly (readonly [number, Rgb])[], share: number): Rgb {
  const at = Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0));
  for (let i = 1; i < stops.length; i++) {
    const [low, start] = stops[i - 1]!;
    const [high, end] = stops[i]!;
    if (at <= high) {
      const part = (at - low) / (high - low);
      return [0, 1, 2].map((c) => Math.round(start[c]! + part * (end[c]! - start[c]!))) as unknown as Rgb;
    }
  }
  return stops[stops.length - 1]![1];
}

export const css = (colour: Rgb, alpha = 1): string => `rgb(${colour[0]} ${colour[1]} ${colour[2]} / ${alpha})`;

export function parse(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Amounts on the night sky: dim blue over sky blue to yellow. */
export const sky = (share: number): Rgb => along(SKY_RAMP, share);

/** Amounts on paper. */
export const viridis = (share: number): Rgb => along(VIRIDIS, share);

/** Kinds beyond the palette come round again, paler: eight is what an eye can hold apart. */
export function kind(index: number): Rgb {
  if (index < 0) return parse(UNKNOWN);
  const base = parse(KINDS[index % KINDS.length]!);
  const pale = Math.min(0.6, Math.floor(index / KINDS.length) * 0.3);
  return base.map((c) => Math.round(c + (255 - c) * pale)) as unknown as Rgb;
}

/** The colour of a layer by its depth, first to last, readable on the given ground. */
export function depth(layer: number, numLayers: number, dark: boolean): string {
  const share = numLayers > 1 ? layer / (numLayers - 1) : 0.5;
  return css(viridis(dark ? 0.3 + 0.65 * share : 0.05 + 0.75 * share));
}

/** The colour of a run among others. */
export const ofRun = (index: number, dark: boolean): string => {
  const palette = dark ? KINDS_ON_NIGHT : KINDS_ON_PAPER;
  return palette[index % palette.length]!;
};
