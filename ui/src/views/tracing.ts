// What traces ask: the guild of an expert, whether a token was read by what is picked, the colours of a token.
import { css, kind, parse, sky, type Rgb } from "../design/colours";
import type { LayerGuilds, Run, Trace } from "../schema";

export type ColourTokensBy = "experts" | "guild" | "certainty" | "word_class";

/** An expert or a guild of one layer. */
export interface Picked {
  kind: "expert" | "guild";
  layer: number;
  id: number;
}

export const samePick = (a: Picked | null, b: Picked): boolean => a !== null && a.kind === b.kind && a.layer === b.layer && a.id === b.id;

export function guildsOf(run: Run, layer: number): LayerGuilds | null {
  return run.guilds?.find((one) => one.layer === layer) ?? null;
}

/** The guild of each expert, -1 for none: from the galaxy, which knows all experts, or else from the guilds' own lists. */
export function guildTable(run: Run, layer: number): readonly number[] {
  const galaxy = run.galaxies?.find((one) => one.layer === layer);
  if (galaxy?.guild.length) return galaxy.guild;
  const table = new Array<number>(run.num_experts).fill(-1);
  for (const guild of guildsOf(run, layer)?.guilds ?? []) for (const expert of guild.experts) table[expert] = guild.id;
  return table;
}

export function experts(trace: Trace, layer: number, token: number): readonly number[] {
  return trace.experts[trace.layers.indexOf(layer)]?.[token] ?? [];
}

export function gates(trace: Trace, layer: number, token: number): readonly number[] {
  return trace.gates[trace.layers.indexOf(layer)]?.[token] ?? [];
}

export function isRead(trace: Trace, token: number, picked: Picked, table: readonly number[]): boolean {
  const read = experts(trace, picked.layer, token);
  return picked.kind === "expert" ? read.includes(picked.id) : read.some((expert) => table[expert] === picked.id);
}

/** Colours that an eye can hold apart; all others are grey. */
export const MOST_COLOURS = 7;
const OTHERS = css(parse("#8A93A6"));

/** The colour of an expert in a text: that of its guild, or, where guilds are not known, its own if it is among the most asked. */
export type Palette = (expert: number) => string;

export function paletteOf(trace: Trace, layer: number, table: readonly number[]): Palette {
  const hasGuilds = table.some((guild) => guild >= 0);
  const asked = hasGuilds ? [] : mostAsked(trace, layer).slice(0, MOST_COLOURS).map(([expert]) => expert);
  return (expert) => {
    const place = hasGuilds ? (table[expert] ?? -1) : asked.indexOf(expert);
    return place >= 0 && place < MOST_COLOURS ? css(kind(place)) : OTHERS;
  };
}

/** Experts of a text with the number of tokens that selected each, the most asked first. */
export function mostAsked(trace: Trace, layer: number): [number, number][] {
  const counts = new Map<number, number>();
  for (let i = 0; i < trace.tokens.length; i++) for (const expert of experts(trace, layer, i)) counts.set(expert, (counts.get(expert) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

/** The strip under a token: its experts side by side, as wide as their gates. */
export function strip(trace: Trace, layer: number, token: number, palette: Palette): string {
  const read = experts(trace, layer, token);
  const weights = gates(trace, layer, token);
  const total = weights.reduce((a, b) => a + b, 0) || 1;
  let at = 0;
  const stops = read.map((expert, i) => {
    const from = at;
    at += (100 * (weights[i] ?? 0)) / total;
    return `${palette(expert)} ${from.toFixed(1)}% ${at.toFixed(1)}%`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** The tint of a whole token, for the other ways of colouring. */
export function tint(trace: Trace, layer: number, token: number, by: ColourTokensBy, table: readonly number[], classes: readonly string[]): Rgb | null {
  if (by === "guild") {
    const guild = table[experts(trace, layer, token)[0] ?? -1] ?? -1;
    return kind(guild < MOST_COLOURS ? guild : -1);
  }
  if (by === "word_class") return kind(classes.indexOf(trace.word_class[token] ?? ""));
  if (by === "certainty") {
    const weights = gates(trace, layer, token);
    const even = 1 / Math.max(1, weights.length);
    const total = weights.reduce((a, b) => a + b, 0) || 1;
    return sky(weights.length < 2 ? 1 : ((weights[0] ?? 0) / total - even) / (1 - even));
  }
  return null;
}
