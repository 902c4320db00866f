// What was trained and how it went: the figures by which a run is known, its curves, its warnings, its settings.
import { useState } from "preact/hooks";
import { isDark, token } from "../design/theme";
import { capital, counted, fixed, percent, short, whole, type Value } from "../format";
import { Choice } from "../parts/Choice";
import { Figure, Lead, Section } from "../parts/Figure";
import { Legend } from "../parts/Legend";
import { Plot, type Curve } from "../parts/Plot";
import { smoothed } from "../smooth";
import type { Run } from "../schema";
import { Beside } from "./Beside";
import { GrownRun } from "./Generations";
import { Settings } from "./Settings";

type Axis = "step" | "tokens";

export function Eyebrow({ run }: { run: Run }) {
  const words = [run.preset && `preset ${run.preset}`, run.scale && `${run.scale} scale`, run.seed !== null && `seed ${run.seed}`];
  return (
    <>
      <b>{run.name}</b>
      <span class={`status ${run.status}`}>{run.status}</span>
      {words.filter((word) => typeof word === "string").join(" · ")}
    </>
  );
}

export function Overview({ run }: { run: Run }) {
  const [axis, setAxis] = useState<Axis>("step");
  return (
    <>
      <Lead eyebrow={<Eyebrow run={run} />} note={run.judged}>
        {summary(run)} <span class="quiet">{capital(run.verdict)}</span>
      </Lead>
      <Figures run={run} />
      <Section title="How it learned">
        <div class="toolbar">
          <Choice
            label="Along"
            options={[{ value: "step", text: "steps" }, { value: "tokens", text: "tokens read" }]}
            value={axis}
            onChange={setAxis}
          />
        </div>
        <Learning run={run} axis={axis} />
      </Section>
      <GrownRun run={run} />
      <Beside run={run} />
      <Warnings run={run} />
      <Settings run={run} />
    </>
  );
}

/** What was trained, on what, how far: one sentence. */
function summary(run: Run): string {
  const block =
    run.feed_forward === "some" || run.feed_forward === "moe"
      ? `${counted(run.num_layers, "layer")} of ${whole(run.num_experts)} experts, ${run.top_k} per token`
      : `${counted(run.num_layers, "layer")}, ${run.feed_forward === "none" ? "no feed-forward block" : `${(run.feed_forward ?? "").replace("_", " ")} feed-forward`}`;
  const { evaluation, train } = run.curves;
  const last = evaluation.step.length - 1;
  const perplexity = evaluation.val_ppl[last];
  const step = lastOf(train.step);
  if (perplexity != null) {
    const goesOn = run.status === "running" && step != null && step > evaluation.step[last]! ? ` Training goes on, at step ${whole(step)}.` : "";
    return `${block}, reached a validation perplexity of ${fixed(perplexity, perplexity < 100 ? 2 : 1)} after ${short(evaluation.tokens[last])} training tokens.${goesOn}`;
  }
  return step == null ? `${block}; no step has been trained yet.` : `${block}, trained on ${short(lastOf(train.tokens))} tokens so far and not evaluated yet.`;
}

function Stat({ name, value, unit, hint }: { name: string; value: string; unit?: string; hint?: string }) {
  return (
    <div class="stat" title={hint}>
      <dt>{name}</dt>
      <dd>
        {value}
        {unit && <small> {unit}</small>}
      </dd>
    </div>
  );
}

function Figures({ run }: { run: Run }) {
  const { final, parameters, data } = run;
  const measured = lastOf(run.curves.evaluation.val_tokens);
  const over = measured == null ? "" : `, over ${whole(measured)} tokens of it`;
  const pace = final?.tokens_per_second;
  return (
    <section class="figures" aria-label="Figures">
      <dl class="stats">
        <Stat name="val_ppl" value={fixed(final?.val_ppl, 2)} hint={`Perplexity of validation text${over}; tokens that carry meaning only`} />
        <Stat name="bits per byte" value={fixed(final?.bits_per_byte, 4)} hint="The only figure that compares across tokenizers" />
        <Stat name="val_loss" value={fixed(final?.val_loss, 4)} unit="nats" hint={`Loss on validation text${over}`} />
        <Stat name="speed" value={whole(pace)} unit="tokens/s" hint="Median of the last 50 steps" />
        <Stat
          name="steps"
          value={whole(final?.step ?? lastOf(run.curves.train.step))}
          {...(run.num_steps ? { unit: `of ${whole(run.num_steps)}` } : {})}
        />
        {final?.ppl_with_padding != null && (
          <Stat name="ppl_with_padding" value={fixed(final.ppl_with_padding, 2)} unit="padding counted" hint="Comparable only with v1 to v4 of the reports, never with val_ppl" />
        )}
      </dl>
      {parameters && <ParameterBar run={run} />}
      {data && (
        <p class="note">
          Trained on <b>{sourceName(data.source)}</b>: {counted(data.train_documents, "document")}, {short(data.train_tokens)} tokens,{" "}
          {short(data.train_bytes)}B; validated on {counted(data.val_documents, "document")}. Vocabulary of {whole(data.vocab_size)}.
        </p>
      )}
    </section>
  );
}

const sourceName = (source: string): string => source.split("/").pop() || source;

/** Frozen, trained and active parameters, to scale. */
function ParameterBar({ run }: { run: Run }) {
  const { total, trainable, frozen, active, flops_per_token } = run.parameters!;
  return (
    <div class="parameters">
      <div class="parameter-bar" role="img" aria-label={`${whole(total)} parameters, ${whole(trainable)} trained, ${whole(active)} active per token`}>
        <i class="trained" style={{ width: `${(100 * trainable) / total}%` }} />
        <i class="frozen" style={{ width: `${(100 * frozen) / total}%` }} />
        <i class="active" style={{ width: `${(100 * active) / total}%` }} />
      </div>
      <p>
        <span><b>{short(total)}</b> parameters</span>
        <span><i class="dot trained" /><b>{short(trainable)}</b> trained ({percent(trainable / total, 1)})</span>
        <span><i class="dot frozen" /><b>{short(frozen)}</b> frozen</span>
        <span><i class="dot active" /><b>{short(active)}</b> active per token ({percent(active / total, 1)})</span>
        <span><b>{short(flops_per_token)}</b> FLOPs per token</span>
      </p>
    </div>
  );
}

export const lastOf = (values: readonly Value[]): Value => {
  for (let i = values.length - 1; i >= 0; i--) if (values[i] != null) return values[i];
  return null;
};

function Learning({ run, axis }: { run: Run; axis: Axis }) {
  const dark = isDark.value;
  const accent = token("accent");
  const second = dark ? "#E69F00" : "#D55E00";
  const { train, evaluation, timing } = run.curves;
  const xLabel = axis === "step" ? "step" : "tokens read";
  const name = `overview-${axis}`;
  const loss: Curve[] = [
    { label: "each batch", colour: token("faint"), x: train[axis], y: train.loss, width: 1, alpha: 0.55 },
    { label: "training, smoothed", colour: accent, x: train[axis], y: smoothed(train.loss), width: 2 },
    { label: "validation", colour: second, x: evaluation[axis], y: evaluation.val_loss, points: true },
  ];
  const one = (label: string, y: readonly Value[], points = true): Curve[] => [{ label, colour: accent, x: evaluation[axis], y, points }];
  const paddedValues = evaluation.ppl_with_padding.filter((value) => value != null);
  const tokenOf = new Map(train.step.map((step, i) => [step, train.tokens[i]!]));
  const timeX = axis === "step" ? timing.step : timing.step.map((step) => tokenOf.get(step) ?? step);
  return (
    <div class="grid">
      <Figure
        wide
        title="Loss"
        reading={lossReading(run)}
        aside={<Legend entries={[{ label: "training", colour: accent }, { label: "validation", colour: second }]} />}
      >
        <Plot title="Loss" curves={loss} xLabel={xLabel} yLabel="loss, nats" height={300} together={name} />
      </Figure>
      <Figure title="Validation perplexity" reading="Over tokens that carry meaning: how many words the model hesitates between. Logarithmic.">
        <Plot title="Validation perplexity" curves={one("val_ppl", evaluation.val_ppl)} log xLabel={xLabel} yLabel="val_ppl" together={name} />
      </Figure>
      <Figure title="Bits per byte" reading="The same quality in a unit that compares across tokenizers; lower is better.">
        <Plot title="Bits per byte" curves={one("bits per byte", evaluation.bits_per_byte)} xLabel={xLabel} yLabel="bits per byte" together={name} />
      </Figure>
      <Figure title="Speed" reading="Tokens trained per second. Dips are evaluations, checkpoints, or a busy machine.">
        <Plot
          title="Speed"
          curves={[{ label: "tokens/s", colour: accent, x: timeX, y: timing.tokens_per_second, width: 1.25 }]}
          xLabel={xLabel} yLabel="tokens/s" least={0} format={(v) => whole(v)} together={name}
        />
      </Figure>
      <Figure title="Gradient norm" reading="Before clipping. Spikes mark batches that shook the model.">
        <Plot title="Gradient norm" curves={[{ label: "norm", colour: accent, x: train[axis], y: train.grad_norm, width: 1.25 }]} log xLabel={xLabel} yLabel="gradient norm" together={name} />
      </Figure>
      {paddedValues.length > 0 && (
        <Figure title="ppl_with_padding: padding counted" reading="Apart, because it measures something else: padding is easy to predict, so this is far lower. For comparison with v1 to v4 of the reports only.">
          {paddedValues.length > 1 ? (
            <Plot title="ppl_with_padding, padding counted" curves={one("ppl_with_padding", evaluation.ppl_with_padding)} log xLabel={xLabel} yLabel="ppl_with_padding" together={name} />
          ) : (
            <p class="single">{fixed(paddedValues[0], 2)}<small>measured once, at the end</small></p>
          )}
        </Figure>
      )}
      <Figure title="Learning rate" reading="The schedule that was followed.">
        <Plot title="Learning rate" curves={[{ label: "rate", colour: accent, x: train[axis], y: train.learning_rate }]} xLabel={xLabel} yLabel="learning rate" least={0} together={name} />
      </Figure>
    </div>
  );
}

/** Training and validation may count different tokens, and then only their shapes compare. */
function lossReading(run: Run): string {
  const counts = run.config.some((setting) => setting.field === "data.padding_in_loss" && setting.value === "true");
  const pads = run.config.some((setting) => setting.field === "data.layout" && setting.value === "pad");
  return counts && pads
    ? "Nats per token; lower is better. Training counts padding here, which is easy to predict; validation does not: compare shapes, not heights."
    : "Nats per token; lower is better. Where validation leaves training behind, the model has begun to remember.";
}

function Warnings({ run }: { run: Run }) {
  if (!run.warnings.length) return null;
  return (
    <Section title="What training noticed" note="The step at which each line was first crossed.">
      <ol class="warnings">
        {run.warnings.map((warning, i) => (
          <li key={i}>
            <span class="step">step {whole(warning.step)}</span>
            <span class="tag">{warning.kind}</span>
            <span>{capital(warning.sentence)}</span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

