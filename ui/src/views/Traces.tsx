// Texts, token by token, with the experts that read each: three layers side by side, and every token that an expert or guild took.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { counted, listed, visible, whole } from "../format";
import { useKeys } from "../keyboard";
import { threeOf } from "../layers";
import { Choice, Select } from "../parts/Choice";
import { Lead, Missing, Section, Waiting } from "../parts/Figure";
import type { Run, Trace } from "../schema";
import { isLive, isWaiting, need, stale } from "../state";
import { Concordance } from "./Concordance";
import { Eyebrow } from "./Overview";
import { Prompt } from "./Prompt";
import { TraceColumn } from "./TraceColumn";
import { guildsOf, type ColourTokensBy, type Picked } from "./tracing";

export function Traces({ run }: { run: Run }) {
  const [asked, setAsked] = useState<readonly Trace[]>([]);
  const [index, setIndex] = useState(0);
  useEffect(() => {
    need(run.id, "traces");
    need(run.id, "guilds");
  }, [run.id, run.traces === null]);
  useLayoutEffect(() => {
    setAsked([]);
    setIndex(0);
  }, [run.id]);
  const stored = [...(run.traces ?? [])].sort((a, b) => b.step - a.step);
  const all = [...asked, ...stored];
  const trace = all[Math.min(index, all.length - 1)];
  const hasRouting = run.feed_forward === "some" || run.feed_forward === "moe" || run.balance !== null;
  const add = (made: Trace) => {
    setAsked([made, ...asked]);
    setIndex(0);
  };
  return (
    <>
      <Lead eyebrow={<Eyebrow run={run} />}>{trace ? sentence(trace) : hasRouting ? "No text has been traced yet." : "This model has no routed layers."}</Lead>
      {isLive.value && hasRouting && <Prompt run={run} onTrace={add} />}
      {run.traces === null && isWaiting(run.id, "traces") && <Waiting what="The model is reading its samples again …" />}
      {trace ? (
        <Reading run={run} trace={trace} all={all} index={Math.min(index, all.length - 1)} onChoose={setIndex} />
      ) : (
        !isWaiting(run.id, "traces") && <Missing title="No traces">{run.left_out.find((one) => one.name === "traces")?.reason ?? "This run has no samples or no checkpoint to read them with."}</Missing>
      )}
      {isLive.value && stale.value.has(`${run.id}/traces`) && (
        <button type="button" class="plain" onClick={() => need(run.id, "traces", true)}>New samples: read them</button>
      )}
    </>
  );
}

/** How varied the routing of this text is, in words. */
function sentence(trace: Trace): string {
  const layers = threeOf(trace.layers);
  const parts = layers.map((layer, i) => {
    const rows = trace.experts[trace.layers.indexOf(layer)] ?? [];
    const sets = new Set(rows.map((experts) => [...experts].sort((a, b) => a - b).join()));
    return `${i === 0 ? `${counted(sets.size, "different set")} of ${rows[0]?.length ?? 0} experts` : whole(sets.size)} in layer ${layer}`;
  });
  return `${counted(trace.tokens.length, "token")} called on ${listed(parts)}.`;
}

/** Three layers beside each other; on a phone, where they would stand below each other, one. */
const columnsFor = (trace: Trace): number[] => (matchMedia("(max-width: 760px)").matches ? threeOf(trace.layers).slice(0, 1) : threeOf(trace.layers));

/** Arrow keys walk through the text, wherever the focus is not in a field. */
function useWalk(trace: Trace, setToken: (change: (old: number | null) => number | null) => void): void {
  useKeys("input, select, textarea", (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    setToken((old) => (old === null ? 0 : Math.min(trace.tokens.length - 1, Math.max(0, old + move))));
  });
}

interface ReadingProps {
  run: Run;
  trace: Trace;
  all: readonly Trace[];
  index: number;
  onChoose: (index: number) => void;
}

function Reading({ run, trace, all, index, onChoose }: ReadingProps) {
  const [columns, setColumns] = useState<readonly number[]>(() => columnsFor(trace));
  const [token, setToken] = useState<number | null>(trace.num_prompt_tokens);
  const [picked, setPicked] = useState<Picked | null>(null);
  const [chosenBy, setBy] = useState<ColourTokensBy | null>(null);
  // Before the paint: what a reader chooses as soon as the text shows is not undone.
  useLayoutEffect(() => setToken(Math.min(trace.num_prompt_tokens, trace.tokens.length - 1)), [trace]);
  useLayoutEffect(() => {
    setColumns(columnsFor(trace));
    setPicked(null);
  }, [run.id, trace.layers.join()]);
  const hasGuilds = (run.guilds ?? []).some((layer) => layer.guilds.length > 0);
  const by = chosenBy ?? (hasGuilds ? "guild" : "experts");
  useWalk(trace, setToken);
  return (
    <>
      <div class="toolbar">
        <Select
          label="Text"
          options={all.map((one, i) => ({ value: String(i), text: one.title || `${one.kind} at step ${whole(one.step)}` }))}
          value={String(index)}
          onChange={(value) => onChoose(Number(value))}
        />
        <Choice
          label="Colour by"
          options={[
            { value: "guild", text: "guild", disabled: !hasGuilds, hint: hasGuilds ? "The guild of the strongest expert; the seven largest have colours" : "guilds are not known for this run" },
            { value: "experts", text: "experts", hint: "A strip under each token: its experts, as wide as their gates, in the colours of their guilds" },
            { value: "certainty", text: "certainty", hint: "The strongest gate, from even to alone" },
            { value: "word_class", text: "word class", disabled: !trace.word_class.some((name) => name !== null) },
          ]}
          value={by}
          onChange={setBy}
        />
      </div>
      {trace.read_at_step !== trace.step && (
        <p class="note">Written at step {whole(trace.step)}; the experts shown are those of the checkpoint at step {whole(trace.read_at_step)}, which has read it again.</p>
      )}
      <div class="trace-columns">
        {columns.map((layer, i) => (
          <TraceColumn
            key={i} run={run} trace={trace} layer={layer} by={by} token={token} onToken={setToken} picked={picked} onPick={setPicked} guilds={guildsOf(run, layer)}
            onLayer={(next) => setColumns(columns.map((old, j) => (j === i ? next : old)))}
          />
        ))}
      </div>
      <p class="caption">
        Hover a token for its experts; click an expert or a guild to light up all that it read. Arrow keys walk through the text. The prompt is underlined.
        {token !== null && <> Token {token + 1} of {trace.tokens.length}: “{visible(trace.tokens[token] ?? "")}”{trace.word_class[token] ? `, ${trace.word_class[token].replaceAll("_", " ")}` : ""}.</>}
      </p>
      {picked && (
        <Section title={`Everything that ${picked.kind} ${picked.id} read in layer ${picked.layer}`}>
          <Concordance run={run} traces={all} picked={picked} />
        </Section>
      )}
    </>
  );
}
