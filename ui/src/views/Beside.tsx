// The published run behind ours, over the share of the run: loss, perplexity, and balance of the middle layer.
import { isDark, token } from "../design/theme";
import { percent, type Value } from "../format";
import { Figure, Section } from "../parts/Figure";
import { Legend } from "../parts/Legend";
import { Plot, type Curve } from "../parts/Plot";
import { smoothed } from "../smooth";
import type { Published, PublishedEpoch, Run } from "../schema";

type Measure = keyof PublishedEpoch;

export function Beside({ run }: { run: Run }) {
  const published = run.published;
  if (!published || !published.epochs.length) return null;
  const theirs = isDark.value ? "#B3BAC8" : "#6B7280";
  const second = isDark.value ? "#E69F00" : "#D55E00";
  const accent = token("accent");
  const { train, evaluation } = run.curves;
  const last = run.num_steps ?? train.step[train.step.length - 1] ?? 1;
  const shares = (steps: readonly number[]) => steps.map((step) => step / last);
  const behind = (name: Measure): Curve => ({
    label: `published ${name}`, colour: theirs, dash: [6, 4], width: 2,
    x: published.epochs.map((epoch) => epoch.share),
    y: published.epochs.map((epoch) => epoch[name] as Value),
  });
  const padded = published.with_padding;
  const perplexity = padded ? "ppl_with_padding" : "val_ppl";
  const training = run.balance?.training;
  const middle = Math.floor(run.num_layers / 2);
  const layer = (name: string, label: string, colour: string): Curve[] => {
    const y = training?.measures[name]?.[middle];
    return y ? [{ label, colour, x: shares(training!.steps), y, width: 1.5 }] : [];
  };
  // The usage of the rules counts padding where padding moves keys; then the other is measured beside it.
  const meaning = (name: "gini" | "entropy_bits"): Curve[] => {
    const without = layer(`training_${name}_without_padding`, "ours, meaning only", second);
    return without.length ? without : layer(name, padded ? "ours, meaning only" : "ours", padded ? second : accent);
  };
  const balance = (name: "gini" | "entropy_bits"): Curve[] => [
    behind(name),
    ...(padded ? layer(`training_${name}_with_padding`, "ours, padding counted", accent) : []),
    ...meaning(name),
  ];
  const has = (name: Measure) => published.epochs.some((epoch) => epoch[name] != null);
  const plot = { xLabel: "share of the run", xLeast: 0, xMost: 1, together: "beside" } as const;
  return (
    <Section title="Beside the published run" note={note(run, published)}>
      <div class="toolbar">
        <Legend entries={[{ label: "published (dashed)", colour: theirs }, { label: "ours", colour: accent }, ...(padded ? [{ label: "ours, meaning only", colour: second }] : [])]} />
      </div>
      <div class="grid">
        {has("train_loss") && (
          <Figure title="Training loss" reading={`Theirs is the mean of an epoch, at its end. ${padded ? "Padding counts in both." : "Padding is left out in both."}`}>
            <Plot title="Training loss, published and ours" curves={[behind("train_loss"), { label: "ours", colour: accent, x: shares(train.step), y: smoothed(train.loss), width: 2 }]} yLabel="loss, nats" {...plot} />
          </Figure>
        )}
        {has(perplexity) && (
          <Figure title={perplexity} reading={padded ? "Padding counts in both: not comparable with val_ppl." : "On tokens that carry meaning, in both."}>
            <Plot title={`${perplexity}, published and ours`} curves={[behind(perplexity), { label: "ours", colour: accent, x: shares(evaluation.step), y: evaluation[perplexity], points: true }]} log yLabel={perplexity} {...plot} />
          </Figure>
        )}
        {training && has("gini") && (
          <Figure title={`Gini of layer ${middle}, in training`} reading={padded ? "Of the usage in training. The reports count padding, so both ways of counting are drawn." : "Of the usage in training, padding left out."}>
            <Plot title="Gini, published and ours" curves={balance("gini")} yLabel="Gini" {...plot} />
          </Figure>
        )}
        {training && has("entropy_bits") && (
          <Figure title={`Entropy of layer ${middle}, in training`} reading="Bits, of the same usage.">
            <Plot title="Entropy, published and ours" curves={balance("entropy_bits")} yLabel="entropy, bits" {...plot} />
          </Figure>
        )}
      </div>
    </Section>
  );
}

function note(run: Run, published: Published): string {
  const size = run.parameters && published.total_millions ? run.parameters.total / (published.total_millions * 1e6) : null;
  const same = run.scale === "full" && size != null && Math.abs(size - 1) < 0.001;
  const scaled = same ? "" : ` Ours is of ${size == null ? "another size" : `${percent(size, size < 0.1 ? 1 : 0)} of its parameters`}: compare shapes, not heights.`;
  const words = published.note ? ` ${published.note}` : "";
  return `${published.preset}, ${published.title} (${published.source}).${scaled}${words}`;
}
