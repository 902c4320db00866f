// The keys of a layer as a night sky that moves: training plays, points move, respawned keys flash.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { css, kind, sky } from "../design/colours";
import { unpack } from "../data/packed";
import { counted, figure, percent, whole } from "../format";
import { guildName } from "../guildNames";
import { useKeys } from "../keyboard";
import { Choice } from "../parts/Choice";
import { Lead, Missing, Waiting } from "../parts/Figure";
import { RampLegend } from "../parts/Legend";
import { classesOf, cloudOf, colouringOf, leastUse, type ColourBy } from "../scatter/cloud";
import { Sky, type Named } from "../scatter/Sky";
import { useOf, workAt } from "../scatter/work";
import type { Galaxy, KeyMap, Run } from "../schema";
import { isLive, isWaiting, need, stale } from "../state";
import { ExpertCard } from "./ExpertCard";
import { LayerStrip } from "./LayerStrip";
import { Eyebrow } from "./Overview";

const METHOD_NAMES: Record<string, string> = { pca: "PCA", tsne: "t-SNE", umap: "UMAP" };
const SECONDS_OF_PLAY = 9;

export function Galaxies({ run }: { run: Run }) {
  useEffect(() => need(run.id, "galaxies"), [run.id, run.galaxies === null]);
  if (run.galaxies === null && isWaiting(run.id, "galaxies")) return <Waiting what="Python is laying out the maps …" />;
  if (!run.galaxies?.length) {
    const reason = run.left_out.find((one) => one.name === "galaxies")?.reason;
    return (
      <>
        <Lead eyebrow={<Eyebrow run={run} />}>There are no keys to map.</Lead>
        <Missing title="No key snapshots">{reason ?? "Nothing is routed by keys in this run, or no snapshot was written yet."}</Missing>
      </>
    );
  }
  return <Maps run={run} galaxies={run.galaxies} />;
}

function Maps({ run, galaxies }: { run: Run; galaxies: readonly Galaxy[] }) {
  const [layer, setLayer] = useState(galaxies[0]!.layer);
  const [chosenMethod, setMethod] = useState<string | null>(null);
  const [chosenBy, setBy] = useState<ColourBy | null>(null);
  const [trails, setTrails] = useState(true);
  const [pinned, setPinned] = useState<number | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const galaxy = galaxies.find((one) => one.layer === layer) ?? galaxies[0]!;
  const method = chosenMethod ?? clearest(galaxy)?.method ?? "pca";
  const map = galaxy.maps.find((one) => one.method === method) ?? galaxy.maps[0];
  const by = chosenBy ?? usualColours(galaxy);
  const play = usePlay(galaxy.steps.length, run.id);
  const names = useMemo(() => namesIn(run, galaxy, by), [run.guilds, galaxy, by]);
  const cloud = useMemo(() => (map ? cloudOf(galaxy, map) : null), [galaxy, map]);
  const colouring = useMemo(() => colouringOf(galaxy, by), [galaxy, by]);
  const neighbours = useMemo(() => neighboursIn(galaxy), [galaxy]);
  const frame = Math.min(Math.round(play.time), galaxy.steps.length - 1);
  const lead = useMemo(() => sentence(run, galaxy, frame), [run.status, galaxy, frame]);
  // Before the paint: an expert that is looked for as soon as the map shows stays pinned.
  useLayoutEffect(() => {
    setPinned(null);
    setPointed(null);
  }, [galaxy]);
  // Names of guilds are known where guilds are: those of a live run are asked for when its map has them.
  useEffect(() => {
    if (galaxy.guild.length) need(run.id, "guilds");
  }, [run.id, galaxy.guild.length > 0]);
  if (!map || !cloud) return <Missing title="No map of this layer">{galaxy.left_out.map((one) => `${one.name}: ${one.reason}`).join("; ")}</Missing>;
  const expert = pointed ?? pinned;
  const step = stepAt(galaxy, play.time);
  return (
    <>
      <Lead eyebrow={<Eyebrow run={run} />}>{lead}</Lead>
      <LayerStrip run={run} galaxies={galaxies} method={method} layer={galaxy.layer} share={play.time / Math.max(1, galaxy.steps.length - 1)} onChoose={setLayer} />
      <div class="galaxy">
        <div class="galaxy-map">
          <Sky
            label={`Map of ${galaxy.experts.length ? "" : "the "}${galaxy.num_experts} keys of layer ${galaxy.layer} at step ${step}, by ${METHOD_NAMES[map.method]}`}
            cloud={cloud} colouring={colouring} time={play.time} neighboursOf={neighbours}
            withTrails={trails} expert={expert} names={names} onPoint={setPointed} onPin={setPinned}
          />
          <Player play={play} galaxy={galaxy} step={step} cloud={cloud.reborn} />
        </div>
        <div class="galaxy-side">
          <Controls galaxy={galaxy} map={map} setMethod={setMethod} by={by} setBy={setBy} />
          <Meaning run={run} galaxy={galaxy} by={by} />
          <Clarity galaxy={galaxy} map={map} setMethod={setMethod} />
          <label class="check">
            <input type="checkbox" checked={trails} onChange={(event) => setTrails(event.currentTarget.checked)} /> show where keys have come from
          </label>
          <FindExpert galaxy={galaxy} onFind={setPinned} />
          <ExpertCard run={run} galaxy={galaxy} expert={expert} frame={frame} neighbours={expert === null ? [] : neighbours(expert)} onChoose={setPinned} />
          <p class="caption">{map.note}. {keptInWords(galaxy, map)}</p>
          {isLive.value && stale.value.has(`${run.id}/galaxies`) && (
            <button type="button" class="plain" onClick={() => need(run.id, "galaxies", true)}>
              {isWaiting(run.id, "galaxies") ? "Laying out …" : "New snapshots: lay out again"}
            </button>
          )}
        </div>
      </div>
    </>
  );
}

/** The map that keeps most of what is near in the space of the keys; the first where that was not measured. */
function clearest(galaxy: Galaxy): KeyMap | undefined {
  return [...galaxy.maps].sort((a, b) => (b.kept ?? 0) - (a.kept ?? 0))[0];
}

/** Share of the experts that must have a class for their colours to be worth showing first. */
const LEAST_KNOWN = 0.1;

/** Colours at first: word classes where they are known, else guilds, else use. */
function usualColours(galaxy: Galaxy): ColourBy {
  const known = galaxy.word_class.filter((name) => name !== null).length;
  if (known > LEAST_KNOWN * galaxy.num_experts) return "word_class";
  return galaxy.guild.some((guild) => guild >= 0) ? "guild" : "usage";
}

const MOST_NAMES = 14;
const MOST_FOR_NAMES = 2048;

/** In the colours of guilds only where keys have them too. */
function namesIn(run: Run, galaxy: Galaxy, by: ColourBy): Named[] {
  const guilds = run.guilds?.find((one) => one.layer === galaxy.layer)?.guilds ?? [];
  if (galaxy.num_experts > MOST_FOR_NAMES) return [];
  return guilds.slice(0, MOST_NAMES).map((guild) => ({ text: guildName(guild), experts: guild.experts, colour: by === "guild" ? css(kind(guild.id)) : "#dce4f2" }));
}

const NEAREST = 5;

function keptInWords(galaxy: Galaxy, map: KeyMap): string {
  if (map.kept == null) return "";
  const chance = Math.min(1, NEAREST / Math.max(1, galaxy.num_experts - 1));
  return `Of a key's ${NEAREST} nearest keys, ${percent(map.kept)} are among its ${NEAREST} nearest on this map; by chance ${percent(chance)}.`;
}

const CLOUD = 0.2;

/** A plane that holds little of the variance shows a cloud, whatever the keys do: said, with a better map beside it. */
function Clarity({ galaxy, map, setMethod }: { galaxy: Galaxy; map: KeyMap; setMethod: (method: string) => void }) {
  const best = clearest(galaxy);
  if (map.explained == null || map.explained > CLOUD) return null;
  const isBetter = best && best !== map && (best.kept ?? 0) > (map.kept ?? 0);
  return (
    <p class="clarity" role="note">
      This plane holds {percent(map.explained)} of the variance: a cloud here does not mean that keys have no structure.{" "}
      {isBetter && <button type="button" class="link" onClick={() => setMethod(best.method)}>Show {METHOD_NAMES[best.method]}</button>}
    </p>
  );
}

function neighboursIn(galaxy: Galaxy): (expert: number) => readonly number[] {
  const each = galaxy.neighbours.shape[1] ?? 0;
  const all = unpack(galaxy.neighbours);
  return (expert) => Array.from(all.subarray(expert * each, (expert + 1) * each));
}

/** What is seen at this moment, in words. */
function sentence(run: Run, galaxy: Galaxy, frame: number): string {
  const { total, half, idle } = workAt(galaxy, frame);
  const where = galaxy.name ? `Layer ${galaxy.layer}, the ${galaxy.name},` : `Layer ${galaxy.layer}`;
  const when = `at step ${whole(galaxy.steps[frame])}`;
  const shown = galaxy.experts.length ? ` Shown is a sample of the pool's ${whole(galaxy.pool)} experts.` : "";
  if (total === 0) return `${where} ${when}: ${counted(galaxy.num_experts, "key")} spread at random, none of them used yet.${shown}`;
  const rest = idle ? `, ${counted(idle, "expert")} ${idle === 1 ? "has" : "have"} hardly any` : "";
  return `${where} ${when}: half of the use falls on ${whole(half)} of ${whole(galaxy.num_experts)} experts${rest}.${shown}${run.status === "running" ? " Training goes on." : ""}`;
}

function stepAt(galaxy: Galaxy, time: number): number {
  const from = Math.floor(time);
  const a = galaxy.steps[from] ?? 0;
  const b = galaxy.steps[Math.min(from + 1, galaxy.steps.length - 1)] ?? a;
  return Math.round(a + (b - a) * (time - from));
}

interface Play {
  time: number;
  isPlaying: boolean;
  last: number;
  setTime: (time: number) => void;
  /** By so many snapshots, from the one that is nearest. */
  move: (by: number) => void;
  toggle: () => void;
}

/** Runs whose training has been played by itself: once each. */
const played = new Set<string>();

/** Whether training plays by itself when the map is opened. */
function isFirstTime(id: string, last: number): boolean {
  const isFirst = last > 0 && !played.has(id) && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  played.add(id);
  return isFirst;
}

/** Time in frames, and the clock that moves it. Space plays, arrow keys step, wherever the focus is not in a field. */
function usePlay(numFrames: number, id: string): Play {
  const last = numFrames - 1;
  const [isPlaying, showPlaying] = useState(() => isFirstTime(id, last));
  const [time, showTime] = useState(isPlaying ? 0 : last);
  // What is so now; the page shows it with its next drawing, and several keys may be pressed before that.
  const now = useRef({ time, isPlaying });
  const setTime = (to: number) => showTime((now.current.time = Math.min(last, Math.max(0, to))));
  const setPlaying = (to: boolean) => showPlaying((now.current.isPlaying = to));
  const jump = (to: number) => {
    setPlaying(false);
    setTime(to);
  };
  const move = (by: number) => jump(Math.round(now.current.time) + by);
  const toggle = () => {
    if (!now.current.isPlaying && now.current.time >= last) setTime(0);
    setPlaying(!now.current.isPlaying && last > 0);
  };
  useLayoutEffect(() => setTime(now.current.time), [last]);
  useEffect(() => {
    if (!isPlaying) return undefined;
    let before = performance.now();
    let request = requestAnimationFrame(function tick(at: number) {
      setTime(now.current.time + (Math.max(0, at - before) / 1000) * (last / SECONDS_OF_PLAY));
      before = at;
      if (now.current.time >= last) setPlaying(false);
      else request = requestAnimationFrame(tick);
    });
    return () => cancelAnimationFrame(request);
  }, [isPlaying, last]);
  useKeys("input, select, textarea", (event, target) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    // Space presses a button that has the focus.
    if (event.key === " " && target.closest("button, summary")) return;
    if (event.key === " ") toggle();
    else if (by !== undefined) move(by);
    else if (event.key === "Home") jump(0);
    else if (event.key === "End") jump(last);
    else return;
    event.preventDefault();
  });
  return { time, isPlaying, last, setTime: jump, move, toggle };
}

function Player({ play, galaxy, step, cloud: reborn }: { play: Play; galaxy: Galaxy; step: number; cloud: Uint8Array }) {
  const births = useMemo(() => galaxy.steps.map((_, frame) => {
    let number = 0;
    for (let i = frame * galaxy.num_experts; i < (frame + 1) * galaxy.num_experts; i++) number += reborn[i]!;
    return number;
  }), [galaxy, reborn]); // prettier-ignore
  const mostBirths = Math.max(1, ...births);
  const arrows = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 }[event.key];
    if (event.key === " ") play.toggle();
    else if (by !== undefined) play.move(by);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="player">
      <button type="button" class="play" onClick={play.toggle} aria-label={play.isPlaying ? "Pause" : "Play training"} title="Space" data-testid="play">
        {play.isPlaying ? (
          <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M4 2h3v12H4zM9 2h3v12H9z" /></svg>
        ) : (
          <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M4 2l10 6-10 6z" /></svg>
        )}
      </button>
      <div class="timeline">
        <Way galaxy={galaxy} />
        <div class="births" aria-hidden="true">
          {births.map((number, frame) => number > 0 && (
            <i key={frame} title={`${counted(number, "key")} respawned`} style={{ left: `${(100 * frame) / Math.max(1, play.last)}%`, height: `${3 + 9 * (number / mostBirths)}px` }} />
          ))}
        </div>
        <input
          type="range" min={0} max={play.last} step="any" value={play.time} onKeyDown={arrows} data-testid="time"
          onInput={(event) => play.setTime(Number(event.currentTarget.value))}
          aria-label="Time" aria-valuetext={`step ${step} of ${galaxy.steps[galaxy.steps.length - 1]}`}
        />
      </div>
      <output class="moment">step <b>{whole(step)}</b></output>
    </div>
  );
}

/** Above the slider, how far the mean key has come on its whole way: steep is where training moves keys most. */
function Way({ galaxy }: { galaxy: Galaxy }) {
  const last = galaxy.way.length - 1;
  if (last < 1) return null;
  const points = galaxy.way.map((share, frame) => `${(100 * frame) / last},${20 - 19 * share}`).join(" ");
  return (
    <svg class="way" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label="How far keys have come on their whole way">
      <title>How far keys have come on their whole way</title>
      <polygon points={`0,20 ${points} 100,20`} />
    </svg>
  );
}

interface ControlsProps {
  galaxy: Galaxy;
  map: KeyMap;
  setMethod: (method: string) => void;
  by: ColourBy;
  setBy: (by: ColourBy) => void;
}

function Controls({ galaxy, map, setMethod, by, setBy }: ControlsProps) {
  const reasons = new Map(galaxy.left_out.map((one) => [one.name, one.reason]));
  const methods = ["pca", "tsne", "umap"].map((name) => {
    const there = galaxy.maps.some((one) => one.method === name);
    return { value: name, text: METHOD_NAMES[name]!, disabled: !there, hint: there ? undefined : (reasons.get(name) ?? "not made") };
  });
  const hasKinds = galaxy.guild.length > 0;
  return (
    <div class="controls">
      <Choice label="Map" options={methods} value={map.method as string} onChange={setMethod} />
      <Choice
        label="Colour by"
        options={[
          { value: "usage", text: "use" },
          { value: "age", text: "age" },
          { value: "guild", text: "guild", disabled: !hasKinds, hint: hasKinds ? undefined : "guilds are not known for this run" },
          { value: "word_class", text: "word class", disabled: !galaxy.word_class.some((name) => name !== null), hint: "The class of at least half of the words that its card lists" },
        ]}
        value={by}
        onChange={setBy}
      />
    </div>
  );
}

/** What the colours mean now. */
function Meaning({ run, galaxy, by }: { run: Run; galaxy: Galaxy; by: ColourBy }) {
  const guilds = run.guilds?.find((one) => one.layer === galaxy.layer)?.guilds ?? [];
  if (by === "usage") return <RampLegend ramp={sky} low={`≤ ${figure(useOf(galaxy, leastUse(galaxy)))}`} high={`${figure(galaxy.usage_most)} choices a step`} label="use" />;
  if (by === "age") return <RampLegend ramp={sky} low="newborn" high={`${whole(galaxy.steps[galaxy.steps.length - 1])} steps old`} label="age" />;
  const counts = new Map<string, { number: number; index: number }>();
  const classes = classesOf(galaxy);
  for (let i = 0; i < galaxy.num_experts; i++) {
    const index = by === "guild" ? (galaxy.guild[i] ?? -1) : classes.indexOf(galaxy.word_class[i] ?? "");
    const name = index < 0 ? (by === "guild" ? "alone" : "mixed or unknown") : by === "guild" ? (guilds[index] ? guildName(guilds[index]) : `guild ${index}`) : classes[index]!;
    counts.set(name, { index, number: (counts.get(name)?.number ?? 0) + 1 });
  }
  const entries = [...counts].sort((a, b) => (a[1].index < 0 ? 1 : b[1].index < 0 ? -1 : b[1].number - a[1].number)).slice(0, 12);
  return (
    <ul class="legend">
      {entries.map(([name, { index, number }]) => (
        <li key={name}><i style={{ background: css(kind(index)) }} />{name.replaceAll("_", " ")} <small>{percent(number / galaxy.num_experts)}</small></li>
      ))}
    </ul>
  );
}

function placeOf(galaxy: Galaxy, number: number): number {
  if (!galaxy.experts.length) return number;
  const above = galaxy.experts.findIndex((expert) => expert >= number);
  if (above <= 0) return above < 0 ? galaxy.num_experts - 1 : 0;
  return galaxy.experts[above]! - number < number - galaxy.experts[above - 1]! ? above : above - 1;
}

/** In a sample, the nearest expert that is shown. */
function FindExpert({ galaxy, onFind }: { galaxy: Galaxy; onFind: (expert: number | null) => void }) {
  const [missing, setMissing] = useState<string | null>(null);
  const last = (galaxy.pool ?? galaxy.num_experts) - 1;
  return (
    <label class="find">
      <span>Find expert</span>
      <input
        type="number" min={0} max={last} placeholder={`0 to ${last}`} inputMode="numeric"
        onInput={(event) => {
          const text = event.currentTarget.value;
          const value = Number(text);
          const isThere = text !== "" && Number.isInteger(value) && value >= 0 && value <= last;
          setMissing(text === "" || isThere ? null : text);
          onFind(isThere ? placeOf(galaxy, value) : null);
        }}
        aria-invalid={missing !== null}
      />
      <small class="no-such" role="status">{missing === null ? "" : `No such expert: ${missing}. They are 0 to ${whole(last)}.`}</small>
    </label>
  );
}
