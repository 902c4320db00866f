// What can be set, within which bounds, the presets, and their place in the address: a link shows what its sender saw.
import type { Gravity } from "./state.ts";

export interface Settings extends Gravity {
  num_experts: number;
  top_k: number;
  temperature: number;
  clusters: number;
  /** Width of a cluster: standard deviation of its angles, in degrees. */
  spread: number;
  /** Steps per second. */
  speed: number;
  seed: number;
}

export type NumberName = { [Name in keyof Settings]: Settings[Name] extends number | null ? Name : never }[keyof Settings];

export interface Slider {
  name: NumberName;
  label: string;
  hint: string;
  least: number;
  most: number;
  /** rate: 0, then logarithmic; whole and plain: linear. */
  scale: "rate" | "whole" | "plain";
}

const rate = (name: NumberName, label: string, least: number, most: number, hint: string): Slider => ({ name, label, hint, least, most, scale: "rate" });
const whole = (name: NumberName, label: string, least: number, most: number, hint: string): Slider => ({ name, label, hint, least, most, scale: "whole" });
const plain = (name: NumberName, label: string, least: number, most: number, hint: string): Slider => ({ name, label, hint, least, most, scale: "plain" });

export const RULES: readonly Slider[] = [
  rate("alpha", "Attraction α", 0.001, 0.5, "A key moves towards the queries that selected it."),
  rate("beta", "Peer-pull β", 0.0002, 0.2, "Keys that were selected by the same token move towards each other."),
  rate("delta", "Decay δ", 0.001, 0.1, "The keys of the least used experts shrink towards the centre."),
  rate("credit", "Credit", 0.001, 0.1, "A key moves towards queries that its expert serves better than the other selected experts do."),
];
export const ROUTER: readonly Slider[] = [
  whole("num_experts", "Experts", 4, 300, "Number of keys."),
  whole("top_k", "K per token", 1, 12, "How many experts each query selects."),
  rate("temperature", "Temperature", 0.02, 2, "Divides the scores: low makes the nearest expert's gate large, high makes all K gates equal."),
];
export const MORE: readonly Slider[] = [
  rate("respawn_threshold", "Respawn below", 0.05, 0.9, "A key shorter than this is placed on a query of the step. 0: keys are not respawned."),
  plain("theta_percentile", "Decays: the least used", 0, 0.6, "Share of the used experts whose keys decay."),
  rate("load_bias", "Load bias", 0.0002, 0.02, "Added to the selection score of rarely selected experts in each step, subtracted for the others."),
  rate("repulsion", "Repulsion", 0.0005, 0.05, "Keys nearer than 0.15 push each other apart."),
  rate("max_step", "Step cap", 0.002, 0.2, "The farthest that a key may move in one step. 0: no cap."),
  plain("ema_decay", "Memory of usage r", 0.8, 0.999, "Usage is a moving average with this factor."),
];
export const WORLD: readonly Slider[] = [
  whole("clusters", "Clusters", 1, 7, "Number of clusters of queries. Drag them along the circle."),
  plain("spread", "Their width", 1, 45, "Standard deviation of a cluster's angles, in degrees."),
];
const SLIDERS = [...RULES, ...ROUTER, ...MORE, ...WORLD];
const CHOICES: { [Name in keyof Settings]?: readonly string[] } = {
  norm: ["unit", "unit_used", "clamp", "none"],
  inertia: ["min", "max"],
  attraction_by: ["all", "winner", "gate"],
};
export const SPEEDS: readonly number[] = [5, 15, 30, 60, 120, 240];

const COMMON: Settings = {
  alpha: 0.02, attraction_by: "all", credit: 0, beta: 0, inertia: "max", repulsion: 0, repulsion_distance: 0.15,
  ema_decay: 0.98, norm: "unit", delta: 0, theta_percentile: 0.05, warmup_steps: 0, respawn: false, respawn_threshold: 0,
  respawn_noise: 0.01, load_bias: 0, max_step: 0, num_experts: 64, top_k: 4, temperature: 0.1, clusters: 4, spread: 14, speed: 60, seed: 0,
}; // prettier-ignore

export interface Preset {
  id: string;
  name: string;
  /** What to watch, in two sentences. */
  watch: string;
  settings: Settings;
}

export const PRESETS: readonly Preset[] = [
  {
    id: "v4",
    name: "v4 fuses",
    watch: "Keys that are selected together pull each other until they lie on one point (×4: four keys), so that 64 experts act as 16 fixed groups: crowding rises, and combination entropy falls to its dashed line. Decay cannot remove any of them, because every key is set back to length 1 after each step.",
    settings: { ...COMMON, alpha: 0.005, beta: 0.05, inertia: "min", delta: 0.001 },
  },
  {
    id: "v7",
    name: "v7 respawns",
    watch: "The keys of the least used experts shrink towards the centre, and a key that crosses the dashed circle is placed on a query of this step, where it flashes. It starts there with a usage of 0, so that decay soon takes it again, and the keys in use fuse all the same: respawn raises coverage for a while, not the number of combinations.",
    settings: { ...COMMON, alpha: 0.015, beta: 0.02, delta: 0.02, theta_percentile: 0.25, norm: "clamp", respawn: true, respawn_threshold: 0.1 },
  },
  {
    id: "credit",
    name: "credit specialises",
    watch: "Each key carries a short line that points to the queries which its expert serves best; keys move along the circle until the lines point straight outwards. Watch “served well” rise while usage stays even: no key fuses, and none dies.",
    settings: { ...COMMON, alpha: 0, credit: 0.05, load_bias: 0.005, top_k: 6, temperature: 0.3, clusters: 6, spread: 22 },
  },
];

export const presetOf = (id: string | null): Preset => PRESETS.find((one) => one.id === id) ?? PRESETS[1]!;

/** Where a slider of 0 to 1 stands for a value, and back. */
export function positionOf({ least, most, scale }: Slider, value: number): number {
  if (scale !== "rate") return (value - least) / (most - least);
  return value <= 0 ? 0 : 0.02 + (0.98 * Math.log(value / least)) / Math.log(most / least);
}
export function valueAt({ least, most, scale }: Slider, position: number): number {
  if (scale === "whole") return Math.round(least + position * (most - least));
  if (scale === "plain") return Number((least + position * (most - least)).toFixed(3));
  return position < 0.01 ? 0 : Number((least * (most / least) ** Math.max(0, (position - 0.02) / 0.98)).toPrecision(2));
}

/** The settings that the rules read: 0 switches respawn and the cap off. */
export const gravityOf = (settings: Settings): Gravity => ({ ...settings, respawn: settings.respawn_threshold > 0, max_step: settings.max_step || null });

export interface Address {
  preset: string;
  settings: Settings;
  /** Where the clusters are, in degrees; null: evenly around the circle. */
  places: readonly number[] | null;
}

export function writeAddress({ preset, settings, places }: Address): string {
  const base = presetOf(preset).settings;
  const parts = new URLSearchParams({ preset });
  for (const name of [...SLIDERS.map((slider) => slider.name), ...Object.keys(CHOICES), "speed", "seed"] as (keyof Settings)[]) {
    if (settings[name] !== base[name]) parts.set(name, String(settings[name]));
  }
  if (places) parts.set("at", places.map((angle) => Math.round(angle)).join(","));
  return `#${parts.toString().replaceAll("%2C", ",")}`;
}

/** Only known names and values within their bounds count; the rest of an address is ignored. */
export function readAddress(hash: string): Address {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const preset = presetOf(parts.get("preset"));
  const settings: Settings = { ...preset.settings };
  const put = <Name extends keyof Settings>(name: Name, value: Settings[Name]) => void (settings[name] = value);
  for (const slider of SLIDERS) {
    const value = numberIn(parts, slider.name);
    if (value === null) continue;
    const isOff = slider.scale === "rate" && slider.name !== "temperature" && value === 0;
    const bounded = Math.min(slider.most, Math.max(slider.least, value));
    put(slider.name, isOff ? 0 : slider.scale === "whole" ? Math.round(bounded) : bounded);
  }
  for (const [name, options] of Object.entries(CHOICES)) {
    const value = parts.get(name);
    if (value !== null && options.includes(value)) put(name as "norm", value as Settings["norm"]);
  }
  const speed = numberIn(parts, "speed");
  if (speed !== null && SPEEDS.includes(speed)) settings.speed = speed;
  const seed = numberIn(parts, "seed");
  if (seed !== null) settings.seed = Math.min(9999, Math.max(0, Math.round(seed)));
  settings.top_k = Math.min(settings.top_k, settings.num_experts);
  return { preset: preset.id, settings, places: placesIn(parts, settings.clusters) };
}

function numberIn(parts: URLSearchParams, name: string): number | null {
  const text = parts.get(name);
  const value = text === null || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

function placesIn(parts: URLSearchParams, clusters: number): readonly number[] | null {
  const angles = (parts.get("at") ?? "").split(",").map(Number);
  return parts.has("at") && angles.length === clusters && angles.every(Number.isFinite) ? angles.map((angle) => ((angle % 360) + 360) % 360) : null;
}
