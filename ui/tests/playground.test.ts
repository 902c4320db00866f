// The playground beyond its rules: what the presets claim, links that show everybody the same, addresses that say nonsense.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MORE, positionOf, PRESETS, presetOf, readAddress, ROUTER, RULES, valueAt, WORLD, writeAddress } from "../src/playground/settings.ts";
import { evenly, World } from "../src/playground/world.ts";

function after(id: string, steps: number): World {
  const { settings } = presetOf(id);
  const world = new World(settings, evenly(settings.clusters));
  for (let step = 0; step < steps; step++) world.advance();
  return world;
}

test("v4 fuses: as many places and combinations as groups of K would have", () => {
  const [start, world] = [after("v4", 1), after("v4", 700)];
  assert.ok(start.groups().length > 50);
  assert.ok(world.groups().length <= 24, `${world.groups().length} places`);
  assert.ok(Math.abs(world.measures().combinations - Math.log2(64 / 4)) < 0.7);
  assert.ok(1 - world.measures().crowding < (1 - start.measures().crowding) / 20);
  for (let i = 0; i < 64; i++) assert.ok(Math.abs(Math.hypot(world.state.keys[2 * i]!, world.state.keys[2 * i + 1]!) - 1) < 0.0011, "decay removes no key");
});

test("v7 respawns: keys die, are reborn with a usage of 0, and the keys in use fuse all the same", () => {
  const world = after("v7", 700);
  assert.ok(world.respawns > 30, `${world.respawns} respawns`);
  assert.ok(world.measures().combinations < 5);
  const lengths = Array.from({ length: 64 }, (_, i) => Math.hypot(world.state.keys[2 * i]!, world.state.keys[2 * i + 1]!));
  assert.ok(Math.min(...lengths) >= presetOf("v7").settings.respawn_threshold * 0.97 && Math.max(...lengths) <= 1 + 1e-9);
});

test("credit specialises: queries are served better, no key fuses or dies", () => {
  const [start, world] = [after("credit", 10), after("credit", 700)];
  assert.ok(world.measures().served > start.measures().served + 0.4);
  assert.ok(world.measures().gini < 0.4);
  assert.equal(world.measures().dead, 0);
  assert.ok(world.measures().combinations > Math.log2(64 / 6) + 3);
});

test("one seed, one film", () => {
  const [a, b] = [after("v7", 60), after("v7", 60)];
  assert.deepEqual(a.state, b.state);
  const { settings } = presetOf("v7");
  const other = new World({ ...settings, seed: 1 }, evenly(settings.clusters));
  assert.notDeepEqual(other.state.keys, after("v7", 0).state.keys);
});

test("an address brings back what was set", () => {
  for (const { id, settings } of PRESETS) {
    assert.equal(writeAddress({ preset: id, settings, places: null }), `#preset=${id}`);
    const changed = { ...settings, alpha: 0.05, num_experts: 200, top_k: 3, norm: "none" as const, seed: 12, speed: 30, spread: 20.5, max_step: 0.01 };
    const places = [10, 20, 30, 40, 50, 60].slice(0, settings.clusters);
    assert.deepEqual(readAddress(writeAddress({ preset: id, settings: changed, places })), { preset: id, settings: changed, places });
  }
});

test("an address that says nonsense gives sound settings", () => {
  const { settings, preset, places } = readAddress("#preset=x&alpha=NaN&beta=1e99&num_experts=0&top_k=50&norm=__proto__&seed=-4&speed=7&at=a,b&clusters=2.6&temperature=0");
  assert.equal(preset, "v7");
  assert.equal(settings.alpha, presetOf("v7").settings.alpha);
  assert.equal(settings.beta, 0.2);
  assert.deepEqual([settings.num_experts, settings.top_k, settings.clusters], [4, 4, 3]);
  assert.deepEqual([settings.norm, settings.seed, settings.speed, places], ["clamp", 0, 60, null]);
  assert.ok(settings.temperature > 0);
});

test("sliders reach their ends and come back to the value they show", () => {
  for (const slider of [...RULES, ...ROUTER, ...MORE, ...WORLD]) {
    assert.equal(valueAt(slider, 1), slider.most);
    assert.equal(valueAt(slider, 0), slider.scale === "rate" ? 0 : slider.least);
    for (const position of [0.1, 0.5, 0.83]) {
      const value = valueAt(slider, position);
      assert.ok(Math.abs(valueAt(slider, positionOf(slider, value)) - value) <= 0.06 * Math.abs(value) + 1e-9, slider.name);
    }
  }
});
