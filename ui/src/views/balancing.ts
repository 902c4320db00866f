// The measures of a run's balance, and which of them a reader should look at first, with the reason.
import { figure, listed, mark, type Value } from "../format";
import type { Balance as BalanceData, Line, MeasureInfo } from "../schema";

export interface Measured {
  info: MeasureInfo;
  line: Line | undefined;
  steps: readonly number[];
  rows: readonly (readonly Value[])[];
  /** Where the numbers are from. */
  origin: "training" | "validation";
  low: number;
  high: number;
}

/** A measure from training where it has one, because that has many more points; else from validation. */
export function measured(balance: BalanceData): Measured[] {
  return balance.info.flatMap((info) => {
    const fromTraining = balance.training.measures[info.name];
    const rows = fromTraining ?? balance.evaluation.measures[info.name];
    if (!rows?.some((row) => row.some((value) => value != null))) return [];
    const values = rows.flat().filter((value): value is number => value != null);
    const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
    return [{
      info, rows, low, high,
      line: balance.lines[info.name],
      steps: (fromTraining ? balance.training : balance.evaluation).steps,
      origin: fromTraining ? "training" as const : "validation" as const,
    }]; // prettier-ignore
  });
}

const endOf = (row: readonly Value[]): number | null => [...row].reverse().find((value): value is number => value != null) ?? null;
const startOf = (row: readonly Value[]): number | null => row.find((value): value is number => value != null) ?? null;

/** Layers whose last value lies beyond the line. */
export function beyondLine({ rows, line }: Measured): number[] {
  if (!line) return [];
  return rows.flatMap((row, layer) => {
    const value = endOf(row);
    return value !== null && (line.side === "above" ? value > line.value : value < line.value) ? [layer] : [];
  });
}

export interface Matter {
  measure: Measured;
  score: number;
  why: string;
  isBad: boolean;
}

/** Measures that say nearly the same: the one that says it most strongly stands for all. */
const FAMILIES: readonly (readonly string[])[] = [
  ["gini", "gini_mass", "entropy_bits", "entropy_bits_mass", "effective_experts"],
  ["coverage", "dead_share"],
  ["combination_entropy_bits", "num_combinations"],
  ["drift", "drift_max"],
  ["key_norm_min", "key_norm_mean"],
];
const MOST_SHOWN = 3;
const NEAR = 0.15;
const MUCH = 0.25;

/** At most three measures, the most telling first. */
export function rankedByMatter(all: readonly Measured[]): Matter[] {
  const found = all.flatMap((measure) => matterOf(measure) ?? []).sort((a, b) => b.score - a.score);
  const kept: Matter[] = [];
  for (const one of found) {
    const family = FAMILIES.find((names) => names.includes(one.measure.info.name)) ?? [];
    if (!kept.some((other) => family.includes(other.measure.info.name))) kept.push(one);
  }
  return kept.slice(0, MOST_SHOWN);
}

function matterOf(measure: Measured): Matter | null {
  const { rows, line, info, low, high } = measure;
  const ends = rows.map(endOf);
  const known = ends.filter((value): value is number => value !== null);
  if (!known.length) return null;
  const beyond = beyondLine(measure);
  if (line && beyond.length) {
    const where = beyond.length === rows.length ? "In every layer" : beyond.length === 1 ? `In layer ${beyond[0]}` : `In layers ${listed(beyond.map(String))}`;
    return { measure, score: 3 + beyond.length / rows.length, isBad: true, why: `${where} beyond ${mark(line.value)}: ${line.sentence}` };
  }
  // What the measure can span, or has spanned.
  const span = info.least != null && info.most != null ? info.most - info.least : Math.max(Math.abs(high), high - low);
  if (!span) return null;
  if (line) {
    const gaps = ends.map((value) => (value === null ? Number.POSITIVE_INFINITY : Math.abs(value - line.value) / span));
    const nearest = gaps.indexOf(Math.min(...gaps));
    // A threshold that nothing has moved towards is not news.
    if (gaps[nearest]! < NEAR && line.value > 0) return { measure, score: 2 - gaps[nearest]!, isBad: false, why: `Near its threshold of ${mark(line.value)}, with ${figure(ends[nearest])} in layer ${nearest}; beyond it, ${line.sentence}` };
  }
  const [least, most] = [Math.min(...known), Math.max(...known)];
  if ((most - least) / span > MUCH) {
    return { measure, score: 1 + (most - least) / span, isBad: false, why: `Layers differ: ${figure(least)} in layer ${ends.indexOf(least)}, ${figure(most)} in layer ${ends.indexOf(most)}` };
  }
  const changes = rows.map((row, layer) => Math.abs((ends[layer] ?? 0) - (startOf(row) ?? ends[layer] ?? 0)) / span);
  const moved = changes.indexOf(Math.max(...changes));
  if (changes[moved]! <= MUCH) return null;
  const begin = startOf(rows[moved]!);
  return { measure, score: Math.min(1, changes[moved]!), isBad: false, why: `Changed from ${figure(begin)} to ${figure(ends[moved])} in layer ${moved}` };
}
