// The frame: brand, choice of run, views as tabs, light and dark; below it the view itself.
import { useEffect } from "preact/hooks";
import { choice, isDark } from "./design/theme";
import { capital } from "./format";
import { useKeys } from "./keyboard";
import { Lead, Missing, Waiting } from "./parts/Figure";
import { isConnected, isLive, page, problem, resultsOf, run, runId, runList, runs, show, shownViews, study, studyId, sweep, sweepId, view, waiting, type View } from "./state";
import { Balance } from "./views/Balance";
import { Compare } from "./views/Compare";
import { Continual } from "./views/Continual";
import { Galaxies } from "./views/Galaxies";
import { Guilds } from "./views/Guilds";
import { Eyebrow, Overview } from "./views/Overview";
import { Runs } from "./views/Runs";
import { Sweep } from "./views/Sweep";
import { Traces } from "./views/Traces";

export function App() {
  useKeys("input:not([type=range]), select, textarea", (event) => {
    const name = shownViews.peek()[Number(event.key) - 1];
    if (/^[1-9]$/.test(event.key) && name) show(name);
    else if (event.key === "t") flip();
  });
  useEffect(() => {
    const shown = view.value === "sweep" ? sweep.value : view.value === "continual" ? study.value : run.value;
    document.title = [shown?.name, capital(view.value), page.value?.title ?? "somelab"].filter(Boolean).join(" · ");
  });
  useEffect(() => document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [view.value]);
  useEffect(() => scrollTo(0, 0), [view.value, runId.value, sweepId.value, studyId.value]);
  return (
    <>
      <a class="skip" href="#view" onClick={(event) => { event.preventDefault(); document.getElementById("view")?.focus(); }}>Skip to the view</a>
      <Bar />
      <main id="view" tabIndex={-1}>
        {problem.value && <p class="fault" role="alert">{problem.value}</p>}
        <Shown name={view.value} />
      </main>
      <Foot />
    </>
  );
}

const flip = () => (choice.value = isDark.peek() ? "light" : "dark");

function Bar() {
  return (
    <div class="bar">
      <div class="bar-inside">
        <span class="brand">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <rect width="32" height="32" rx="7" />
            <circle class="star" cx="10" cy="20" r="3" /><circle class="star" cx="21" cy="22" r="2.2" /><circle class="star" cx="18" cy="10" r="2.6" /><circle class="sun" cx="16" cy="16" r="3.2" />
          </svg>
          somelab
        </span>
        <Picker />
        <nav class="tabs" aria-label="Views">
          {shownViews.value.map((name, i) => (
            <button key={name} type="button" aria-current={view.value === name ? "page" : undefined} title={`Key ${i + 1}`} onClick={() => show(name)} data-testid={`tab-${name}`}>
              {capital(name)}
            </button>
          ))}
        </nav>
        {isLive.value && <Live />}
        <button type="button" class="theme" onClick={flip} aria-label={isDark.value ? "Light" : "Dark"} title="Light or dark (t)" data-testid="theme">
          <svg viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="7" /><path d="M10 3a7 7 0 0 1 0 14z" /></svg>
        </button>
      </div>
    </div>
  );
}

function Live() {
  const state = !isConnected.value ? "lost" : run.value?.status === "running" ? "on" : "";
  return <span class={`live ${state}`} role="status">{state === "lost" ? "no connection" : state === "on" ? "live" : ""}</span>;
}

/** Which run, sweep or study is looked at, where there are several. */
function Picker() {
  const name = view.value;
  if (name === "runs" || name === "compare") return null;
  const isResult = name === "sweep" || name === "continual";
  const all = isResult ? resultsOf(name) : isLive.value ? (runList.value?.runs ?? []) : [...runs.value.values()];
  const current = name === "sweep" ? sweepId.value : name === "continual" ? studyId.value : runId.value;
  if (all.length < 2) return null;
  return (
    <label class="picker">
      <span class="unseen">{isResult ? capital(name) : "Run"}</span>
      <select value={current ?? ""} onChange={(event) => show(view.peek(), event.currentTarget.value)}>
        {all.map((one) => <option key={one.id} value={one.id}>{one.name}{one.problem ? ` (${"status" in one ? one.status : "not readable"})` : ""}</option>)}
      </select>
    </label>
  );
}

function Shown({ name }: { name: View }) {
  if (name === "runs") return <Runs />;
  if (name === "compare") return <Compare />;
  if (name === "sweep") return sweep.value ? <Sweep key={sweep.value.id} sweep={sweep.value} /> : <Waiting what="Reading the sweep …" />;
  if (name === "continual") return study.value ? <Continual key={study.value.id} study={study.value} /> : <Waiting what="Reading the study …" />;
  const current = run.value;
  if (!current) {
    if (runId.value !== null && (waiting.value.has(runId.value) || isLive.value) && !problem.value) return <Waiting what="Reading the run …" />;
    return <Missing title="No run to show">{isLive.value ? "Choose one in the list of runs." : "This report holds no run."}</Missing>;
  }
  if (current.status === "foreign" || current.status === "broken") {
    return (
      <>
        <Lead eyebrow={<Eyebrow run={current} />}>This folder cannot be read as a run.</Lead>
        <Missing title={current.path}>{current.problem}</Missing>
      </>
    );
  }
  switch (name) {
    case "overview":
      return <Overview key={current.id} run={current} />;
    case "balance":
      return <Balance key={current.id} run={current} />;
    case "galaxies":
      return <Galaxies key={current.id} run={current} />;
    case "traces":
      return <Traces key={current.id} run={current} />;
    case "guilds":
      return <Guilds key={current.id} run={current} />;
  }
}

function Foot() {
  const version = page.value?.made_by_version ?? runList.value?.made_by_version;
  const when = page.value?.made_at ? new Date(page.value.made_at) : null;
  return (
    <footer class="foot">
      <span>somelab {version}{when && !Number.isNaN(when.getTime()) ? `, ${when.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" })}` : ""}</span>
      <span>Keys: <kbd>1</kbd>–<kbd>{shownViews.value.length}</kbd> views, <kbd>t</kbd> light or dark, <kbd>space</kbd> plays, <kbd>←</kbd><kbd>→</kbd> step.</span>
      <span>This page loads nothing from elsewhere.</span>
    </footer>
  );
}
