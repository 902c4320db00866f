// What the layers of a run are called.
import type { Run } from "./schema";

/** "Layer 3", or "Layer 3 · Storyteller" where the layer has a name. */
export function layerName(run: Run, layer: number): string {
  const name = run.layer_names[layer];
  return name ? `Layer ${layer} · ${name}` : `Layer ${layer}`;
}

export const plainLayer = (layer: number): string => `Layer ${layer}`;

/** The first, the middle and the last of a list, without doubles: the three that the reports show. */
export function threeOf(layers: readonly number[]): number[] {
  const last = layers.length - 1;
  return [...new Set([0, Math.floor(layers.length / 2), last])].filter((i) => i >= 0).map((i) => layers[i]!);
}
