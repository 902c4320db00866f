// How a token selects its experts, and what a step collects for the rules. Mirrors core/router.py and core/statistics.py
// for cosine scores: queries have unit length, keys need not, so that a short key scores low.
import type { Gravity, KeyState, Seen } from "./state.ts";

export interface Routing {
  readonly topK: number;
  /** The selected experts of each token, best first: T x K. */
  readonly indices: Int32Array;
  readonly gates: Float64Array;
}

/** The K experts with the highest score plus load bias, and the softmax of their scores over the temperature. */
export function route(queries: Float64Array, state: KeyState, topK: number, temperature: number): Routing {
  const [numTokens, num] = [queries.length / 2, state.usage.length];
  const indices = new Int32Array(numTokens * topK);
  const gates = new Float64Array(numTokens * topK);
  const best = new Float64Array(topK);
  for (let t = 0; t < numTokens; t++) {
    const x = queries[2 * t]!;
    const y = queries[2 * t + 1]!;
    const first = t * topK;
    best.fill(Number.NEGATIVE_INFINITY);
    for (let i = 0; i < num; i++) {
      const score = x * state.keys[2 * i]! + y * state.keys[2 * i + 1]! + state.loadBias[i]!;
      if (!(score > best[topK - 1]!)) continue;
      let place = topK - 1;
      for (; place > 0 && score > best[place - 1]!; place--) {
        best[place] = best[place - 1]!;
        indices[first + place] = indices[first + place - 1]!;
      }
      best[place] = score;
      indices[first + place] = i;
    }
    fillGates(gates, first, topK, (k) => {
      const i = indices[first + k]!;
      return (x * state.keys[2 * i]! + y * state.keys[2 * i + 1]!) / temperature;
    });
  }
  return { topK, indices, gates };
}

function fillGates(gates: Float64Array, first: number, topK: number, logit: (k: number) => number): void {
  let most = Number.NEGATIVE_INFINITY;
  for (let k = 0; k < topK; k++) {
    gates[first + k] = logit(k);
    most = Math.max(most, gates[first + k]!);
  }
  let sum = 0;
  for (let k = 0; k < topK; k++) sum += gates[first + k] = Math.exp(gates[first + k]! - most);
  for (let k = 0; k < topK; k++) gates[first + k] = gates[first + k]! / sum;
}

/** m_tk = g_tk (a_tk - sum_j g_tj a_tj / sum_j g_tj): what an expert did beyond the gated mean of the token's experts. */
export function merits(alignment: Float64Array, { gates, topK }: Routing): Float64Array {
  const found = new Float64Array(gates.length);
  for (let first = 0; first < gates.length; first += topK) {
    let [sum, total] = [0, 0];
    for (let k = first; k < first + topK; k++) {
      sum += gates[k]! * alignment[k]!;
      total += gates[k]!;
    }
    const mean = sum / Math.max(total, 1e-20);
    for (let k = first; k < first + topK; k++) found[k] = gates[k]! * (alignment[k]! - mean);
  }
  return found;
}

/** What the step has seen. `merit` per token and slot, or null without credit; `kept`: the queries for dead keys. */
export function collect(queries: Float64Array, routing: Routing, merit: Float64Array | null, kept: Float64Array, num: number, settings: Gravity): Seen {
  const { indices, gates, topK } = routing;
  const seen = {
    count: new Float64Array(num),
    mass: new Float64Array(num),
    pullWeight: new Float64Array(num),
    pullSum: new Float64Array(2 * num),
    pairs: new Float64Array(settings.beta ? num * num : 0),
    credit: merit && new Float64Array(2 * num),
    kept,
  };
  for (let at = 0; at < indices.length; at++) {
    const i = indices[at]!;
    const t = Math.floor(at / topK);
    const slot = at % topK;
    seen.count[i] = seen.count[i]! + 1;
    seen.mass[i] = seen.mass[i]! + gates[at]!;
    const share = settings.attraction_by === "gate" ? gates[at]! : settings.attraction_by === "all" || slot === 0 ? 1 : 0;
    seen.pullWeight[i] = seen.pullWeight[i]! + share;
    for (let d = 0; d < 2; d++) {
      const query = queries[2 * t + d]!;
      seen.pullSum[2 * i + d] = seen.pullSum[2 * i + d]! + share * query;
      if (seen.credit) seen.credit[2 * i + d] = seen.credit[2 * i + d]! + merit![at]! * query;
    }
    if (!settings.beta) continue;
    for (let other = at - slot; other < at - slot + topK; other++) {
      if (other !== at) seen.pairs[i * num + indices[other]!] = seen.pairs[i * num + indices[other]!]! + 1;
    }
  }
  return seen;
}
