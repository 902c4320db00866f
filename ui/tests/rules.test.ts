// The playground's rules against trajectories that the Python rules wrote (`python ui/trajectories.py`), to 1e-6.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { crowding, deadShare, entropyBits, gini } from "../src/playground/measures.ts";
import { collect, merits, route } from "../src/playground/routing.ts";
import { applyRules, ORDER } from "../src/playground/rules.ts";
import { newState, type Gravity, type KeyState } from "../src/playground/state.ts";

interface After {
  keys: number[];
  usage: number[];
  mass: number[];
  load_bias: number[];
  born: number[];
  gini: number;
  entropy: number;
  combination_entropy: number;
  crowding: number;
  dead_share: number;
}
interface Scenario {
  settings: Gravity;
  top_k: number;
  temperature: number;
  keys: number[];
  talents: number[];
  steps: { queries: number[]; kept: number[]; noise: number[]; after?: After }[];
}

const TOLERANCE = 1e-6;
const RADIANS = Math.PI / 180;
const scenarios = JSON.parse(readFileSync(process.env["TRAJECTORIES"] ?? "tests/trajectories.json", "utf-8")) as Record<string, Scenario>;

const onCircle = (degrees: readonly number[]): Float64Array =>
  Float64Array.from(degrees.flatMap((angle) => [Math.cos(angle * RADIANS), Math.sin(angle * RADIANS)]));

function near(name: string, found: ArrayLike<number>, wanted: ArrayLike<number>): void {
  assert.equal(found.length, wanted.length, name);
  for (let i = 0; i < wanted.length; i++) {
    assert.ok(Math.abs(found[i]! - wanted[i]!) <= TOLERANCE, `${name}[${i}] is ${found[i]}, Python has ${wanted[i]}`);
  }
}

function check(state: KeyState, after: After, count: Float64Array, sets: Map<string, number>, topK: number): void {
  near("keys", state.keys, after.keys);
  near("usage", state.usage, after.usage);
  near("mass", state.mass, after.mass);
  near("load bias", state.loadBias, after.load_bias);
  near("born", state.born, after.born);
  near("gini", [gini(state.usage)], [after.gini]);
  near("entropy", [entropyBits(state.usage)], [after.entropy]);
  near("combination entropy", [entropyBits(sets.values())], [after.combination_entropy]);
  near("crowding", [crowding(state.keys, topK)], [after.crowding]);
  near("dead share", [deadShare(count)], [after.dead_share]);
}

for (const [name, scenario] of Object.entries(scenarios)) {
  test(name, () => {
    const { settings, top_k: topK } = scenario;
    let state = newState(onCircle(scenario.keys));
    let checked = 0;
    scenario.steps.forEach(({ queries: angles, kept, noise, after }, step) => {
      const queries = onCircle(angles);
      const routing = route(queries, state, topK, scenario.temperature);
      const alignment = Float64Array.from(routing.indices, (expert, at) => Math.cos((angles[Math.floor(at / topK)]! - scenario.talents[expert]!) * RADIANS));
      const merit = settings.credit ? merits(alignment, routing) : null;
      const seen = collect(queries, routing, merit, onCircle(kept.map((token) => angles[token]!)), state.usage.length, settings);
      let asked = 0;
      state = applyRules(state, seen, { settings, step, keysBefore: state.keys, noise: (dead) => ((asked = dead), noise) });
      assert.equal(2 * asked, noise.length, `respawned keys in step ${step}`);
      if (!after) return;
      const sets = new Map<string, number>();
      for (let t = 0; t < angles.length; t++) {
        const code = [...routing.indices.subarray(t * topK, (t + 1) * topK)].sort((a, b) => a - b).join();
        sets.set(code, (sets.get(code) ?? 0) + 1);
      }
      check(state, after, seen.count, sets, topK);
      checked++;
    });
    assert.ok(checked > 3);
  });
}

test("the scenarios use every rule", () => {
  const all = Object.values(scenarios).map(({ settings }) => settings);
  const used = [(s: Gravity) => s.alpha, (s: Gravity) => s.beta, (s: Gravity) => s.credit, (s: Gravity) => s.repulsion, (s: Gravity) => s.delta, (s: Gravity) => s.load_bias, (s: Gravity) => s.max_step];
  for (const value of used) assert.ok(all.some((settings) => value(settings)));
  assert.ok(Object.values(scenarios).some(({ steps }) => steps.some(({ noise }) => noise.length)));
  assert.deepEqual(new Set(all.map((settings) => settings.norm)), new Set(["unit", "unit_used", "clamp", "none"]));
  assert.equal(ORDER.length, 10);
});

test("rules change nothing in place", () => {
  const state = newState(onCircle([0, 10, 200]));
  const seen = collect(onCircle([5, 190]), route(onCircle([5, 190]), state, 2, 0.2), new Float64Array([0.1, -0.1, 0.2, -0.2]), onCircle([5]), 3, scenarios["v7: decay and respawn, clamp"]!.settings);
  const copy = structuredClone({ state, seen });
  for (const { settings } of Object.values(scenarios)) applyRules(state, seen, { settings, step: 50, keysBefore: state.keys, noise: () => [0, 0, 0, 0, 0, 0] });
  assert.deepEqual({ state, seen }, copy);
});
