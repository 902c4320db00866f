// A galaxy of the data as the renderer wants it, and questions about it: where is a key, which one is under the pointer?
import { kind, sky, type Rgb } from "../design/colours";
import { unpack } from "../data/packed";
import type { Galaxy, KeyMap } from "../schema";
import { clipScales, type Cloud, type Colouring, type Window } from "./renderer";

export type ColourBy = "usage" | "age" | "guild" | "word_class";

/** Where keys were reborn: in frames where they are younger than in the frame before. */
function rebornFrames(galaxy: Galaxy): Uint8Array {
  const born = unpack(galaxy.born);
  const reborn = new Uint8Array(born.length);
  for (let i = galaxy.num_experts; i < born.length; i++) reborn[i] = born[i]! > born[i - galaxy.num_experts]! ? 1 : 0;
  return reborn;
}

/** Places spread so that the largest coordinate is 1, the middle of the cloud at 0. */
function centred(map: KeyMap): Int16Array {
  const xy = unpack(map.xy) as Int16Array;
  const low = [Infinity, Infinity];
  const high = [-Infinity, -Infinity];
  for (let i = 0; i < xy.length; i++) {
    const axis = i & 1;
    low[axis] = Math.min(low[axis]!, xy[i]!);
    high[axis] = Math.max(high[axis]!, xy[i]!);
  }
  const middle = [0, 1].map((axis) => (low[axis]! + high[axis]!) / 2);
  const half = Math.max(1, ...[0, 1].map((axis) => (high[axis]! - low[axis]!) / 2));
  const spread = new Int16Array(xy.length);
  for (let i = 0; i < xy.length; i++) spread[i] = Math.round(((xy[i]! - middle[i & 1]!) / half) * 32767);
  return spread;
}

export function cloudOf(galaxy: Galaxy, map: KeyMap): Cloud {
  return {
    numPoints: galaxy.num_experts,
    numFrames: galaxy.steps.length,
    xy: centred(map),
    usage: unpack(galaxy.usage) as Uint8Array,
    reborn: rebornFrames(galaxy),
  };
}

function palette(colour: (index: number) => Rgb): Uint8Array {
  const colours = new Uint8Array(1024);
  for (let i = 0; i < 256; i++) colours.set([...colour(i), 255], i * 4);
  return colours;
}

/** The smallest use at the end that is not none, as stored: colours begin there, so that they tell experts of like use apart. */
export function leastUse(galaxy: Galaxy): number {
  const last = unpack(galaxy.usage).subarray(-galaxy.num_experts);
  let least = 255;
  for (const value of last) if (value > 0 && value < least) least = value;
  return Math.min(least, 240);
}

/** The word classes of a layer, the commonest first. */
export function classesOf(galaxy: Galaxy): string[] {
  const counts = new Map<string, number>();
  for (const name of galaxy.word_class) if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

const NO_KIND = 255;
const kindPalette = (): Uint8Array => palette((index) => kind(index === NO_KIND ? -1 : index));

export function colouringOf(galaxy: Galaxy, by: ColourBy): Colouring {
  if (by === "usage") {
    const least = leastUse(galaxy);
    return { index: unpack(galaxy.usage) as Uint8Array, palette: palette((i) => sky((i - least) / Math.max(1, 255 - least))), blends: true };
  }
  if (by === "age") {
    const born = unpack(galaxy.born);
    const last = Math.max(1, galaxy.steps[galaxy.steps.length - 1] ?? 1);
    const index = new Uint8Array(born.length);
    for (let i = 0; i < born.length; i++) index[i] = Math.round((255 * (galaxy.steps[Math.floor(i / galaxy.num_experts)]! - born[i]!)) / last);
    return { index, palette: palette((i) => sky(i / 255)), blends: true };
  }
  const classes = classesOf(galaxy);
  const kinds = by === "guild" ? galaxy.guild : galaxy.word_class.map((name) => (name === null ? -1 : classes.indexOf(name)));
  const index = Uint8Array.from({ length: galaxy.num_experts }, (_, i) => {
    const value = kinds[i] ?? -1;
    return value < 0 ? NO_KIND : Math.min(value, NO_KIND - 1);
  });
  return { index, palette: kindPalette(), blends: false };
}

/** Place of a key at a time, from -1 to 1. */
export function placeAt(cloud: Cloud, expert: number, time: number): [number, number] {
  const from = Math.min(cloud.numFrames - 1, Math.floor(time));
  const to = Math.min(cloud.numFrames - 1, from + 1);
  let part = time - from;
  if (cloud.reborn[to * cloud.numPoints + expert]) part = part < 0.5 ? 0 : 1;
  const a = (from * cloud.numPoints + expert) * 2;
  const b = (to * cloud.numPoints + expert) * 2;
  return [0, 1].map((axis) => (cloud.xy[a + axis]! * (1 - part) + cloud.xy[b + axis]! * part) / 32767) as [number, number];
}

export function toScreen(place: readonly [number, number], width: number, height: number, window: Window): [number, number] {
  const { scaleX, scaleY } = clipScales(width, height, window);
  return [((place[0] * scaleX + window.x + 1) / 2) * width, ((1 - (place[1] * scaleY + window.y)) / 2) * height];
}

/** The key nearest to a point of the screen, within reach. All keys are looked at: even for 100,000 that is a millisecond. */
export function pick(cloud: Cloud, time: number, x: number, y: number, width: number, height: number, window: Window, reach = 18): number | null {
  const { scaleX, scaleY } = clipScales(width, height, window);
  const from = Math.min(cloud.numFrames - 1, Math.floor(time));
  const to = Math.min(cloud.numFrames - 1, from + 1);
  const part = time - from;
  const kx = (scaleX * width) / 2 / 32767;
  const ky = (-scaleY * height) / 2 / 32767;
  const x0 = ((window.x + 1) / 2) * width - x;
  const y0 = ((1 - window.y) / 2) * height - y;
  const n = cloud.numPoints;
  let best: number | null = null;
  let bestDistance = reach * reach;
  for (let i = 0; i < n; i++) {
    const a = (from * n + i) * 2;
    const b = (to * n + i) * 2;
    const along = cloud.reborn[to * n + i] ? (part < 0.5 ? 0 : 1) : part;
    const dx = (cloud.xy[a]! * (1 - along) + cloud.xy[b]! * along) * kx + x0;
    const dy = (cloud.xy[a + 1]! * (1 - along) + cloud.xy[b + 1]! * along) * ky + y0;
    const distance = dx * dx + dy * dy;
    if (distance < bestDistance) {
      bestDistance = distance;
      best = i;
    }
  }
  return best;
}
