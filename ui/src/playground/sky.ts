// Draws the world: queries outside the unit circle by cluster, keys inside it, the way they have come, births, and what a
// key's expert is good at.
import { css, KINDS_ON_NIGHT, parse, type Rgb } from "../design/colours.ts";
import { TRAIL_EVERY, type World } from "./world.ts";

const IDLE: Rgb = [112, 128, 164];
const WHITE: Rgb = [236, 241, 250];
const FLASH_STEPS = 30;
const BANDS = 3;
export const RIM = 1.2;

export interface View {
  context: CanvasRenderingContext2D;
  size: number;
  hovered: number | null;
  /** The cluster that is dragged or pointed at. */
  held: number | null;
  /** Show which keys some of the queries select: where steps are slow enough to be seen. */
  selections: boolean;
}

/** Radius of the unit circle in pixels, for a square of this size. */
export const radiusOf = (size: number): number => size * 0.385;
export const clusterColour = (cluster: number): Rgb => parse(KINDS_ON_NIGHT[cluster % KINDS_ON_NIGHT.length]!);
export const letter = (cluster: number): string => String.fromCharCode(65 + cluster);

export function drawWorld(world: World, view: View): void {
  const { context, size } = view;
  context.clearRect(0, 0, size, size);
  context.save();
  context.translate(size / 2, size / 2);
  const radius = radiusOf(size);
  drawFrame(world, view, radius);
  drawQueries(world, view, radius);
  const colours = keyColours(world);
  drawTrails(world, context, radius, colours);
  if (view.selections) drawSelections(world, context, radius);
  drawKeys(world, view, radius, colours);
  drawGroups(world, context, radius);
  context.restore();
}

function drawFrame(world: World, { context, size }: View, radius: number): void {
  context.lineWidth = 1;
  context.strokeStyle = "rgb(147 162 194 / 0.45)";
  circle(context, 0, 0, radius);
  context.stroke();
  context.fillStyle = "rgb(147 162 194 / 0.5)";
  circle(context, 0, 0, 1.5);
  context.fill();
  const threshold = world.settings.respawn_threshold;
  if (!threshold) return;
  context.strokeStyle = "rgb(240 228 66 / 0.55)";
  context.setLineDash([3, 4]);
  circle(context, 0, 0, radius * threshold);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = "rgb(240 228 66 / 0.75)";
  context.font = `${size > 480 ? 11 : 10}px ui-sans-serif, system-ui, sans-serif`;
  context.textAlign = "center";
  context.fillText("respawn", 0, radius * threshold + 13);
}

function drawQueries(world: World, { context, held }: View, radius: number): void {
  world.places.forEach((place, cluster) => {
    const colour = clusterColour(cluster);
    const angle = (place * Math.PI) / 180;
    const width = (Math.min(90, 2 * world.settings.spread) * Math.PI) / 180;
    context.strokeStyle = css(colour, held === cluster ? 0.7 : 0.35);
    context.lineWidth = 3;
    context.lineCap = "round";
    context.beginPath();
    context.arc(0, 0, radius * RIM, -angle - width, -angle + width);
    context.stroke();
    const [x, y] = [Math.cos(angle) * radius * RIM, -Math.sin(angle) * radius * RIM];
    context.fillStyle = css(colour);
    circle(context, x, y, held === cluster ? 13 : 11);
    context.fill();
    context.fillStyle = "#0b111e";
    context.font = "600 12px ui-sans-serif, system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(letter(cluster), x, y + 0.5);
    context.textBaseline = "alphabetic";
  });
  const fills = world.places.map((_, cluster) => css(clusterColour(cluster), 0.6));
  for (let t = 0; t < world.sources.length; t++) {
    context.fillStyle = fills[world.sources[t]!] ?? fills[0]!;
    // Spread outwards by a fixed pattern, so that queries at the same angle do not hide each other.
    const at = radius * (1.05 + 0.07 * ((t * 0.618) % 1));
    context.fillRect(world.queries[2 * t]! * at - 1, -world.queries[2 * t + 1]! * at - 1, 2, 2);
  }
}

const SHADES = 4;
/** Colours of keys, by cluster and purity: few, so that what has one colour is drawn in one go. */
const PALETTE: readonly Rgb[] = [
  IDLE,
  ...KINDS_ON_NIGHT.flatMap((_, cluster) =>
    Array.from({ length: SHADES }, (_, shade) => {
      const [colour, share] = [clusterColour(cluster), 0.25 + (0.75 * (shade + 1)) / SHADES];
      return [0, 1, 2].map((d) => Math.round(WHITE[d]! + share * (colour[d]! - WHITE[d]!))) as unknown as Rgb;
    }),
  ),
];

const FILLS: readonly string[] = PALETTE.map((colour) => css(colour, 0.85));

/** Place in the palette of each key: the cluster that it serves, paler the more it serves several, grey if it serves none. */
function keyColours(world: World): Uint8Array {
  const clusters = world.places.length;
  return Uint8Array.from({ length: world.settings.num_experts }, (_, i) => {
    let [total, most, best] = [0, 0, 0];
    for (let c = 0; c < clusters; c++) {
      const value = world.affinity[i * clusters + c]!;
      total += value;
      if (value > most) [most, best] = [value, c];
    }
    if (total < 0.5) return 0;
    const purity = clusters > 1 ? Math.max(0, (most / total - 1 / clusters) / (1 - 1 / clusters)) : 1;
    return 1 + best * SHADES + Math.min(SHADES - 1, Math.floor(purity * SHADES));
  });
}

/** Keys by their colour. */
function byColour(colours: Uint8Array): Map<number, number[]> {
  const found = new Map<number, number[]>();
  colours.forEach((colour, i) => found.set(colour, [...(found.get(colour) ?? []), i]));
  return found;
}

function drawTrails(world: World, context: CanvasRenderingContext2D, radius: number, colours: Uint8Array): void {
  const { trail, state } = world;
  const frames = [...trail, state.keys];
  context.lineWidth = 1.2;
  context.lineCap = "butt";
  const each = Math.max(1, Math.ceil((frames.length - 1) / BANDS));
  const groups = byColour(colours);
  for (let band = 0; band * each < frames.length - 1; band++) {
    const from = band * each;
    const to = Math.min(frames.length - 1, from + each);
    const [first, last] = [frames[from]!, frames[to]!];
    for (const [colour, keys] of groups) {
      context.strokeStyle = css(PALETTE[colour]!, 0.18 + 0.18 * band);
      context.beginPath();
      for (const i of keys) {
        // A key that was reborn has not travelled.
        if (state.born[i]! >= 0 && world.step - state.born[i]! < TRAIL_EVERY * (frames.length - from)) continue;
        if (Math.abs(last[2 * i]! - first[2 * i]!) + Math.abs(last[2 * i + 1]! - first[2 * i + 1]!) < 0.006) continue;
        context.moveTo(first[2 * i]! * radius, -first[2 * i + 1]! * radius);
        for (let frame = from + 1; frame <= to; frame++) context.lineTo(frames[frame]![2 * i]! * radius, -frames[frame]![2 * i + 1]! * radius);
      }
      context.stroke();
    }
  }
}

function drawSelections(world: World, context: CanvasRenderingContext2D, radius: number): void {
  const routing = world.routing;
  if (!routing) return;
  context.lineWidth = 1;
  for (let t = 0; t < world.sources.length; t += 9) {
    const [x, y] = [world.queries[2 * t]! * radius * 1.05, -world.queries[2 * t + 1]! * radius * 1.05];
    for (let at = t * routing.topK; at < (t + 1) * routing.topK; at++) {
      const expert = routing.indices[at]!;
      context.strokeStyle = css(clusterColour(world.sources[t]!), 0.15 + 0.6 * routing.gates[at]!);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(world.state.keys[2 * expert]! * radius, -world.state.keys[2 * expert + 1]! * radius);
      context.stroke();
    }
  }
}

function drawKeys(world: World, { context, hovered }: View, radius: number, colours: Uint8Array): void {
  const { state, settings } = world;
  const num = settings.num_experts;
  const small = Math.min(1.3, Math.sqrt(64 / num)) * Math.min(1, radius / 200);
  const mean = world.queries.length / 2 * settings.top_k / num || 1; // prettier-ignore
  for (let i = 0; i < num; i++) {
    const [x, y] = [state.keys[2 * i]! * radius, -state.keys[2 * i + 1]! * radius];
    const size = Math.max(1.8, small * (2.4 + 3.2 * Math.min(1.6, Math.sqrt(world.used(i) / mean))));
    if (settings.credit > 0) {
      context.strokeStyle = css(PALETTE[colours[i]!]!, 0.75);
      context.lineWidth = 1.3;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + Math.cos(world.talents[i]!) * 15, y - Math.sin(world.talents[i]!) * 15);
      context.stroke();
    }
    context.fillStyle = FILLS[colours[i]!]!;
    circle(context, x, y, size);
    context.fill();
    const age = world.step - state.born[i]!;
    if (state.born[i]! >= 0 && age < FLASH_STEPS) {
      context.strokeStyle = `rgb(240 228 66 / ${0.9 * (1 - age / FLASH_STEPS)})`;
      context.lineWidth = 2;
      circle(context, x, y, size + 2 + age * 0.6);
      context.stroke();
    }
    if (i === hovered) {
      context.strokeStyle = "#ffffff";
      context.lineWidth = 2;
      circle(context, x, y, size + 4);
      context.stroke();
    }
  }
}

/** Where keys lie on one point, how many: a single dot would hide them. */
function drawGroups(world: World, context: CanvasRenderingContext2D, radius: number): void {
  context.font = "600 11px ui-sans-serif, system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = "#dce4f2";
  for (const { angle, number, length, from, to } of world.groups()) {
    if (number < 3 || length < 0.3 || to - from > 0.03) continue;
    const at = radius * length - 18;
    context.fillText(`×${number}`, Math.cos(angle) * at, -Math.sin(angle) * at);
  }
  context.textBaseline = "alphabetic";
}

function circle(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}
