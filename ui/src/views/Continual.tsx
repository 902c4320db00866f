// What a stream of experiences did to each learner: measures with intervals, the matrix of losses, the loss along the stream.
import { useState } from "preact/hooks";
import { ofRun, viridis, type Rgb } from "../design/colours";
import { isDark } from "../design/theme";
import { capital, counted, fixed, listed, mark, short, whole, type Value } from "../format";
import { overlap, signed, spread } from "../intervals";
import { Choice, Select } from "../parts/Choice";
import { Figure, Lead, Missing, Section } from "../parts/Figure";
import { Forest } from "../parts/Forest";
import { RampLegend } from "../parts/Legend";
import { Matrix } from "../parts/Matrix";
import { Plot } from "../parts/Plot";
import { Toggles } from "../parts/Toggles";
import { ValueChart } from "../parts/ValueChart";
import type { Study, StudyLearner } from "../schema";
import { Generations } from "./Generations";
import { Meanings } from "./SweepTable";

/** Training on everything at once: no learner of a stream, but what one could hope for. */
const BOUND = "joint";

interface PartProps {
  study: Study;
  colour: (learner: StudyLearner) => string;
}

export function Continual({ study }: { study: Study }) {
  if (study.problem !== null) {
    return (
      <>
        <Lead eyebrow={<Eyebrow study={study} />}>This study cannot be shown.</Lead>
        <Missing title={study.path}>{study.problem}</Missing>
      </>
    );
  }
  const dark = isDark.value;
  const colour = (learner: StudyLearner) => ofRun(study.learners.indexOf(learner), dark);
  return (
    <>
      <Lead eyebrow={<Eyebrow study={study} />}>{sentence(study)}</Lead>
      <Learners study={study} colour={colour} />
      <Matrices study={study} colour={colour} />
      <Generations study={study} colour={colour} />
      <Stream study={study} colour={colour} />
      <Rates study={study} colour={colour} />
    </>
  );
}

function Eyebrow({ study }: { study: Study }) {
  const seeds = study.learners[0]?.seeds ?? [];
  const words = [study.scale && `${study.scale} scale`, study.experiences.join(" > "), study.tokens_per_experience > 0 && `${short(study.tokens_per_experience)} tokens each`, seeds.length > 0 && counted(seeds.length, "seed")];
  return (
    <>
      <b>{study.name}</b>
      <span class="status">continual learning</span>
      {words.filter((word) => typeof word === "string" && word).join(" · ")}
    </>
  );
}

/** Who ends lowest, who forgets least, and how far the bound is. */
function sentence(study: Study): string {
  const own = study.learners.filter((learner) => learner.name !== BOUND);
  const bound = study.learners.find((learner) => learner.name === BOUND);
  const all = own.length ? own : study.learners;
  const lowest = (name: string) => all.reduce((a, b) => (b.figures[name]!.mean! < a.figures[name]!.mean! ? b : a));
  const [best, keeper] = [lowest("average_loss"), lowest("final_forgetting")];
  const [loss, kept] = [best.figures["average_loss"]!, keeper.figures["final_forgetting"]!];
  const against = bound && own.length ? ` (${BOUND}, the bound, at ${fixed(bound.figures["average_loss"]!.mean, 3)})` : "";
  const near = all.filter((one) => one !== best && loss.low != null && overlap(one.figures["average_loss"], loss)).length;
  const doubt = loss.low == null ? ", with one seed" : near ? `; seeds may explain its lead over ${counted(near, "other")}` : "";
  const ends = `After ${counted(study.experiences.length, "experience")} ${best.name} has the lowest loss, ${spread(loss, 3)} nats per token${against}${doubt}.`;
  const untuned = study.learners.filter((one) => one.tuning != null && one.tuning.standing !== "tuned").map((one) => one.name);
  const open = untuned.length ? ` Untuned: ${listed(untuned)}.` : "";
  return `${ends} ${best === keeper ? "It also" : keeper.name} forgets least, ${signed(kept, 3)}.${open}`;
}

/** The learning rate, and a word where its search has not settled. */
const rateOf = ({ learning_rate, tuning }: StudyLearner): string => (learning_rate == null ? "–" : `${Number(learning_rate.toPrecision(3))}${tuning && tuning.standing !== "tuned" ? ` (${tuning.standing})` : ""}`);

/** At which rate the bases were trained. */
function basesSentence(study: Study): string {
  const words = Object.entries(study.bases).map(([name, one]) => `${name} ${one.chosen} (${one.standing})`);
  return words.length ? ` Learning rate of the bases: ${listed(words)}.` : "";
}

/** Average loss against the learning rate, where the study has searched it. */
function Rates({ study, colour }: PartProps) {
  const [off, setOff] = useState<ReadonlySet<string>>(new Set());
  const chart = study.tuning;
  if (chart == null) return null;
  const searched = study.learners.filter((learner) => chart.lines.some((line) => line.name === learner.name));
  const lines = searched.flatMap((learner) => {
    const line = chart.lines.find((one) => one.name === learner.name);
    return line && !off.has(learner.name) ? [{ ...line, colour: colour(learner) }] : [];
  });
  const title = "Average loss against learning rate";
  return (
    <Section title="Tuning" note="Each learner runs at its own best learning rate. It was searched on documents held out from the training text and with another random seed, which are not used for the comparison.">
      <Figure title={title} reading="A ring marks the chosen rate. An arrow at the top is a run beyond the axis, a cross one that diverged.">
        <Toggles label="Learners with a search" entries={searched.map((learner) => ({ name: learner.name, colour: colour(learner), hint: `${learner.tuning?.chosen ?? ""} (${learner.tuning?.standing ?? ""})` }))} off={off} onChange={setOff} />
        <ValueChart title={title} lines={lines} xLabel={chart.x_label} yLabel={chart.y_label} log={chart.log} labels={chart.labels} />
      </Figure>
    </Section>
  );
}

function Learners({ study, colour }: PartProps) {
  const [name, setName] = useState("average_loss");
  const measure = study.measures.find((one) => one.name === name) ?? study.measures[0]!;
  const rows = study.learners.flatMap((learner) => {
    const interval = learner.figures[measure.name];
    return interval?.mean == null ? [] : [{ label: learner.name, colour: colour(learner), interval, seeds: learner.seeds }];
  });
  const isAroundZero = !measure.name.endsWith("loss");
  const hasCosts = study.learners.some((learner) => learner.bytes_added != null);
  return (
    <Section title="Learner by learner" note="The large dot is the mean over seeds, the bar its 95 % interval, small dots are single seeds. An interval that ends in a fade goes on beyond the axis.">
      <div class="toolbar">
        <Select label="Measure" options={study.measures.map((one) => ({ value: one.name, text: one.title }))} value={measure.name} onChange={setName} />
      </div>
      <Figure title={capital(measure.title)} reading={`${capital(measure.meaning)}.`}>
        <Forest title={capital(measure.title)} rows={rows} digits={measure.digits} unit="nats" isDifference={isAroundZero} />
      </Figure>
      <div class="scroll below">
        <table class="numbers" data-testid="learners">
          <caption class="unseen">Learners of {study.name}: mean and half of the 95 % interval over seeds, in nats per token</caption>
          <thead><tr><th scope="col">learner</th><th scope="col" title="Learning rate; of a tuned learner the best of its search">rate</th><th scope="col" title="Parameters that a gradient moves">trained</th>{hasCosts && <><th scope="col" title="Parameters beyond those of the base">added</th><th scope="col" title="To be stored after the stream beyond the base: changed and new weights, kept text, importance of weights">bytes</th><th scope="col" title="Processor time of one run, mean over seeds">CPU</th></>}{study.measures.map((one) => <th key={one.name} scope="col" title={one.meaning}>{one.title}</th>)}</tr></thead>
          <tbody>
            {study.learners.map((learner) => (
              <tr key={learner.name}>
                <th scope="row" title={learner.about}><i class="dot" style={{ background: colour(learner) }} />{learner.name}</th>
                <td title={learner.tuning ? `${learner.tuning.standing}, ${counted(Number(learner.tuning.num_runs.toFixed(2)), "run")}` : "not tuned"}>{rateOf(learner)}</td>
                <td>{whole(learner.num_trainable)}</td>
                {hasCosts && <><td>{whole(learner.parameters_added)}</td><td>{short(learner.bytes_added)}</td><td>{learner.cpu_seconds == null ? "–" : `${whole(learner.cpu_seconds)} s`}</td></>}
                {study.measures.map((one) => <td key={one.name}>{spread(learner.figures[one.name], one.digits).replace(/^-/, "−")}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="caption">Nats per token. Trained: parameters that a gradient moves; 0 is learning without any.{basesSentence(study)}</p>
      <Meanings measures={study.measures} />
      <details>
        <summary>What the learners are</summary>
        <dl class="facts">{study.learners.map((learner) => <div key={learner.name}><dt>{learner.name}</dt><dd>{learner.about || "–"}</dd></div>)}</dl>
      </details>
    </Section>
  );
}

type By = "loss" | "change";

/** Blue for what was gained, vermilion for what was lost, pale around zero. */
function diverging(share: number): Rgb {
  const end: Rgb = share < 0 ? [0, 114, 178] : [213, 94, 0];
  const pale: Rgb = [244, 242, 236];
  const part = Math.min(1, Math.abs(share)) ** 0.8;
  return pale.map((value, i) => Math.round(value + part * (end[i]! - value))) as unknown as Rgb;
}

/** Loss, or its change since the experience itself was learned: below the diagonal alone. */
const shownValues = (matrix: readonly (readonly number[])[], by: By): Value[][] =>
  matrix.map((row, i) => row.map((loss, j) => (by === "loss" ? loss : i > j ? loss - matrix[j]![j]! : null)));

function Matrices({ study, colour }: PartProps) {
  const [by, setBy] = useState<By>("loss");
  const known = study.learners.flatMap((learner) => shownValues(learner.matrix, by).flat()).filter((value): value is number => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const reach = Math.max(...known.map(Math.abs)) || 1;
  const ramp = (value: number): Rgb => (by === "loss" ? viridis(1 - (value - low) / (high - low || 1)) : diverging(value / reach));
  return (
    <Section
      title="What each experience did to the others"
      note={by === "loss" ? "Loss on the experience of a column after that of a row, mean over seeds. Framed: what has just been learned. Left of the frame lies the past, right of it what is still to come. All learners share the colours." : "How much the loss on an experience has changed since it was learned itself: above 0 it was forgotten, below 0 later ones helped."}
    >
      <div class="toolbar">
        <Choice label="Show" options={[{ value: "loss" as By, text: "loss" }, { value: "change" as By, text: "change since it was learned" }]} value={by} onChange={setBy} />
        {by === "loss" ? <RampLegend ramp={(share) => viridis(1 - share)} low={`${mark(Number(low.toPrecision(3)))} nats`} high={`${mark(Number(high.toPrecision(3)))} nats`} label="loss" /> : <RampLegend ramp={(share) => diverging(2 * share - 1)} low={`−${mark(Number(reach.toPrecision(2)))} better`} high={`+${mark(Number(reach.toPrecision(2)))} nats, forgotten`} label="change" />}
      </div>
      <div class="matrices" style={{ gridTemplateColumns: `repeat(auto-fill, minmax(min(100%, ${Math.max(340, 100 + 56 * study.experiences.length)}px), 1fr))` }}>
        {study.learners.map((learner) => (
          <Figure key={learner.name} title={learner.name} aside={<i class="dot" style={{ background: colour(learner) }} />}>
            <Matrix
              caption={`${learner.name}: ${by === "loss" ? "loss" : "change of loss since it was learned"} on each experience after each, nats per token`}
              corner="after" rows={study.rows} columns={study.experiences} values={shownValues(learner.matrix, by)} digits={by === "loss" ? 2 : 3} ramp={ramp} sign={by === "change"}
              marked={(row, column) => by === "loss" && row === column} faint={(row, column) => by === "loss" && column > row} markedNote="just learned"
            />
          </Figure>
        ))}
      </div>
    </Section>
  );
}

function Stream({ study, colour }: PartProps) {
  const [off, setOff] = useState<ReadonlySet<string>>(new Set());
  const curves = study.learners
    .filter((learner) => !off.has(learner.name))
    .map((learner) => ({
      label: learner.name, colour: colour(learner), x: learner.online.tokens, y: learner.online.mean, width: 2,
      ...(learner.seeds.length > 1 ? { band: { low: learner.online.low, high: learner.online.high } } : {}),
    })); // prettier-ignore
  const borders = study.learned.map((label, i) => ({ at: i * study.tokens_per_experience, label }));
  const hasBound = study.learners.some((learner) => learner.name === BOUND);
  return (
    <Section
      title="Along the stream"
      note={`Loss on each stretch of the stream before it was learned from. A line is the mean over seeds, the band around it reaches from the lowest to the highest of them; dotted rules are the borders between experiences.${hasBound ? ` ${capital(BOUND)} reads all of them mixed, from the start.` : ""}`}
    >
      <Figure title="Online loss" reading="A learner that takes up a new kind of text falls fast after each border; one that does not stays level.">
        <Toggles label="Learners to draw" entries={study.learners.map((learner) => ({ name: learner.name, colour: colour(learner), hint: learner.about }))} off={off} onChange={setOff} />
        <Plot title={`Online loss along the stream of ${study.name}`} curves={curves} xLabel="tokens of the stream" yLabel="loss, nats" height={360} borders={borders} xLeast={0} xMost={study.learned.length * study.tokens_per_experience} />
      </Figure>
    </Section>
  );
}
