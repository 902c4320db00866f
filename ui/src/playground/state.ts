// What the rules work on: keys in the plane with everything that is stored per key, and what one step has collected.
// Mirrors src/somelab/core/gravity/state.py. Vectors lie flat: x and y of key i at 2i and 2i + 1.

export interface KeyState {
  readonly keys: Float64Array;
  readonly usage: Float64Array;
  readonly mass: Float64Array;
  readonly loadBias: Float64Array;
  /** The step at which each key was last respawned; -1 if never. */
  readonly born: Int32Array;
}

/** The statistics of one step: counts n, gate mass m, sums of queries S, pairs C, credit, and queries for respawn. */
export interface Seen {
  readonly count: Float64Array;
  readonly mass: Float64Array;
  /** What attraction counts: n and S of all K experts, or of the winner, or weighted by gates. */
  readonly pullWeight: Float64Array;
  readonly pullSum: Float64Array;
  /** How often i and j were selected by the same token, E x E. */
  readonly pairs: Float64Array;
  /** Sum of queries weighted by merit; null if credit is off. */
  readonly credit: Float64Array | null;
  /** Queries of this step, in the order in which dead keys take them. */
  readonly kept: Float64Array;
}

/** The settings of gravity, under the names of `somelab show --fields`. */
export interface Gravity {
  alpha: number;
  attraction_by: "all" | "winner" | "gate";
  credit: number;
  beta: number;
  inertia: "min" | "max";
  repulsion: number;
  repulsion_distance: number;
  ema_decay: number;
  norm: "unit" | "unit_used" | "clamp" | "none";
  delta: number;
  theta_percentile: number;
  warmup_steps: number;
  respawn: boolean;
  respawn_threshold: number;
  respawn_noise: number;
  load_bias: number;
  max_step: number | null;
}

export interface Moment {
  readonly settings: Gravity;
  readonly step: number;
  readonly keysBefore: Float64Array;
  /** Standard normal numbers for respawn, two for each dead key. */
  readonly noise: (numDead: number) => ArrayLike<number>;
}

export type Rule = (state: KeyState, seen: Seen, now: Moment) => KeyState;

/** Not Math.hypot, which is many times slower and guards against sizes that do not occur here. */
export const length = (x: number, y: number): number => Math.sqrt(x * x + y * y);
export const lengthOf = (keys: ArrayLike<number>, i: number): number => length(keys[2 * i]!, keys[2 * i + 1]!);

/** The key at unit length, as torch's F.normalize has it. */
export function normalise(keys: Float64Array, i: number): void {
  const size = Math.max(lengthOf(keys, i), 1e-12);
  keys[2 * i] = keys[2 * i]! / size;
  keys[2 * i + 1] = keys[2 * i + 1]! / size;
}

export function newState(keys: Float64Array): KeyState {
  const num = keys.length / 2;
  return { keys, usage: new Float64Array(num), mass: new Float64Array(num), loadBias: new Float64Array(num), born: new Int32Array(num).fill(-1) };
}
