// Generations of experts: who was added when and for what, and what share of each experience the grown experts took over.
import { viridis } from "../design/colours";
import { counted, fixed, short, whole } from "../format";
import { Figure, Section } from "../parts/Figure";
import { RampLegend } from "../parts/Legend";
import { Matrix } from "../parts/Matrix";
import type { GrownGeneration, Run, Study, StudyLearner } from "../schema";

interface GrowthProps {
  study: Study;
  colour: (learner: StudyLearner) => string;
}

/** The learners of a study that grow; nothing where none does. */
export function Generations({ study, colour }: GrowthProps) {
  const growing = study.learners.filter((learner) => learner.generations.length > 0);
  if (!growing.length) return null;
  return (
    <Section title="Generations of experts" note="When a learner that grows added experts along the stream, with the first seed, and which share of each experience's tokens every expert serves at the end, mean over seeds. Old experts never change: what an experience keeps, it keeps for good.">
      {growing.map((learner) => (
        <div key={learner.name} class="generations" data-testid={`generations-${learner.name}`}>
          <Figure title={`${learner.name}: ${counted(learner.generations.length, "generation")}`} aside={<i class="dot" style={{ background: colour(learner) }} />} reading="A mark is a generation, at its place in the stream. The learner is not told where an experience begins.">
            <Timeline study={study} learner={learner} colour={colour(learner)} />
            <BornTable study={study} learner={learner} />
          </Figure>
          {learner.served.length > 0 && <Served study={study} learner={learner} />}
        </div>
      ))}
    </Section>
  );
}

/** The stream as a bar, experience by experience, with a mark for every generation. */
function Timeline({ study, learner, colour }: { study: Study; learner: StudyLearner; colour: string }) {
  const first = study.experiences.length - study.learned.length;
  const place = (experience: number, token: number) => ((experience - first + Math.min(0.999, token / (study.tokens_per_experience || 1))) / study.learned.length) * 100;
  return (
    <div class="timeline" role="img" aria-label={learner.generations.map((one) => `${one.name} in ${study.experiences[one.at_experience]} after ${whole(one.at_token)} tokens`).join("; ")}>
      <div class="stretches">{study.learned.map((name) => <span key={name}>{name}</span>)}</div>
      {learner.generations.map((one, i) => (
        <i key={one.name} class="birth" style={{ left: `${place(one.at_experience, one.at_token)}%`, background: colour }} title={`${one.name}: in ${study.experiences[one.at_experience]}, after ${whole(one.at_token)} tokens of it`}><b>{i + 1}</b></i>
      ))}
    </div>
  );
}

function BornTable({ study, learner }: { study: Study; learner: StudyLearner }) {
  return (
    <div class="scroll below">
      <table class="numbers">
        <caption class="unseen">Generations of {learner.name}</caption>
        <thead><tr><th scope="col">generation</th><th scope="col">for</th><th scope="col" title="Tokens of the experience that were read before">after tokens</th><th scope="col" title="The expert that it began as a copy of">began as</th><th scope="col">parameters</th><th scope="col">bytes</th></tr></thead>
        <tbody>
          {learner.generations.map((one, i) => (
            <tr key={one.name}>
              <th scope="row">{i + 1} {one.name}</th>
              <td>{study.experiences[one.at_experience] ?? "–"}</td>
              <td>{whole(one.at_token)}</td>
              <td>{one.start_from || "–"}</td>
              <td>{whole(one.parameters)}</td>
              <td>{short(one.bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Served({ study, learner }: { study: Study; learner: StudyLearner }) {
  const own = new Map(learner.generations.map((one) => [one.name, one.at_experience]));
  const numbers = new Map(learner.generations.map((one, i) => [one.name, `${i + 1}`])); // as in the stream; names are too long for columns
  return (
    <Figure title="What each expert took over" aside={<RampLegend ramp={(share) => viridis(share)} low="0 %" high="100 % of the tokens" label="share" />} reading="Share of the tokens of an experience (row) that an expert (column: the base, then generations by number) serves. Framed: the expert that was grown for it.">
      <Matrix
        caption={`${learner.name}: percentage of the tokens of each experience by expert`}
        corner="text" rows={study.experiences} columns={learner.served_by.map((name) => numbers.get(name) ?? name)} values={learner.served.map((row) => row.map((share) => 100 * share))} digits={0} ramp={(value) => viridis(value / 100)}
        marked={(row, column) => own.get(learner.served_by[column] ?? "") === row} markedNote="grown for it" between="of"
      />
    </Figure>
  );
}

/** The generations that were added to a trained run. */
export function GrownRun({ run }: { run: Run }) {
  if (!run.growth.length) return null;
  const total = run.growth.reduce((sum, one) => sum + one.num_parameters, 0);
  return (
    <Section title="Generations of experts" note={`Experts that were added after training, each trained on one text and then frozen: ${counted(run.growth.length, "generation")}, ${whole(total)} parameters. Loss in nats per token, before and after the growth.`}>
      <div class="scroll">
        <table class="numbers" data-testid="growth">
          <caption class="unseen">Generations of {run.name}, oldest first</caption>
          <thead><tr><th scope="col">generation</th><th scope="col">text</th><th scope="col">experts</th><th scope="col">parameters</th><th scope="col">tokens</th><th scope="col">began as</th><th scope="col">loss, new text</th><th scope="col">change</th><th scope="col">loss, old text</th><th scope="col">change</th></tr></thead>
          <tbody>{run.growth.map((one, i) => <GrownRow key={one.name} one={one} place={i + 1} />)}</tbody>
        </table>
      </div>
    </Section>
  );
}

function GrownRow({ one, place }: { one: GrownGeneration; place: number }) {
  const pair = (before: number | null, after: number | null) => (before == null && after == null ? "–" : `${fixed(before, 3)} → ${fixed(after, 3)}`);
  const change = (before: number | null, after: number | null) => {
    if (before == null || after == null) return "–";
    const by = after - before;
    return `${by > 0 ? "+" : by < 0 ? "−" : ""}${fixed(Math.abs(by), 4)}`;
  };
  return (
    <tr>
      <th scope="row">{place} {one.name}</th>
      <td>{one.text.split("/").pop() || "–"}</td>
      <td>{whole(one.num_experts)}</td>
      <td>{whole(one.num_parameters)}</td>
      <td>{short(one.num_tokens)}</td>
      <td>{one.start_from || "–"}</td>
      <td>{pair(one.new_before, one.new_after)}</td>
      <td>{change(one.new_before, one.new_after)}</td>
      <td>{pair(one.old_before, one.old_after)}</td>
      <td>{change(one.old_before, one.old_after)}</td>
    </tr>
  );
}
