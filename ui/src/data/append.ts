// A run and what has come since: increments of a live run are laid behind its columns.
import type { Curves, Final, Increment, Run, Series } from "../schema";

type Columns = Record<string, unknown[] | number>;

/** Only what is later than what is there: the first increment may overlap with the response before it. */
function firstLater(steps: readonly number[], last: number | undefined): number {
  const at = steps.findIndex((step) => step > (last ?? -1));
  return at < 0 ? steps.length : at;
}

function longerColumns<T extends { step: number[] }>(known: T, fresh: T): T {
  const from = firstLater(fresh.step, known.step[known.step.length - 1]);
  if (from === fresh.step.length) return known;
  const columns: Columns = {};
  for (const [name, value] of Object.entries(known) as [string, unknown[] | number][]) {
    columns[name] = Array.isArray(value) ? [...value, ...((fresh as unknown as Columns)[name] as unknown[]).slice(from)] : value;
  }
  return columns as unknown as T;
}

function longerSeries(known: Series, fresh: Series): Series {
  const from = firstLater(fresh.steps, known.steps[known.steps.length - 1]);
  if (from === fresh.steps.length) return known;
  const measures: Series["measures"] = {};
  for (const name of new Set([...Object.keys(known.measures), ...Object.keys(fresh.measures)])) {
    const numLayers = Math.max(known.measures[name]?.length ?? 0, fresh.measures[name]?.length ?? 0);
    measures[name] = Array.from({ length: numLayers }, (_, layer) => [
      ...(known.measures[name]?.[layer] ?? known.steps.map(() => null)),
      ...(fresh.measures[name]?.[layer]?.slice(from) ?? fresh.steps.slice(from).map(() => null)),
    ]);
  }
  return { steps: [...known.steps, ...fresh.steps.slice(from)], measures };
}

const NOTHING: Final = {
  step: 0, tokens: 0, train_loss: null, val_loss: null, val_ppl: null, bits_per_byte: null, ppl_with_padding: null, best_val_loss: null,
  tokens_per_second: null, gini: null, entropy_bits: null, crowding: null, combination_entropy_bits: null, gate_entropy: null,
}; // prettier-ignore

const RECENT = 50;

/** The last step may be a dip: an evaluation, or a busy machine. */
function median(values: readonly (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null).sort((a, b) => a - b);
  return known[Math.floor(known.length / 2)] ?? null;
}

/** The figures of a run that goes on: those of its latest evaluation, at the step it has come to. */
function latest(known: Final | null, { train, evaluation, timing }: Curves): Final | null {
  const step = train.step[train.step.length - 1];
  if (step === undefined) return known;
  const last = <T>(values: readonly (T | null)[], otherwise: T | null): T | null => values[values.length - 1] ?? otherwise;
  const before = known ?? NOTHING;
  return {
    ...before,
    step,
    tokens: last(train.tokens, before.tokens) ?? 0,
    val_loss: last(evaluation.val_loss, before.val_loss),
    val_ppl: last(evaluation.val_ppl, before.val_ppl),
    bits_per_byte: last(evaluation.bits_per_byte, before.bits_per_byte),
    tokens_per_second: median(timing.tokens_per_second.slice(-RECENT)) ?? before.tokens_per_second,
  };
}

export function appended(run: Run, increment: Increment): Run {
  const curves: Curves = {
    train: longerColumns(run.curves.train, increment.curves.train),
    evaluation: longerColumns(run.curves.evaluation, increment.curves.evaluation),
    timing: longerColumns(run.curves.timing, increment.curves.timing),
  };
  const known = new Set(run.warnings.map((warning) => `${warning.step} ${warning.sentence}`));
  return {
    ...run,
    status: increment.status,
    balance: run.balance && {
      ...run.balance,
      training: longerSeries(run.balance.training, increment.training),
      evaluation: longerSeries(run.balance.evaluation, increment.evaluation),
    },
    warnings: [...run.warnings, ...increment.warnings.filter((warning) => !known.has(`${warning.step} ${warning.sentence}`))],
    curves,
    final: increment.status === "running" ? latest(run.final, curves) : run.final,
  };
}
