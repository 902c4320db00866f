// The searches of a tuned sweep: loss against the setting, the chosen value of each arm, and which arms are not tuned.
import { useState } from "preact/hooks";
import { listed } from "../format";
import { Figure, Section } from "../parts/Figure";
import { Toggles } from "../parts/Toggles";
import { ValueChart } from "../parts/ValueChart";
import type { Arm, Sweep } from "../schema";

/** Whether a sweep tunes, and the search of an arm has not settled. */
export const isUntuned = (arm: Arm | undefined): boolean => arm?.tuning != null && arm.tuning.standing !== "tuned";

/** Whether a difference decides nothing, because the arm or its base is untuned. */
export const isOpen = (arm: Arm, sweep: Sweep): boolean => isUntuned(arm) || isUntuned(sweep.arms.find((one) => one.name === arm.base));

/** What has to be said on top of the view: whose best value is not known. */
export function untunedSentence(sweep: Sweep): string {
  const names = sweep.arms.filter(isUntuned).map((arm) => arm.name);
  return names.length && sweep.tuning ? ` Untuned: ${listed(names)}, whose best ${sweep.tuning.x_label} is not known.` : "";
}

interface TuningProps {
  sweep: Sweep;
  colour: (arm: Arm) => string;
  dash: (place: number) => readonly number[];
}

export function Tuning({ sweep, colour, dash }: TuningProps) {
  const [off, setOff] = useState<ReadonlySet<string>>(new Set());
  const chart = sweep.tuning;
  if (chart == null) return null;
  const arms = sweep.arms.filter((arm) => chart.lines.some((line) => line.name === arm.name));
  const lines = arms.flatMap((arm) => {
    const line = chart.lines.find((one) => one.name === arm.name);
    return line && !off.has(arm.name) ? [{ ...line, colour: colour(arm), dash: dash(sweep.arms.indexOf(arm)) }] : [];
  });
  const title = `Loss against ${chart.x_label}`;
  const problems = arms.filter((arm) => arm.tuning?.problem);
  return (
    <Section title="Tuning" note={`Each arm is trained at its own best ${chart.x_label}. It was searched on documents held out from the training text and with another random seed, which are not used for the comparison.`}>
      <Figure title={title} reading="A ring marks the chosen value. Small faint points are runs that were stopped early, at their last loss; an arrow at the top is one beyond the axis, a cross one that diverged.">
        <Toggles label="Arms to draw" entries={arms.map((arm) => ({ name: arm.name, colour: colour(arm), hint: hint(arm) }))} off={off} onChange={setOff} />
        <ValueChart title={title} lines={lines} xLabel={chart.x_label} yLabel={chart.y_label} log={chart.log} labels={chart.labels} />
      </Figure>
      {problems.map((arm) => <p key={arm.name} class="fault">The search of {arm.name} failed: {arm.tuning!.problem}</p>)}
    </Section>
  );
}

const hint = ({ tuning }: Arm): string => (tuning ? `${tuning.chosen} (${tuning.standing}, ${Number(tuning.num_runs.toFixed(2))} runs)`.trim() : "");
