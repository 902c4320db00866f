// What the page knows and what it shows: signals that every view reads, and the address that mirrors them.
import { computed, effect, signal } from "@preact/signals";
import { appended } from "./data/append";
import { askCompare, askGalaxies, askGuilds, askRun, askRuns, askStudy, askSweep, askTraces, follow } from "./data/live";
import type { Page, Run, RunList, Study, Sweep } from "./schema";

export const VIEWS = ["runs", "sweep", "continual", "overview", "balance", "galaxies", "traces", "guilds", "compare"] as const;
export type View = (typeof VIEWS)[number];
export type Part = "galaxies" | "traces" | "guilds";

export const isLive = signal(false);
/** All of a report; of a live server only version and title. */
export const page = signal<Page | null>(null);
export const runList = signal<RunList | null>(null);
export const runs = signal<ReadonlyMap<string, Run>>(new Map());
export const sweeps = signal<ReadonlyMap<string, Sweep>>(new Map());
export const studies = signal<ReadonlyMap<string, Study>>(new Map());
export const view = signal<View>("overview");
export const runId = signal<string | null>(null);
export const sweepId = signal<string | null>(null);
export const studyId = signal<string | null>(null);
/** Runs that are compared, in the order of their colours. */
export const chosen = signal<readonly string[]>([]);
export const comparison = signal<Page | null>(null);
export const problem = signal<string | null>(null);
/** Parts that are on their way: "id/galaxies". */
export const waiting = signal<ReadonlySet<string>>(new Set());
export const isConnected = signal(true);
/** Parts of live runs that a newer snapshot or sample has made old: "id/galaxies". */
export const stale = signal<ReadonlySet<string>>(new Set());

export const run = computed<Run | null>(() => runs.value.get(runId.value ?? "") ?? null);
export const sweep = computed<Sweep | null>(() => sweeps.value.get(sweepId.value ?? "") ?? null);
export const study = computed<Study | null>(() => studies.value.get(studyId.value ?? "") ?? null);

interface Listed {
  id: string;
  name: string;
  problem: string | null;
}

/** Sweeps or studies that can be opened, of the report or of the server's list. */
export const resultsOf = (kind: "sweep" | "continual"): readonly Listed[] =>
  isLive.value ? (runList.value?.results ?? []).filter((one) => one.kind === kind) : [...(kind === "sweep" ? sweeps.value : studies.value).values()];

/** Views that have something to show. A page of results alone has no views of runs. */
export const shownViews = computed<readonly View[]>(() => {
  const hasResults = resultsOf("sweep").length > 0 || resultsOf("continual").length > 0;
  return VIEWS.filter((name) => {
    if (name === "runs") return isLive.value;
    if (name === "sweep" || name === "continual") return resultsOf(name).length > 0;
    return isLive.value || runs.value.size > 0 || !hasResults;
  });
});

/** Runs of a comparison that an address names; more than a server compares at once make no useful link. */
const MOST_IN_ADDRESS = 24;

/** What the current view is of. */
const ofView = (name: View) => (name === "sweep" ? sweepId : name === "continual" ? studyId : runId);

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const keep = (changed: Run): void => void (runs.value = new Map(runs.value).set(changed.id, changed));

async function awaiting(key: string, work: () => Promise<void>): Promise<void> {
  // Looked at without being followed: an effect that waits must not begin again when it is done.
  if (waiting.peek().has(key)) return;
  waiting.value = new Set(waiting.peek()).add(key);
  try {
    await work();
    problem.value = null;
  } catch (error) {
    problem.value = message(error);
  } finally {
    waiting.value = new Set([...waiting.peek()].filter((other) => other !== key));
  }
}

export function openReport(content: Page): void {
  page.value = content;
  runs.value = new Map(content.runs.map((one) => [one.id, one]));
  sweeps.value = new Map(content.sweeps.map((one) => [one.id, one]));
  studies.value = new Map(content.studies.map((one) => [one.id, one]));
  sweepId.value = content.sweeps[0]?.id ?? null;
  studyId.value = content.studies[0]?.id ?? null;
  comparison.value = content;
  const sound = content.runs.filter((one) => one.status !== "foreign" && one.status !== "broken");
  chosen.value = firstChoice(content, sound);
  runId.value = (sound[0] ?? content.runs[0])?.id ?? null;
  if (content.sweeps.length) view.value = "sweep";
  else if (content.studies.length) view.value = "continual";
  readAddress();
}

/** What is compared at first: all runs; of sweeps, whose runs are many, the first run of each arm. */
function firstChoice(content: Page, sound: readonly Run[]): string[] {
  const inside = new Set(content.sweeps.flatMap((one) => one.arms.flatMap((arm) => arm.runs.slice(1).map((run) => run.run_id))));
  return sound.map((one) => one.id).filter((id) => !inside.has(id));
}

export async function openLive(): Promise<void> {
  isLive.value = true;
  view.value = "runs";
  await refreshRuns();
  readAddress();
}

export const refreshRuns = (): Promise<void> =>
  awaiting("runs", async () => {
    runList.value = await askRuns();
    const sound = runList.value.runs.filter((one) => one.status !== "foreign" && one.status !== "broken");
    if (runId.value === null) runId.value = sound[0]?.id ?? runList.value.runs[0]?.id ?? null;
    sweepId.value ??= resultsOf("sweep")[0]?.id ?? null;
    studyId.value ??= resultsOf("continual")[0]?.id ?? null;
  });

export const loadRun = (id: string): Promise<void> =>
  awaiting(id, async () => {
    const fresh = await askRun(id);
    const known = runs.value.get(id);
    keep(known ? { ...fresh, galaxies: known.galaxies, traces: known.traces, guilds: known.guilds } : fresh);
  });

const loadSweep = (id: string): Promise<void> =>
  awaiting(`sweep ${id}`, async () => {
    sweeps.value = new Map(sweeps.peek()).set(id, await askSweep(id));
  });

const loadStudy = (id: string): Promise<void> =>
  awaiting(`study ${id}`, async () => {
    studies.value = new Map(studies.peek()).set(id, await askStudy(id));
  });

/** Ask for a heavy part of a live run, once, or again where it has become old. */
export function need(id: string, part: Part, again = false): void {
  const known = runs.value.get(id);
  if (!isLive.value || !known || (known[part] !== null && !again)) return;
  void awaiting(`${id}/${part}`, async () => {
    const put = (got: Run[Part]) => {
      const now = runs.value.get(id);
      if (now) keep({ ...now, [part]: got });
    };
    // Maps by PCA are there at once; the rest takes its time, and a run in progress would be new again before it is done.
    if (part === "galaxies" && known.galaxies === null) put(await askGalaxies(id, true));
    if (part !== "galaxies" || again || known.status !== "running") {
      put(part === "galaxies" ? await askGalaxies(id, false) : part === "traces" ? await askTraces(id) : await askGuilds(id));
    }
    stale.value = new Set([...stale.value].filter((key) => key !== `${id}/${part}`));
  });
}

export const isWaiting = (id: string, part: Part): boolean => waiting.value.has(`${id}/${part}`);

function followRun(id: string): () => void {
  const { train } = runs.peek().get(id)!.curves;
  const after = train.step[train.step.length - 1] ?? -1;
  return follow(
    id,
    after,
    (increment) => {
      const known = runs.peek().get(id);
      if (!known) return;
      // The verdict and what it is judged by come with the whole run: it is read again when there is a newer judgement.
      const isJudgedAnew = increment.evaluation.steps.length > 0 || (!known.judged && increment.training.steps.length > 0);
      if (increment.kind === "restart" || increment.status !== known.status || isJudgedAnew) void loadRun(id);
      if (increment.kind === "increment") keep(appended(known, increment));
      const old = [...(increment.new_snapshots.length ? ["galaxies"] : []), ...(increment.new_samples ? ["traces"] : [])];
      if (old.length) stale.value = new Set([...stale.peek(), ...old.map((part) => `${id}/${part}`)]);
    },
    (open) => {
      isConnected.value = open;
    },
  );
}

/** What the address says after its #: view, and the run, sweep or study that it is of. */
function readAddress(): void {
  const [, name, id] = location.hash.split("/");
  if ((shownViews.peek() as readonly string[]).includes(name ?? "")) view.value = name as View;
  const wanted = id ? decoded(id) : null;
  if (wanted === null) return;
  if (name === "sweep" || name === "continual") {
    if (resultsOf(name).some((one) => one.id === wanted)) ofView(name).value = wanted;
    return;
  }
  const known = (isLive.peek() ? runList.peek()?.runs.map((one) => one.id) : [...runs.peek().keys()]) ?? [];
  if (name === "compare") {
    const named = wanted.split(",").filter((one) => known.includes(one));
    if (named.length && named.join() !== chosen.peek().join()) chosen.value = [...new Set(named)];
  } else if (known.includes(wanted)) runId.value = wanted;
}

/** An address may have been cut anywhere, in the middle of an escape too. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** What the view is of, as the address has it: a run, a sweep, a study, or the runs that are compared. */
function subject(): string | null {
  if (view.value === "runs") return null;
  if (view.value !== "compare") return ofView(view.value).value;
  return chosen.value.length && chosen.value.length <= MOST_IN_ADDRESS ? chosen.value.join(",") : null;
}

export function show(name: View, id: string | null = ofView(name).peek()): void {
  if (id !== null) ofView(name).value = id;
  view.value = name;
}

export function startFollowing(): void {
  addEventListener("hashchange", readAddress);
  effect(() => {
    const id = subject();
    const address = `#/${view.value}${id === null ? "" : `/${encodeURIComponent(id).replaceAll("%2C", ",")}`}`;
    if (location.hash !== address) history.replaceState(null, "", address);
  });
  if (!isLive.peek()) return;
  let followed: string | null = null;
  let stop: (() => void) | null = null;
  effect(() => {
    const id = runId.value;
    const isLoaded = id !== null && runs.value.has(id);
    if (id !== null && !isLoaded && !["runs", "sweep", "continual"].includes(view.value)) void loadRun(id);
    if (id === followed && stop) return;
    stop?.();
    stop = null;
    followed = null;
    if (id !== null && isLoaded && runs.peek().get(id)?.problem == null) {
      followed = id;
      stop = followRun(id);
    }
  });
  effect(() => {
    const ids = chosen.value;
    if (view.value === "compare" && ids.length) {
      void awaiting("compare", async () => {
        comparison.value = await askCompare(ids);
      });
    }
  });
  // Read anew whenever it is opened: a sweep that has gone on has another table.
  effect(() => {
    if (view.value === "sweep" && sweepId.value !== null) void loadSweep(sweepId.value);
    if (view.value === "continual" && studyId.value !== null) void loadStudy(studyId.value);
  });
  setInterval(() => {
    if (view.peek() === "runs" && !document.hidden) void refreshRuns();
  }, 3000);
}
