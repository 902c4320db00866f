// Talks to `somelab serve`: asks for runs and their parts, and follows a run by server-sent events.
import type { Galaxy, Increment, LayerGuilds, Page, Problem, Run, RunList, Study, Sweep, Trace, TraceResponse, TraceRequest } from "../schema";

async function ask<T>(path: string, body?: TraceRequest): Promise<T> {
  const request: RequestInit = { credentials: "same-origin", headers: { Accept: "application/json" } };
  if (body) {
    request.method = "POST";
    request.body = JSON.stringify(body);
    request.headers = { ...request.headers, "Content-Type": "application/json" };
  }
  let answer: Response;
  try {
    answer = await fetch(path, request);
  } catch {
    throw new Error("no response from the server; is `somelab serve` still running?");
  }
  if (!answer.ok) {
    const problem = (await answer.json().catch(() => ({ error: answer.statusText }))) as Problem;
    throw new Error(problem.error);
  }
  return (await answer.json()) as T;
}

const of = (id: string): string => `/api/runs/${encodeURIComponent(id)}`;

export const askRuns = (): Promise<RunList> => ask("/api/runs");
export const askRun = (id: string): Promise<Run> => ask(of(id));
/** Quick: PCA alone, at once; else all maps, and the distinctive words of each expert. */
export const askGalaxies = (id: string, quick: boolean): Promise<Galaxy[]> => ask(`${of(id)}/galaxies${quick ? "?quick=1" : ""}`);
export const askGuilds = (id: string): Promise<LayerGuilds[]> => ask(`${of(id)}/guilds`);
export const askTraces = (id: string): Promise<Trace[]> => ask(`${of(id)}/traces`);
export const askTrace = (id: string, request: TraceRequest): Promise<TraceResponse> => ask(`${of(id)}/trace`, request);
export const askSweep = (id: string): Promise<Sweep> => ask(`/api/sweeps/${encodeURIComponent(id)}`);
export const askStudy = (id: string): Promise<Study> => ask(`/api/studies/${encodeURIComponent(id)}`);
export const askCompare = (ids: readonly string[]): Promise<Page> => ask(`/api/compare?ids=${ids.map(encodeURIComponent).join(",")}`);

/** Follow a run until the returned function is called. `onState` says whether the line is open. */
export function follow(id: string, after: number, onIncrement: (increment: Increment) => void, onState: (open: boolean) => void): () => void {
  const source = new EventSource(`${of(id)}/events?after=${after}`, { withCredentials: true });
  source.addEventListener("open", () => onState(true));
  source.addEventListener("error", () => onState(false));
  source.addEventListener("increment", (event) => onIncrement(JSON.parse((event as MessageEvent<string>).data) as Increment));
  return () => source.close();
}
