// Does the layer organise itself, or collapse? Every measure of every layer over time, beside the lines beyond which it is collapse.
import { useState } from "preact/hooks";
import { depth, viridis } from "../design/colours";
import { isDark } from "../design/theme";
import { capital, figure, listed, mark, percent, stopped, whole, type Value } from "../format";
import { layerName, plainLayer } from "../layers";
import { Choice, Select } from "../parts/Choice";
import { Explain, type Term } from "../parts/Explain";
import { Figure, Lead, Missing, Section } from "../parts/Figure";
import { Heat } from "../parts/Heat";
import { RampLegend } from "../parts/Legend";
import { Plot } from "../parts/Plot";
import { UsageBars } from "../parts/UsageBars";
import { MEANINGS, type Run } from "../schema";
import { beyondLine, measured, rankedByMatter, type Measured } from "./balancing";
import { Eyebrow, lastOf } from "./Overview";

export function Balance({ run }: { run: Run }) {
  const [chosen, setName] = useState<string | null>(null);
  if (!run.balance) {
    return (
      <>
        <Lead eyebrow={<Eyebrow run={run} />}>Nothing is routed by keys here, so there is nothing to balance.</Lead>
        <Missing title="No SoME layers">The feed-forward block of this run is “{(run.feed_forward ?? "unknown").replace("_", " ")}”.</Missing>
      </>
    );
  }
  const all = measured(run.balance);
  const matters = rankedByMatter(all);
  const current = all.find((one) => one.info.name === (chosen ?? matters[0]?.measure.info.name)) ?? all[0];
  const rest = all.filter((one) => !matters.some(({ measure }) => measure === one));
  const glance = (one: Measured) => <Glance key={one.info.name} run={run} measure={one} isOn={one === current} onChoose={() => choose(one.info.name, setName)} />;
  return (
    <>
      <Lead eyebrow={<Eyebrow run={run} />} note={run.judged}>{capital(run.verdict)}</Lead>
      <Findings run={run} />
      {matters.length > 0 && (
        <Section title="What matters in this run" note={`${matters.length === 1 ? "One" : matters.length} of ${all.length} measures, by why: beyond a threshold, near one, unlike between layers, or changed much. A row for each layer, the first on top, time from left to right; vermilion under a row marks what lies beyond its line.`}>
          <ol class="glance matters">
            {matters.map((one) => <li key={one.measure.info.name}>{glance(one.measure)}<p class={one.isBad ? "why bad" : "why"}>{stopped(one.why)}</p></li>)}
          </ol>
        </Section>
      )}
      {current && (
        <Section title="Layer by layer" note="One panel a layer, the same axes for all. The tinted side of a dashed line means collapse.">
          <div class="toolbar explain-row">
            <Select
              label="Measure"
              options={all.map((one) => ({ value: one.info.name, text: capital(one.info.title) }))}
              value={current.info.name}
              onChange={setName}
            />
            {current.info.name in MEANINGS && <Explain term={current.info.name as Term} more={countedOver(current)} />}
          </div>
          <Multiples run={run} measure={current} />
        </Section>
      )}
      <details class="rest" open={matters.length === 0}>
        <summary>{matters.length ? `The other ${rest.length} measures` : `All ${rest.length} measures`}</summary>
        <div class="glance">{rest.map(glance)}</div>
      </details>
      <Usage run={run} />
    </>
  );
}

function choose(name: string, setName: (name: string) => void): void {
  setName(name);
  document.getElementById("multiples")?.scrollIntoView({ block: "center" });
}

function Findings({ run }: { run: Run }) {
  if (!run.findings.length) return null;
  return (
    <ul class="findings" aria-label="Findings of the last evaluation">
      {byLayer(run.findings).map(([where, sentences]) => (
        <li key={where}>
          <b>{where}</b> {stopped(sentences.join("; "))}
        </li>
      ))}
    </ul>
  );
}

/** "layer 2: keys have fused ..." gathered by what stands before the colon. */
function byLayer(findings: readonly string[]): [string, string[]][] {
  const gathered = new Map<string, string[]>();
  for (const finding of findings) {
    const [, where = "", sentence = finding] = /^(layer \d+): (.*)$/i.exec(finding) ?? [];
    gathered.set(capital(where), [...(gathered.get(capital(where)) ?? []), sentence]);
  }
  return [...gathered];
}

function sentenceFor(measure: Measured): string {
  const { info, line, rows } = measure;
  const ends = rows.map((row) => lastOf(row)).filter((value): value is number => value != null);
  if (!ends.length) return stopped(info.help);
  const range = figure(Math.min(...ends)) === figure(Math.max(...ends)) ? figure(ends[0]) : `${figure(Math.min(...ends))} to ${figure(Math.max(...ends))}`;
  const unit = info.unit ? ` ${info.unit}` : "";
  if (!line) return `${stopped(info.help)} It ends at ${range}${unit}.`;
  const beyond = beyondLine(measure).map(String);
  const verdict = beyond.length
    ? `${beyond.length === rows.length ? "All layers are" : beyond.length === 1 ? `Layer ${beyond[0]} is` : `Layers ${listed(beyond)} are`} beyond it`
    : "No layer is beyond it";
  return `${stopped(info.help)} It ends at ${range}${unit}. The line is at ${figure(line.value)} (${line.sentence}). ${verdict}.`;
}

/** Where the numbers are from, and over what they were counted. */
function countedOver({ info, origin }: Measured): string {
  const over = origin === "training" ? info.training : info.evaluation;
  return `${origin === "training" ? "From training" : "From evaluations"}${over ? `, over ${over}` : ""}.`;
}

function Multiples({ run, measure }: { run: Run; measure: Measured }) {
  const { info, rows, steps, line } = measure;
  const [low, high] = sharedRange(measure);
  const dark = isDark.value;
  return (
    <div id="multiples">
      <p class="reading">
        {sentenceFor(measure)} <span class="origin">{countedOver(measure)}</span>
      </p>
      <div class={`multiples ${rows.length > 6 ? "many" : ""}`}>
        {rows.map((row, layer) => (
          <Figure key={layer} title={layerName(run, layer)} aside={<span class="end">{figure(lastOf(row))}</span>}>
            <Plot
              title={`${capital(info.title)}, ${plainLayer(layer)}`}
              curves={[{ label: info.title, colour: depth(layer, rows.length, dark), x: steps, y: row, points: steps.length < 12, width: 2 }]}
              xLabel="step" yLabel={info.unit || info.title} line={line} least={low} most={high} fixed height={rows.length > 6 ? 120 : 150} together="multiples" bare
            />
          </Figure>
        ))}
      </div>
      <p class="axis-note">
        Down: {info.title}{info.unit ? `, ${info.unit}` : ""}. Across: step.
      </p>
    </div>
  );
}

/** What all layers have, the line if it is near, and the bounds of the measure where the data come close to them. */
function sharedRange({ low, high, line, info }: Measured): [number, number] {
  let [least, most] = [low, high];
  const span = most - least || Math.abs(most) * 0.1 || 0.1;
  if (line && line.value > least - 3 * span && line.value < most + 3 * span) {
    least = Math.min(least, line.value);
    most = Math.max(most, line.value);
  }
  const room = (most - least) * 0.1 || span;
  least -= room;
  most += room;
  if (info.least != null) least = Math.max(least, info.least - room * 0.3);
  if (info.most != null) most = Math.min(most, info.most + room * 0.3);
  return [least, most];
}

/** Colours span what a measure can be where that is known, so that a hair's breadth of change does not look like a storm. */
function colourRange({ info, low, high }: Measured): [number, number] {
  if (info.least != null && info.most != null && info.most > info.least) return [info.least, info.most];
  const span = Math.max(high - low, 0.05 * Math.max(Math.abs(high), Math.abs(low)), 1e-9);
  return info.least != null ? [Math.min(low, info.least), Math.max(high, info.least + span)] : [high - span, high];
}

function Glance({ run, measure, isOn, onChoose }: { run: Run; measure: Measured; isOn: boolean; onChoose: () => void }) {
  const { info, rows, steps, line } = measure;
  const [least, most] = colourRange(measure);
  return (
    <div class={`glance-one ${isOn ? "on" : ""}`}>
      <button type="button" onClick={onChoose} aria-pressed={isOn} title={info.help}>
        {capital(info.title)}
        {info.unit && <small>{info.unit}</small>}
      </button>
      <Heat title={info.title} steps={steps} rows={rows} low={least} high={most} line={line} rowNames={rows.map((_, layer) => layerName(run, layer))} />
      <div class="glance-foot">
        {measure.low === measure.high ? (
          <span class="constant">{mark(measure.low)} everywhere, at all times</span>
        ) : (
          <RampLegend ramp={viridis} low={mark(least)} high={mark(most)} label={info.title} />
        )}
        {line && <span class="line-note">{line.side === "above" ? ">" : "<"} {mark(line.value)}: {line.sentence}</span>}
      </div>
    </div>
  );
}

/** The moving average hardly ever falls to 0, so that unused experts are those of the evaluation, as in the terminal. */
function sentenceOnUnused(run: Run, unused: readonly Value[]): string {
  const over = run.balance!.info.find((info) => info.name === "dead_share")?.evaluation ?? "validation text";
  const found = unused.flatMap((share, layer) => (share ? [`${percent(share)} in layer ${layer}`] : []));
  if (unused.every((share) => share == null)) return "No evaluation has counted unused experts yet.";
  return found.length ? `Experts that the last evaluation never selected, in ${over}: ${listed(found)}.` : `The last evaluation selected every expert, in ${over}.`;
}

function Usage({ run }: { run: Run }) {
  const [by, setBy] = useState<"count" | "mass">("count");
  const usage = run.balance!.usage;
  if (!usage.length) return null;
  const positive = usage.flatMap((layer) => layer[by].filter((value): value is number => value != null && value > 0));
  const most = positive.reduce((a, b) => Math.max(a, b), 1);
  const least = Math.max(positive.reduce((a, b) => Math.min(a, b), most), most * 1e-6) / 1.5;
  const unused = usage.map((_, layer) => lastOf(run.balance!.evaluation.measures["dead_share"]?.[layer] ?? []));
  return (
    <Section
      title="Who does the work"
      note={
        <>
          Every expert of a layer, most used first, on a logarithmic scale that all layers share. The dashed line is a fair share: level bars along it mean
          balance, a steep fall means that few do it all. {sentenceOnUnused(run, unused)}
        </>
      }
    >
      <div class="toolbar">
        <Choice
          label="Use by"
          options={[
            { value: "count", text: "choices per step", hint: "How often an expert was among the K of a token" },
            { value: "mass", text: "gate mass per step", hint: "The sum of its gates" },
          ]}
          value={by}
          onChange={setBy}
        />
      </div>
      <div class={`multiples ${usage.length > 6 ? "many" : ""}`}>
        {usage.map((layer, i) => (
          <Figure key={i} title={layerName(run, i)} aside={<span class="end">{unused[i] ? `${percent(unused[i])} never selected in the evaluation` : ""}</span>}>
            <UsageBars title={`Use of the experts of layer ${i}`} values={layer[by]} least={least} most={most * 1.1} />
          </Figure>
        ))}
      </div>
      <p class="axis-note">
        Down: {by === "count" ? "choices" : "gate mass"} per step, {run.balance!.usage_counted}{run.balance!.usage_step == null ? "" : `, at step ${whole(run.balance!.usage_step)}`}. Across: experts by rank.
      </p>
    </Section>
  );
}
