// The list of runs and results that the server has found: search, status, a first look at each, and the choice of what to compare.
import { useState } from "preact/hooks";
import { counted, fixed, listed, NONE, short, whole } from "../format";
import { Choice } from "../parts/Choice";
import { Lead, Missing } from "../parts/Figure";
import { chosen, runList, show } from "../state";
import type { ResultSummary, RunSummary } from "../schema";

type Wanted = "all" | "running" | "finished" | "stopped" | "unreadable";

const isBad = (run: RunSummary): boolean => run.status === "foreign" || run.status === "broken";

export function Runs() {
  const [words, setWords] = useState("");
  const [wanted, setWanted] = useState<Wanted>("all");
  const all = runList.value?.runs ?? [];
  const needles = words.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = all.filter((run) => {
    const text = [run.name, run.path, run.preset, run.scale, run.source, run.feed_forward, run.status, run.seed === null ? "" : `seed ${run.seed}`].join(" ").toLowerCase();
    return needles.every((needle) => text.includes(needle)) && (wanted === "all" || (wanted === "unreadable" ? isBad(run) : run.status === wanted));
  });
  const results = (runList.value?.results ?? []).filter((one) => needles.every((needle) => [one.name, one.kind, one.path, one.about].join(" ").toLowerCase().includes(needle)));
  const number = (status: Wanted) => all.filter((run) => (status === "unreadable" ? isBad(run) : run.status === status)).length;
  const options = (["running", "finished", "stopped", "unreadable"] as const).filter((status) => number(status) > 0);
  return (
    <>
      <Lead eyebrow="Runs">{sentence(all, runList.value?.results ?? [])}</Lead>
      <div class="toolbar">
        <label class="search">
          <span class="unseen">Search runs</span>
          <input type="search" placeholder="Search by name, preset, data, seed 1 …" value={words} onInput={(event) => setWords(event.currentTarget.value)} data-testid="search" />
        </label>
        <Choice label="Status" hideLabel options={[{ value: "all" as Wanted, text: `all ${all.length}` }, ...options.map((status) => ({ value: status as Wanted, text: `${status} ${number(status)}` }))]} value={wanted} onChange={setWanted} />
        <button type="button" class="primary" disabled={chosen.value.length < 1} onClick={() => show("compare")}>
          Compare {chosen.value.length || ""}
        </button>
      </div>
      {results.length > 0 && wanted === "all" && <ul class="runs results" aria-label="Sweeps and studies">{results.map((one) => <Result key={one.id} result={one} />)}</ul>}
      {shown.length ? (
        <ul class="runs" aria-label="Runs">{shown.map((run) => <One key={run.id} run={run} />)}</ul>
      ) : (
        <Missing title={all.length ? "No run matches" : "No runs here"}>{all.length ? "Try fewer words." : "`somelab train` makes one; it appears here by itself."}</Missing>
      )}
      {(runList.value?.unread ?? []).map((line) => <p key={line} class="fault">{line}</p>)}
    </>
  );
}

function sentence(all: readonly RunSummary[], results: readonly ResultSummary[]): string {
  const running = all.filter((run) => run.status === "running");
  const bad = all.filter(isBad).length;
  const sound = all.length - bad;
  const now = running.length ? `; ${running.length === 1 ? `${running[0]!.name} is` : `${running.length} are`} training now` : "";
  const number = (kind: ResultSummary["kind"]) => results.filter((one) => one.kind === kind).length;
  const parts = [counted(sound, "run"), number("sweep") > 0 && counted(number("sweep"), "sweep"), number("continual") > 0 && counted(number("continual"), "continual study", "continual studies")];
  return `${listed(parts.filter((part) => typeof part === "string"))}${now}.${bad ? ` ${counted(bad, "folder")} cannot be read as a run.` : ""}`;
}

/** A sweep or a study: opened as a whole. */
function Result({ result }: { result: ResultSummary }) {
  const kind = result.kind === "sweep" ? "sweep" : "continual learning";
  if (result.problem !== null) {
    return <li class="run bad result"><span /><div><b>{result.name}</b><span class="status">{kind}</span><p>{result.problem}</p></div></li>;
  }
  return (
    <li class="run result">
      <span />
      <button type="button" class="run-open" onClick={() => show(result.kind, result.id)}>
        <span class="run-name"><b>{result.name}</b><span class="status">{kind}</span></span>
        <span class="run-about">{result.about}</span>
      </button>
    </li>
  );
}

function One({ run }: { run: RunSummary }) {
  const isChosen = chosen.value.includes(run.id);
  const toggle = () => (chosen.value = isChosen ? chosen.value.filter((id) => id !== run.id) : [...chosen.value, run.id]);
  if (isBad(run)) {
    return (
      <li class="run bad">
        <span />
        <div><b>{run.name}</b><span class={`status ${run.status}`}>{run.status}</span><p>{run.problem}</p></div>
      </li>
    );
  }
  const progress = run.num_steps ? Math.min(1, run.step / run.num_steps) : null;
  return (
    <li class="run">
      <input type="checkbox" checked={isChosen} onChange={toggle} aria-label={`Compare ${run.name}`} />
      <button type="button" class="run-open" onClick={() => show("overview", run.id)}>
        <span class="run-name"><b>{run.name}</b><span class={`status ${run.status}`}>{run.status}</span></span>
        <span class="run-about">
          {[run.preset && `${run.preset}${run.scale ? ` ${run.scale}` : ""}`, run.seed !== null && `seed ${run.seed}`, run.source?.split("/").pop(), run.parameters_total && `${short(run.parameters_total)} parameters`].filter(Boolean).join(" · ")}
        </span>
      </button>
      <Spark values={run.sparkline} />
      <dl>
        <div><dt>step</dt><dd>{whole(run.step)}{run.num_steps ? <small> of {whole(run.num_steps)}</small> : null}</dd></div>
        <div><dt>loss</dt><dd>{fixed(run.train_loss, 3)}</dd></div>
        <div><dt>val_ppl</dt><dd>{fixed(run.val_ppl, 2)}</dd></div>
        <div><dt>bits/byte</dt><dd>{fixed(run.bits_per_byte, 3)}</dd></div>
        <div><dt>warnings</dt><dd>{run.num_warnings || NONE}</dd></div>
      </dl>
      {progress !== null && run.status === "running" && <i class="progress" style={{ width: `${100 * progress}%` }} />}
    </li>
  );
}

/** The loss of the whole run in a thumbnail. */
function Spark({ values }: { values: readonly (number | null)[] }) {
  const known = values.filter((value): value is number => value !== null);
  if (known.length < 2) return <svg class="spark" aria-hidden="true" />;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const points = known.map((value, i) => `${(100 * i) / (known.length - 1)},${28 - (26 * (value - low)) / (high - low || 1)}`).join(" ");
  return <svg class="spark" viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true"><polyline points={points} /></svg>;
}
