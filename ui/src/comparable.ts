// What keeps runs from being ranked: another text, another scale, another budget, or an end that has not come yet.
import { listed, short, whole } from "./format";
import type { Run } from "./schema";

/** Budgets that are nearer than this count as equal: the last batch is not always whole. */
const SAME_BUDGET = 1.05;

export interface Difference {
  what: string;
  /** The values that occur, in a few words. */
  values: string;
  /** More, for a note. */
  detail?: string;
}

const tokensOf = (run: Run): number => run.curves.evaluation.tokens[run.curves.evaluation.tokens.length - 1] ?? run.final?.tokens ?? 0;

function distinct(runs: readonly Run[], of: (run: Run) => string): string[] {
  return [...new Set(runs.map(of))];
}

/** In what the prepared texts of one source differ. */
function versions(runs: readonly Run[]): string {
  const parts = ([["train_documents", "training documents"], ["val_documents", "validation documents"], ["vocab_size", "tokens of vocabulary"]] as const).flatMap(([field, what]) => {
    const values = distinct(runs, (run) => whole(run.data?.[field]));
    return values.length > 1 ? [`${listed(values)} ${what}`] : [];
  });
  return parts.length ? `The texts have ${parts.join(", ")}` : "";
}

/** In what runs differ that a ranking must not depend on; empty if their losses may be ranked. */
export function differences(runs: readonly Run[]): Difference[] {
  const found: Difference[] = [];
  const texts = distinct(runs, (run) => `${run.data?.source ?? "unknown text"} ${run.data?.digest ?? ""}`);
  if (texts.length > 1) {
    const names = distinct(runs, (run) => run.data?.source.split("/").pop() ?? "unknown");
    found.push(names.length > 1 ? { what: "text", values: listed(names) } : { what: "text", values: `${texts.length} preparations of ${names[0]}`, detail: versions(runs) });
  }
  const scales = distinct(runs, (run) => run.scale ?? "full");
  if (scales.length > 1) found.push({ what: "scale", values: listed(scales) });
  const tokens = runs.map(tokensOf).sort((a, b) => a - b);
  const [least, most] = [tokens[0] ?? 0, tokens[tokens.length - 1] ?? 0];
  if (most > least * SAME_BUDGET) found.push({ what: "budget", values: `${short(least)} to ${short(most)} training tokens` });
  const unfinished = runs.filter((run) => run.status !== "finished");
  if (unfinished.length && unfinished.length < runs.length) found.push({ what: "state", values: `${listed(unfinished.map((run) => run.name))} not finished` });
  return found;
}

/** "text (a and b) and budget (1 M to 2 M training tokens)". */
export const inWords = (found: readonly Difference[]): string => listed(found.map(({ what, values }) => `${what} (${values})`));

/** "seed 0", "seeds 0, 1 and 2". */
export const seedsInWords = (seeds: readonly number[]): string => (seeds.length ? `seed${seeds.length > 1 ? "s" : ""} ${listed(seeds.map(String))}` : "");
