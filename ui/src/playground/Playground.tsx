// The playground's page: presets, the disc, the player, charts and sliders.
import { useEffect, useRef, useState } from "preact/hooks";
import { choice, isDark } from "../design/theme";
import { counted, percent, whole } from "../format";
import { useKeys } from "../keyboard";
import { Charts } from "./Charts";
import { Controls } from "./Controls";
import { change, choose, history, isPlaying, onFrame, preset, reset, settings, stepOnce, world } from "./engine.ts";
import { PRESETS, presetOf, SPEEDS, writeAddress } from "./settings.ts";
import { Sky } from "./Sky";

const flip = () => (choice.value = isDark.peek() ? "light" : "dark");
const toggle = () => (isPlaying.value = !isPlaying.peek());
const faster = (by: number) => change({ speed: SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, SPEEDS.indexOf(settings.peek().speed) + by))]! });

const KEYS: Record<string, () => void> = {
  " ": toggle,
  s: stepOnce,
  r: reset,
  t: flip,
  n: () => change({ seed: settings.peek().seed + 1 }),
  "+": () => faster(1),
  "-": () => faster(-1),
};

function press(event: KeyboardEvent, target: HTMLElement): void {
  // Space presses the button that has the focus; on a slider or elsewhere it plays.
  if (event.key === " " && target.closest("button, summary, a, input[type=radio]")) return;
  const chosen = PRESETS[Number(event.key) - 1];
  if (/^[1-9]$/.test(event.key) && chosen) choose(chosen.id);
  else if (KEYS[event.key]) KEYS[event.key]!();
  else return;
  event.preventDefault();
}

export function Playground() {
  useKeys("input[type=number], input[type=text], select", press);
  const shown = presetOf(preset.value);
  const isChanged = writeAddress({ preset: shown.id, settings: { ...settings.value, speed: shown.settings.speed, seed: shown.settings.seed }, places: null }) !== `#preset=${shown.id}`;
  return (
    <>
      <div class="bar">
        <div class="bar-inside">
          <span class="brand">
            <svg viewBox="0 0 32 32" aria-hidden="true">
              <rect width="32" height="32" rx="7" />
              <circle class="star" cx="10" cy="20" r="3" /><circle class="star" cx="21" cy="22" r="2.2" /><circle class="star" cx="18" cy="10" r="2.6" /><circle class="sun" cx="16" cy="16" r="3.2" />
            </svg>
            somelab
          </span>
          <h1>Playground</h1>
          <button type="button" class="theme" onClick={flip} aria-label={isDark.value ? "Light" : "Dark"} title="Light or dark (t)" data-testid="theme">
            <svg viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="7" /><path d="M10 3a7 7 0 0 1 0 14z" /></svg>
          </button>
        </div>
      </div>
      <main class="play-page">
        <header class="intro" data-testid="lead">
          <p>
            Each point in the disc is the <b>key</b> of an expert. Each <b>query</b> outside it selects the K keys that score highest; then local rules move the keys.{" "}
            <span class="more">No gradient, no loss for balance: what forms here follows from the rules alone.</span>
          </p>
          <div class="presets" role="group" aria-label="Presets">
            {PRESETS.map((one, i) => (
              <button key={one.id} type="button" aria-pressed={preset.value === one.id} title={`Key ${i + 1}`} onClick={() => choose(one.id)} data-testid={`preset-${one.id}`}>{one.name}</button>
            ))}
          </div>
          <p class="watch"><b>{isChanged ? `${shown.name}, changed.` : "What to watch."}</b> {shown.watch}</p>
        </header>
        <div class="stage">
          <Sky />
          <Player />
          <Happening />
        </div>
        <Charts />
        <Controls />
        <About />
      </main>
    </>
  );
}

function Player() {
  return (
    <div class="tools" role="group" aria-label="Player">
      <button type="button" class="go" onClick={toggle} aria-label={isPlaying.value ? "Pause" : "Play"} title="Space" data-testid="play">
        <svg viewBox="0 0 16 16" aria-hidden="true"><path d={isPlaying.value ? "M4 2h3v12H4zM9 2h3v12H9z" : "M4 2l10 6-10 6z"} /></svg>
      </button>
      <button type="button" class="plain" onClick={stepOnce} title="Key s" data-testid="step">Step</button>
      <button type="button" class="plain" onClick={reset} title="Key r" data-testid="reset">Reset</button>
      <label class="field">
        Speed
        <select value={settings.value.speed} title="Keys + and −" onChange={(event) => change({ speed: Number(event.currentTarget.value) })}>
          {SPEEDS.map((speed) => <option key={speed} value={speed}>{speed} / s</option>)}
        </select>
      </label>
      <label class="field">
        Seed
        <input type="number" min={0} max={9999} value={settings.value.seed} title="Key n: the next one" onChange={(event) => change({ seed: Math.min(9999, Math.max(0, Math.round(Number(event.currentTarget.value)) || 0)) })} data-testid="seed" />
      </label>
      <Share />
    </div>
  );
}

/** Copies the address, which has all settings in it. */
function Share() {
  const [said, setSaid] = useState("");
  const copy = async () => {
    const { search, pathname, origin, protocol } = location;
    const base = protocol === "file:" ? `file://${pathname}` : `${origin}${pathname}${search}`;
    try {
      await navigator.clipboard.writeText(base + location.hash);
      setSaid("Copied");
    } catch {
      setSaid("Copy it from the address bar");
    }
    setTimeout(() => setSaid(""), 2500);
  };
  return <button type="button" class="plain share" onClick={() => void copy()} data-testid="share">{said || "Copy link"}</button>;
}

/** What happens now, in a sentence: twice a second, and at once where a single step was asked for. */
function Happening() {
  const line = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    let [when, shown, step] = [0, world, -1];
    return onFrame(() => {
      const now = performance.now();
      if ((isPlaying.peek() && now - when < 500) || (world === shown && world.step === step)) return;
      [when, shown, step] = [now, world, world.step];
      line.current!.textContent = sentence();
    });
  }, []);
  return <p ref={line} class="happening" data-testid="happening" />;
}

function sentence(): string {
  const last = history[history.length - 1];
  const num = world.settings.num_experts;
  const unused = Math.round((last?.measures.dead ?? 0) * num);
  const groups = world.groups().length;
  const parts = [
    groups > 0.8 * num ? `${counted(num, "key")}, each at a place of its own` : `${counted(num, "key")} at ${counted(groups, "place")} more than a degree apart`,
    unused ? `${counted(unused, "expert")} (${percent(unused / num)}) unused` : "no expert unused",
    ...(world.respawns ? [counted(world.respawns, "respawn")] : []),
  ];
  return `Step ${whole(world.step)}: ${parts.join("; ")}.`;
}

function About() {
  return (
    <section class="about">
      <h2>What is this?</h2>
      <p>
        somelab studies SoME, the self-organizing mixture of experts: feed-forward blocks made of frozen random experts, chosen by keys that local rules move. Real keys have hundreds of
        dimensions; here they have two. Queries have length 1 and lie on the circle, in clusters that you can drag. A key's score is its inner product with the query, so that a short
        key, near the centre, is rarely selected.
      </p>
      <p>
        For credit, experts must be good at something: each expert serves one random direction of query best, and its merit is how much better it serves a query than the mean of the experts selected with it.
      </p>
      <p>
        The rules run in your browser. They are the equations of <code>somelab.core.gravity</code>, and a test compares them with trajectories that the Python rules wrote.
      </p>
      <p class="keys">
        Keys: <kbd>space</kbd> plays, <kbd>s</kbd> steps, <kbd>r</kbd> resets, <kbd>n</kbd> next seed, <kbd>1</kbd>–<kbd>{PRESETS.length}</kbd> presets, <kbd>+</kbd> <kbd>−</kbd> speed, <kbd>t</kbd> light or dark. This page loads nothing from elsewhere.
      </p>
    </section>
  );
}
