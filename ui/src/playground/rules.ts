// The rules of Knowledge Gravity, one pure function each, as in src/somelab/core/gravity: same equations, same order.
// `ui/tests/rules.test.ts` compares them with trajectories that the Python rules wrote. Centring and key_ema are left out:
// queries here have no common direction, and tokens are routed by the keys themselves.
import { length, lengthOf, normalise, type Gravity, type KeyState, type Moment, type Rule, type Seen } from "./state.ts";

/** u <- r u + (1-r) n, and the same for gate mass with m. */
export const usage: Rule = (state, seen, { settings }) => {
  const r = settings.ema_decay;
  return {
    ...state,
    usage: state.usage.map((value, i) => r * value + (1 - r) * seen.count[i]!),
    mass: state.mass.map((value, i) => r * value + (1 - r) * seen.mass[i]!),
  };
};

/** b_i <- b_i + rate * sign(mean(n) - n_i). It shifts the selection, never the gates. */
export const loadBias: Rule = (state, seen, { settings }) => {
  if (!settings.load_bias) return state;
  const mean = seen.count.reduce((sum, n) => sum + n, 0) / seen.count.length;
  return { ...state, loadBias: state.loadBias.map((bias, i) => bias + settings.load_bias * Math.sign(mean - seen.count[i]!)) };
};

/** k_i += a_i (S_i / n_i - k_i), a_i = min(1, alpha n_i / (1 + u_i)): towards the mean of its queries. */
export const attraction: Rule = (state, seen, { settings }) => {
  if (!settings.alpha) return state;
  const keys = state.keys.slice();
  for (let i = 0; i < state.usage.length; i++) {
    const weight = seen.pullWeight[i]!;
    if (!weight) continue;
    const rate = Math.min(1, (settings.alpha * weight) / (1 + state.usage[i]!));
    for (let d = 2 * i; d < 2 * i + 2; d++) keys[d] = keys[d]! + rate * (seen.pullSum[d]! / weight - keys[d]!);
  }
  return { ...state, keys };
};

/** Below this share of its length, the component of the credit orthogonal to the key may be rounding error. */
const ALONG = 1e-4;

/** k_i += c d_i / |d_i|, d_i the component of sum_t m_ti q_t orthogonal to k_i: towards queries that its expert serves
 *  better than the token's other experts do. */
export const credit: Rule = (state, seen, { settings }) => {
  if (!settings.credit || !seen.credit) return state;
  const keys = state.keys.slice();
  for (let i = 0; i < state.usage.length; i++) {
    const [x, y, cx, cy] = [keys[2 * i]!, keys[2 * i + 1]!, seen.credit[2 * i]!, seen.credit[2 * i + 1]!];
    const along = (cx * x + cy * y) / Math.max(x * x + y * y, 1e-20);
    const [ax, ay] = [cx - along * x, cy - along * y];
    const aside = length(ax, ay);
    if (!(aside > ALONG * length(cx, cy))) continue;
    keys[2 * i] = x + (settings.credit * ax) / aside;
    keys[2 * i + 1] = y + (settings.credit * ay) / aside;
  }
  return { ...state, keys };
};

/** k_i += sum_j W_ij (k_j - k_i), W_ij = beta C_ij / (1 + inertia(u_i, u_j)), each row's sum capped at 1. */
export const peerPull: Rule = (state, seen, { settings }) => {
  if (!settings.beta) return state;
  const { keys: before, usage: used } = state;
  const num = used.length;
  const keys = before.slice();
  const inertia = settings.inertia === "min" ? Math.min : Math.max;
  for (let i = 0; i < num; i++) {
    let row = 0;
    let x = 0;
    let y = 0;
    for (let j = 0; j < num; j++) {
      const together = seen.pairs[i * num + j]!;
      if (!together) continue;
      const weight = (settings.beta * together) / (1 + inertia(used[i]!, used[j]!));
      row += weight;
      x += weight * before[2 * j]!;
      y += weight * before[2 * j + 1]!;
    }
    const scale = 1 / Math.max(1, row);
    keys[2 * i] = before[2 * i]! + scale * (x - row * before[2 * i]!);
    keys[2 * i + 1] = before[2 * i + 1]! + scale * (y - row * before[2 * i + 1]!);
  }
  return { ...state, keys };
};

/** k_i += rate * sum_j max(0, 1 - d_ij / d) (k_i - k_j) / d_ij, over the keys nearer than d. */
export const repulsion: Rule = (state, _, { settings }) => {
  const { repulsion: rate, repulsion_distance: reach } = settings;
  if (!rate) return state;
  const before = state.keys;
  const keys = before.slice();
  for (let i = 0; i < state.usage.length; i++) {
    for (let j = 0; j < state.usage.length; j++) {
      const dx = before[2 * i]! - before[2 * j]!;
      const dy = before[2 * i + 1]! - before[2 * j + 1]!;
      const distance = length(dx, dy);
      if (distance === 0 || distance >= reach) continue;
      const push = (rate * (1 - distance / reach)) / Math.max(distance, 1e-12);
      keys[2 * i] = keys[2 * i]! + push * dx;
      keys[2 * i + 1] = keys[2 * i + 1]! + push * dy;
    }
  }
  return { ...state, keys };
};

/** k <- k_0 + d min(1, c / |d|), d = k - k_0, k_0 the key at the start of the step. */
export const stepCap: Rule = (state, _, { settings, keysBefore }) => {
  const cap = settings.max_step;
  if (cap === null) return state;
  const keys = state.keys.slice();
  for (let i = 0; i < state.usage.length; i++) {
    const [dx, dy] = [keys[2 * i]! - keysBefore[2 * i]!, keys[2 * i + 1]! - keysBefore[2 * i + 1]!];
    const scale = Math.min(1, cap / Math.max(length(dx, dy), 1e-12));
    keys[2 * i] = keysBefore[2 * i]! + dx * scale;
    keys[2 * i + 1] = keysBefore[2 * i + 1]! + dy * scale;
  }
  return { ...state, keys };
};

/** unit: k <- k/|k| for all; unit_used: for keys selected in this step; clamp: where |k| > 1; none: as they are. */
export const norm: Rule = (state, seen, { settings }) => {
  if (settings.norm === "none") return state;
  const keys = state.keys.slice();
  for (let i = 0; i < state.usage.length; i++) {
    const applies = settings.norm === "unit" || (settings.norm === "unit_used" ? seen.count[i]! > 0 : lengthOf(keys, i) > 1);
    if (applies) normalise(keys, i);
  }
  return { ...state, keys };
};

/** k_i <- (1 - delta) k_i where u_i < theta, after the warm-up. */
export const decay: Rule = (state, _, { settings, step }) => {
  if (!settings.delta || step < settings.warmup_steps) return state;
  const least = threshold(state.usage, settings);
  const keys = state.keys.map((value, d) => (state.usage[d >> 1]! < least ? value * (1 - settings.delta) : value));
  return { ...state, keys };
};

/** theta: the quantile of the non-zero usages, interpolated; 0 for a pool without any usage. */
export function threshold(used: Float64Array, settings: Gravity): number {
  const positive = used.filter((value) => value > 0).sort();
  if (!positive.length) return 0;
  const at = settings.theta_percentile * (positive.length - 1);
  const low = positive[Math.floor(at)]!;
  return low + (positive[Math.ceil(at)]! - low) * (at - Math.floor(at));
}

/** Where |k_i| < respawn_threshold: k_i <- normalize(q + noise), q a query of this step; u, m, bias <- 0. */
export const respawn: Rule = (state, seen, { settings, step, noise }) => {
  if (!settings.respawn || !seen.kept.length) return state;
  const dead = [...state.usage.keys()].filter((i) => lengthOf(state.keys, i) < settings.respawn_threshold);
  if (!dead.length) return state;
  const reborn: KeyState = { keys: state.keys.slice(), usage: state.usage.slice(), mass: state.mass.slice(), loadBias: state.loadBias.slice(), born: state.born.slice() };
  const drawn = noise(dead.length);
  dead.forEach((i, place) => {
    const taken = place % (seen.kept.length / 2);
    for (let d = 0; d < 2; d++) reborn.keys[2 * i + d] = seen.kept[2 * taken + d]! + settings.respawn_noise * drawn[2 * place + d]!;
    normalise(reborn.keys, i);
    for (const companion of [reborn.usage, reborn.mass, reborn.loadBias]) companion[i] = 0;
    reborn.born[i] = step;
  });
  return reborn;
};

/** The order in which the rules act, as in order.py. */
export const ORDER: readonly Rule[] = [usage, loadBias, attraction, credit, peerPull, repulsion, stepCap, norm, decay, respawn];

/** One step of Knowledge Gravity: every rule in order. */
export const applyRules = (state: KeyState, seen: Seen, now: Moment): KeyState => ORDER.reduce((moved, rule) => rule(moved, seen, now), state);
