// Measures of self-organization, as in src/somelab/core/measures.py.
import { lengthOf } from "./state.ts";

/** Inequality of usage. 0: all equal; near 1: one expert has all usage. */
export function gini(use: Float64Array): number {
  const total = use.reduce((sum, value) => sum + value, 0);
  if (!total) return 0;
  const num = use.length;
  return use.slice().sort().reduce((sum, value, i) => sum + (2 * (i + 1) - num - 1) * value, 0) / (num * total);
}

/** Shannon entropy of the shares in bits. */
export function entropyBits(use: Iterable<number>): number {
  const values = [...use].filter((value) => value > 0);
  const total = values.reduce((sum, value) => sum + value, 0);
  return values.reduce((sum, value) => sum - (value / total) * Math.log2(value / total), 0);
}

/** Share of the experts with zero usage. */
export const deadShare = (use: Float64Array): number => use.reduce((sum, value) => sum + (value > 0 ? 0 : 1), 0) / use.length;

/** Mean cosine of each key to its K-1 nearest. Near 1: keys have fused, and E experts act as E/K. */
export function crowding(keys: Float64Array, topK: number): number {
  const num = keys.length / 2;
  const neighbours = Math.min(topK - 1, num - 1);
  if (neighbours < 1) return 0;
  const lengths = Float64Array.from({ length: num }, (_, i) => Math.max(lengthOf(keys, i), 1e-12));
  const nearest = new Float64Array(neighbours + 1);
  let total = 0;
  for (let i = 0; i < num; i++) {
    nearest.fill(Number.NEGATIVE_INFINITY);
    for (let j = 0; j < num; j++) {
      const cosine = (keys[2 * i]! * keys[2 * j]! + keys[2 * i + 1]! * keys[2 * j + 1]!) / (lengths[i]! * lengths[j]!);
      if (!(cosine > nearest[neighbours]!)) continue;
      let place = neighbours;
      for (; place > 0 && cosine > nearest[place - 1]!; place--) nearest[place] = nearest[place - 1]!;
      nearest[place] = cosine;
    }
    // The highest is the key's own cosine, 1.
    for (let k = 1; k <= neighbours; k++) total += nearest[k]! / neighbours;
  }
  return total / num;
}
