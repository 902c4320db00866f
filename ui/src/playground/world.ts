// The small world that the playground shows: clusters of queries on the unit circle, keys in the disc, experts that each
// serve one direction best. One step routes a batch of queries, collects, and applies the rules.
import { crowding, deadShare, entropyBits, gini } from "./measures.ts";
import { random, type Random } from "./random.ts";
import { collect, merits, route, type Routing } from "./routing.ts";
import { applyRules } from "./rules.ts";
import { gravityOf, type Settings } from "./settings.ts";
import { lengthOf, newState, type KeyState } from "./state.ts";

export const NUM_TOKENS = 128;
/** Steps over which usage and combinations are counted for the charts. */
export const WINDOW = 50;
const TRAIL = 9;
/** Steps between two points of a trail. */
export const TRAIL_EVERY = 4;
const AFFINITY_DECAY = 0.96;
const DEGREE = Math.PI / 180;

export interface Measures {
  gini: number;
  entropy: number;
  combinations: number;
  crowding: number;
  dead: number;
  served: number;
}

/** Keys at one place: their mean angle, how many, the shortest length, the first and the last angle. */
export interface Group {
  angle: number;
  number: number;
  length: number;
  from: number;
  to: number;
}

/** What one step did, while it is inside the window. */
interface Past {
  count: Float64Array;
  codes: Float64Array;
  served: number;
}

export const evenly = (clusters: number): number[] => Array.from({ length: clusters }, (_, i) => (90 + (360 * i) / clusters) % 360);

export class World {
  state: KeyState;
  step = 0;
  respawns = 0;
  queries = new Float64Array(0);
  /** The cluster of each query of the last step. */
  sources = new Int32Array(0);
  routing: Routing | null = null;
  /** The direction that each expert serves best, in radians. */
  talents: Float64Array;
  /** How much of each expert's recent work came from each cluster: E x clusters. */
  affinity: Float64Array;
  /** Earlier places of the keys, newest last. */
  trail: Float64Array[] = [];
  private past: Past[] = [];
  private windowCount: Float64Array;
  private sets = new Map<number, number>();
  private codes: Float64Array;
  private draws: Random;

  constructor(
    public settings: Settings,
    public places: readonly number[],
  ) {
    const start = random(settings.seed, 1);
    const num = settings.num_experts;
    const keys = new Float64Array(2 * num);
    for (let i = 0; i < num; i++) {
      const angle = 2 * Math.PI * start.uniform();
      keys.set([Math.cos(angle), Math.sin(angle)], 2 * i);
    }
    const gifts = random(settings.seed, 2);
    this.talents = Float64Array.from({ length: num }, () => 2 * Math.PI * gifts.uniform());
    const hashes = random(7, 3);
    // A set of experts is coded by the sum of its members' numbers, which no order changes; sums stay exact.
    this.codes = Float64Array.from({ length: num }, () => Math.floor(hashes.uniform() * 2 ** 48));
    this.state = newState(keys);
    this.windowCount = new Float64Array(num);
    this.affinity = new Float64Array(num * places.length);
    this.draws = random(settings.seed, 4);
  }

  /** Other rules or queries from now on; the keys stay. The number of experts is not changed here. */
  change(settings: Settings, places: readonly number[]): void {
    if (settings.top_k !== this.settings.top_k) this.forget();
    if (places.length !== this.places.length) this.affinity = new Float64Array(settings.num_experts * places.length);
    this.settings = settings;
    this.places = places;
  }

  /** Combinations of another K cannot be counted together. */
  private forget(): void {
    this.past = [];
    this.windowCount.fill(0);
    this.sets.clear();
  }

  advance(): void {
    const { settings, state } = this;
    const gravity = gravityOf(settings);
    const num = settings.num_experts;
    this.draw();
    const routing = route(this.queries, state, settings.top_k, settings.temperature);
    const alignment = this.alignment(routing);
    const merit = settings.credit > 0 ? merits(alignment, routing) : null;
    // Queries are drawn independently, so that taking the first ones is a random sample.
    const kept = this.queries.subarray(0, 2 * Math.min(num, NUM_TOKENS));
    const seen = collect(this.queries, routing, merit, kept, num, gravity);
    const noise = (dead: number) => Float64Array.from({ length: 2 * dead }, this.draws.normal);
    this.state = applyRules(state, seen, { settings: gravity, step: this.step, keysBefore: state.keys, noise });
    this.routing = routing;
    this.note(seen.count, routing, alignment);
    for (let i = 0; i < num; i++) if (this.state.born[i] === this.step) this.respawns++;
    if (this.step % TRAIL_EVERY === 0) this.trail = [...this.trail.slice(1 - TRAIL), state.keys];
    this.step++;
  }

  private draw(): void {
    this.queries = new Float64Array(2 * NUM_TOKENS);
    this.sources = new Int32Array(NUM_TOKENS);
    for (let t = 0; t < NUM_TOKENS; t++) {
      const source = Math.floor(this.draws.uniform() * this.places.length);
      const angle = ((this.places[source]! + this.settings.spread * this.draws.normal()) * Math.PI) / 180;
      this.sources[t] = source;
      this.queries.set([Math.cos(angle), Math.sin(angle)], 2 * t);
    }
  }

  /** How well each selected expert serves its token: the cosine of the query and the expert's best direction. */
  private alignment({ indices, topK }: Routing): Float64Array {
    return Float64Array.from(indices, (expert, at) => {
      const t = Math.floor(at / topK);
      return this.queries[2 * t]! * Math.cos(this.talents[expert]!) + this.queries[2 * t + 1]! * Math.sin(this.talents[expert]!);
    });
  }

  private note(count: Float64Array, { indices, gates, topK }: Routing, alignment: Float64Array): void {
    const codes = new Float64Array(NUM_TOKENS);
    const clusters = this.places.length;
    let served = 0;
    for (let d = 0; d < this.affinity.length; d++) this.affinity[d] = this.affinity[d]! * AFFINITY_DECAY;
    for (let at = 0; at < indices.length; at++) {
      const [t, expert] = [Math.floor(at / topK), indices[at]!];
      codes[t] = codes[t]! + this.codes[expert]!;
      served += (gates[at]! * alignment[at]!) / NUM_TOKENS;
      const place = expert * clusters + this.sources[t]!;
      this.affinity[place] = this.affinity[place]! + 1;
    }
    this.past.push({ count, codes, served });
    this.add(count, codes, 1);
    if (this.past.length > WINDOW) {
      const old = this.past.shift()!;
      this.add(old.count, old.codes, -1);
    }
  }

  private add(count: Float64Array, codes: Float64Array, sign: number): void {
    for (let i = 0; i < count.length; i++) this.windowCount[i] = this.windowCount[i]! + sign * count[i]!;
    for (const code of codes) {
      const number = (this.sets.get(code) ?? 0) + sign;
      if (number) this.sets.set(code, number);
      else this.sets.delete(code);
    }
  }

  /** Usage, combinations and service over the last WINDOW steps; crowding of the keys as they are. */
  measures(): Measures {
    return {
      gini: gini(this.windowCount),
      entropy: entropyBits(this.windowCount),
      combinations: entropyBits(this.sets.values()),
      crowding: crowding(this.state.keys, this.settings.top_k),
      dead: deadShare(this.windowCount),
      served: this.past.reduce((sum, one) => sum + one.served, 0) / Math.max(1, this.past.length),
    };
  }

  /** Keys that lie within a degree of the next: what the pool acts as when keys have fused. */
  groups(): Group[] {
    const { keys } = this.state;
    const found = Array.from({ length: this.settings.num_experts }, (_, i) => ({ angle: Math.atan2(keys[2 * i + 1]!, keys[2 * i]!), number: 1, length: lengthOf(keys, i) }));
    const groups: Group[] = [];
    for (const key of found.filter(({ length }) => length > 0.02).sort((a, b) => a.angle - b.angle)) {
      const last = groups[groups.length - 1];
      if (last && key.angle - last.to < DEGREE) {
        last.angle += (key.angle - last.angle) / (last.number + 1);
        last.length = Math.min(last.length, key.length);
        last.number++;
        last.to = key.angle;
      } else groups.push({ ...key, from: key.angle, to: key.angle });
    }
    const [first, last] = [groups[0], groups[groups.length - 1]];
    // The circle closes: the last group may go on in the first.
    if (first && last && first !== last && first.angle + 2 * Math.PI - last.to < DEGREE) {
      first.number += last.number;
      groups.pop();
    }
    return groups;
  }

  used(expert: number): number {
    return this.windowCount[expert]! / Math.max(1, this.past.length);
  }
}
