// The clock: advances the world, remembers its measures, and calls those who draw. Settings are signals that controls change
// and the address mirrors.
import { effect, signal } from "@preact/signals";
import { presetOf, readAddress, writeAddress, type Settings } from "./settings.ts";
import { evenly, World, type Measures } from "./world.ts";

/** Steps between two points of a chart, and the most points that it keeps. */
export const EVERY = 4;
export const MOST_POINTS = 360;

const start = readAddress(location.hash);
export const preset = signal(start.preset);
export const settings = signal<Settings>(start.settings);
/** Where clusters were dragged to, in degrees; null: evenly. */
export const dragged = signal<readonly number[] | null>(start.places);
export const isPlaying = signal(!matchMedia("(prefers-reduced-motion: reduce)").matches);
/** Counted up when a new world begins. */
export const beginnings = signal(0);

const placesNow = (): readonly number[] => dragged.peek() ?? evenly(settings.peek().clusters);
const fresh = (): World => new World(settings.peek(), placesNow());

export let world = fresh();
export let history: { step: number; measures: Measures }[] = [];

export function reset(): void {
  world = fresh();
  history = [];
  beginnings.value++;
}

export function choose(id: string): void {
  const { speed, seed } = settings.peek();
  preset.value = presetOf(id).id;
  settings.value = { ...presetOf(id).settings, speed, seed };
  dragged.value = null;
  reset();
}

export function change(changes: Partial<Settings>): void {
  const next = { ...settings.peek(), ...changes };
  next.top_k = Math.min(next.top_k, next.num_experts);
  if (next.clusters !== settings.peek().clusters) dragged.value = null;
  const begins = next.num_experts !== settings.peek().num_experts || next.seed !== settings.peek().seed;
  settings.value = next;
  if (begins) reset();
  else world.change(next, placesNow());
}

export function drag(cluster: number, degrees: number): void {
  dragged.value = placesNow().map((angle, i) => (i === cluster ? ((degrees % 360) + 360) % 360 : angle));
  world.change(settings.peek(), placesNow());
}

export function advance(): void {
  world.advance();
  if (world.step % EVERY !== 1) return;
  history.push({ step: world.step, measures: world.measures() });
  if (history.length > MOST_POINTS) history.shift();
}

/** One step, and stop. */
export function stepOnce(): void {
  isPlaying.value = false;
  advance();
}

type Draw = () => void;
const drawers = new Set<Draw>();
/** Call `draw` in every frame until the returned function is called. */
export function onFrame(draw: Draw): () => void {
  drawers.add(draw);
  return () => void drawers.delete(draw);
}

export function startClock(): void {
  let before = performance.now();
  let due = 0;
  const tick = (at: number) => {
    const elapsed = Math.min(100, at - before);
    before = at;
    if (isPlaying.peek()) {
      // A slow machine shows fewer steps, not fewer frames.
      const { speed } = settings.peek();
      due = Math.min(Math.max(1, speed / 30), due + (elapsed / 1000) * speed);
      for (; due >= 1; due--) advance();
    }
    for (const draw of drawers) draw();
    requestAnimationFrame(tick);
  };
  advance();
  requestAnimationFrame(tick);
}

/** The address says what is shown; a changed address is followed. */
export function startAddress(): void {
  let timer = 0;
  effect(() => {
    const wanted = writeAddress({ preset: preset.value, settings: settings.value, places: dragged.value });
    clearTimeout(timer);
    // Browsers limit how often the address may change, and a slider moves often.
    timer = window.setTimeout(() => location.hash !== wanted && window.history.replaceState(null, "", wanted), 250);
  });
  addEventListener("hashchange", () => {
    const found = readAddress(location.hash);
    preset.value = found.preset;
    settings.value = found.settings;
    dragged.value = found.places;
    reset();
  });
}
