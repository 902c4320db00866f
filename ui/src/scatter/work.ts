// How the work of a layer is shared at one moment. Use is stored in 256 steps, so counting them is enough: no sorting, whatever E is.
import { unpack } from "../data/packed";
import type { Galaxy } from "../schema";

/** Choices a step that a stored value stands for. */
export const useOf = (galaxy: Galaxy, value: number): number => Math.expm1((value / 255) * Math.log1p(galaxy.usage_most));

export interface Work {
  /** Choices of all experts together. */
  total: number;
  /** The fewest experts that do half of it. */
  half: number;
  idle: number;
  /** How many experts have each stored value. */
  counts: Uint32Array;
}

export function workAt(galaxy: Galaxy, frame: number): Work {
  const counts = new Uint32Array(256);
  const values = unpack(galaxy.usage);
  for (let i = frame * galaxy.num_experts; i < (frame + 1) * galaxy.num_experts; i++) counts[values[i]!]!++;
  const uses = Array.from(counts, (number, value) => number * useOf(galaxy, value));
  const total = uses.reduce((a, b) => a + b, 0);
  let [half, sum] = [0, 0];
  for (let value = 255; value > 0 && sum < total / 2; value--) {
    const missing = Math.ceil((total / 2 - sum) / useOf(galaxy, value));
    const taken = Math.min(counts[value]!, missing);
    half += taken;
    sum += taken * useOf(galaxy, value);
  }
  return { total, half, idle: counts[0]!, counts };
}

/** 1 for the most used. */
export function rankOf(work: Work, value: number): number {
  let above = 0;
  for (let other = 255; other > value; other--) above += work.counts[other]!;
  return above + 1;
}
