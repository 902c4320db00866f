// What a sweep found: its arms beside each other with intervals over seeds, how they learned, and the runs behind every number.
import { useState } from "preact/hooks";
import { ofRun } from "../design/colours";
import { isDark } from "../design/theme";
import { capital, counted, listed, type Value } from "../format";
import { excludesZero, overlap, spread } from "../intervals";
import { Choice, Select } from "../parts/Choice";
import { Figure, Lead, Missing, Section } from "../parts/Figure";
import { Forest, type ForestRow } from "../parts/Forest";
import { Plot, type Curve } from "../parts/Plot";
import { Toggles } from "../parts/Toggles";
import { smoothed } from "../smooth";
import type { Arm, Band, Sweep as SweepData } from "../schema";
import { ArmTable, DifferenceTable } from "./SweepTable";
import { isOpen, Tuning, untunedSentence } from "./SweepTuning";

/** Figures by which arms are ranked, the most comparable first. */
const QUALITY = ["bits_per_byte", "val_loss", "ppl_with_padding"] as const;
const CURVES = [
  { value: "val_loss", text: "validation loss", unit: "val_loss, nats" },
  { value: "bits_per_byte", text: "bits per byte", unit: "bits per byte" },
  { value: "loss", text: "training loss", unit: "loss, nats" },
  { value: "loss_with_padding", text: "loss with padding", unit: "loss_with_padding, nats" },
  { value: "training_gini", text: "Gini in training", unit: "Gini of the middle layer" },
  { value: "training_gini_with_padding", text: "Gini with padding", unit: "Gini of the middle layer, padding counted" },
  { value: "training_entropy_bits", text: "entropy in training", unit: "entropy of the middle layer, bits" },
  { value: "training_entropy_bits_with_padding", text: "entropy with padding", unit: "entropy of the middle layer, bits, padding counted" },
] as const;
type CurveName = (typeof CURVES)[number]["value"];
const DASHES = [[], [7, 4], [2, 3]];
/** Colours come round again after eight arms; dashes tell those apart. */
const isLong = (name: CurveName): boolean => name === "loss" || name.startsWith("training_");
const dashOf = (place: number): number[] => DASHES[Math.floor(place / 8) % DASHES.length]!;

export function Sweep({ sweep }: { sweep: SweepData }) {
  if (sweep.problem !== null) {
    return (
      <>
        <Lead eyebrow={<Eyebrow sweep={sweep} />}>This sweep cannot be shown.</Lead>
        <Missing title={sweep.path}>{sweep.problem}</Missing>
      </>
    );
  }
  const dark = isDark.value;
  const colour = (arm: Arm) => ofRun(sweep.arms.indexOf(arm), dark);
  return (
    <>
      <Lead eyebrow={<Eyebrow sweep={sweep} />}>{sentence(sweep) + untunedSentence(sweep)}</Lead>
      <Arms sweep={sweep} colour={colour} />
      <Section title="Every figure" note="Mean and half of the 95 % interval over seeds; published: the report's figure for the run at full size, not directly comparable with a smaller one.">
        <ArmTable sweep={sweep} colour={colour} />
      </Section>
      <Tuning sweep={sweep} colour={colour} dash={dashOf} />
      <Learning sweep={sweep} colour={colour} />
      <DifferenceTable sweep={sweep} colour={colour} />
    </>
  );
}

function Eyebrow({ sweep }: { sweep: SweepData }) {
  const seeds = sweep.seeds.length ? `seed${sweep.seeds.length > 1 ? "s" : ""} ${sweep.seeds.join(", ")}` : "";
  const settings = Object.entries(sweep.settings).map(([name, value]) => `${name} ${value}`);
  return (
    <>
      <b>{sweep.name}</b>
      <span class="status">sweep</span>
      {[sweep.title, sweep.scale && `${sweep.scale} scale`, seeds, ...settings].filter(Boolean).join(" · ")}
    </>
  );
}

/** Which arm is best, and whether seeds could explain it. */
function sentence(sweep: SweepData): string {
  const measure = QUALITY.map((name) => sweep.measures.find((one) => one.name === name)).find((one) => one !== undefined);
  const done = measure ? sweep.arms.filter((arm) => arm.figures[measure.name]?.mean != null) : [];
  if (!measure || !done.length) return `${counted(sweep.arms.length, "arm")}; no run has come to its end yet.`;
  const best = done.reduce((a, b) => (b.figures[measure.name]!.mean! < a.figures[measure.name]!.mean! ? b : a));
  const found = best.figures[measure.name]!;
  const said = `${best.name} has the lowest ${measure.title}: ${spread(found, measure.digits)}`;
  if (done.length === 1) return `One arm has finished runs: ${said}.`;
  if (found.low == null) return `Of ${counted(done.length, "arm")} ${said}, with one seed: how much of it is chance is not known.`;
  const near = done.filter((arm) => arm !== best && !differ(arm, best, measure.name)).map((arm) => arm.name);
  const doubt = near.length === 0 ? "all others are further off than seeds explain" : near.length === done.length - 1 ? "seeds may explain its lead over every other" : `seeds may explain its lead over ${listed(near)}`;
  return `Of ${counted(done.length, "arm")} ${said} over ${counted(found.num, "seed")}; ${doubt}.`;
}

/** Whether two arms differ: paired by seed if one is the other's base, else by intervals that do not overlap. */
function differ(a: Arm, b: Arm, name: string): boolean {
  const paired = a.base === b.name ? a.differences[name] : b.base === a.name ? b.differences[name] : undefined;
  return paired ? excludesZero(paired) : !overlap(a.figures[name], b.figures[name]);
}

type Shown = "figures" | "differences";

function Arms({ sweep, colour }: { sweep: SweepData; colour: (arm: Arm) => string }) {
  const [name, setName] = useState(QUALITY.find((one) => sweep.measures.some((measure) => measure.name === one)) ?? sweep.measures[0]?.name ?? "");
  const [kind, setKind] = useState<Shown>("figures");
  const measure = sweep.measures.find((one) => one.name === name);
  if (!measure) return null;
  const canDiffer = sweep.arms.some((arm) => Object.keys(arm.differences).length > 0);
  const shown: Shown = canDiffer ? kind : "figures";
  const rows = sweep.arms.flatMap((arm): ForestRow[] => {
    const interval = arm[shown][name];
    const base = sweep.arms.find((one) => one.name === arm.base);
    const seeds = shown === "figures" ? arm.seeds : arm.seeds.filter((seed) => base?.seeds.includes(seed));
    return interval?.mean == null ? [] : [{ label: shown === "figures" ? arm.name : `${arm.name} − ${arm.base}`, colour: colour(arm), interval, seeds, isOpen: isOpen(arm, sweep) }];
  });
  const title = `${capital(measure.title)}${shown === "figures" ? "" : ", difference from its base"}`;
  return (
    <Section title="Arm by arm" note={reading(shown)}>
      <div class="toolbar">
        <Select label="Measure" options={sweep.measures.map((one) => ({ value: one.name, text: one.title }))} value={name} onChange={setName} />
        {canDiffer && <Choice label="Show" options={[{ value: "figures" as Shown, text: "as measured" }, { value: "differences" as Shown, text: "difference from base" }]} value={shown} onChange={setKind} />}
      </div>
      <Figure title={title} reading={`${capital(measure.meaning)}.`}>
        {rows.length ? <Forest title={title} rows={rows} digits={measure.digits} unit={measure.title} isDifference={shown === "differences"} /> : <Missing title="No arm has it">The runs of these arms do not measure {measure.title}.</Missing>}
      </Figure>
    </Section>
  );
}

const reading = (shown: Shown): string =>
  shown === "figures"
    ? "The large dot is the mean, the bar its 95 % interval, small dots are single seeds. An interval that ends in a fade goes on beyond the axis; with two or three seeds it is wide."
    : "Arm minus its base, paired by random seed. A bar that does not cross the dashed zero is significant; its figure is bold.";

function Learning({ sweep, colour }: { sweep: SweepData; colour: (arm: Arm) => string }) {
  const has = (name: CurveName) => sweep.arms.some((arm) => arm.curves[name]);
  const [wanted, setWanted] = useState<CurveName>("val_loss");
  const [off, setOff] = useState<ReadonlySet<string>>(new Set());
  const options = CURVES.filter((one) => has(one.value));
  const current = options.find((one) => one.value === wanted) ?? options[0];
  if (!current) return null;
  const arms = sweep.arms.filter((arm) => arm.curves[current.value]);
  const shown = arms.filter((arm) => !off.has(arm.name));
  const behind = shown.flatMap((arm) => publishedOf(arm, current.value, colour(arm)));
  const curves = [...behind, ...shown.map((arm) => curveOf(arm, current.value, colour(arm), sweep.arms.indexOf(arm)))];
  return (
    <Section title="How they learned" note={`A line is the mean over an arm's seeds, the band around it reaches from the lowest to the highest of them.${behind.length ? PUBLISHED : ""}`}>
      <div class="toolbar">
        <Choice label="Curve" options={options.map(({ value, text }) => ({ value, text }))} value={current.value} onChange={setWanted} />
      </div>
      <Figure title={capital(current.text)} reading={READINGS[current.value]}>
        <Toggles label="Arms to draw" entries={arms.map((arm) => ({ name: arm.name, colour: colour(arm), hint: arm.title }))} off={off} onChange={setOff} />
        <Plot title={`${capital(current.text)} of the arms of ${sweep.name}`} curves={curves} xLabel="tokens read" yLabel={current.unit} height={340} />
      </Figure>
    </Section>
  );
}

const PUBLISHED = " Dots on a thin dashed line are the published run of the arm in its colour, epoch by epoch, measured alike, over the same share of its run. It is of full size: compare shapes, not heights.";
const EVALUATED = "The last point reads all of the validation text, those before it a part: it may lie apart.";
const USAGE = "Of the usage in training. 0 if all experts are used equally, near 1 if one has all usage.";
const BITS = "Of the usage in training; higher is more even.";
const READINGS: Record<CurveName, string> = {
  val_loss: EVALUATED, bits_per_byte: EVALUATED, loss_with_padding: EVALUATED, loss: "Smoothed; lower is better.",
  training_gini: USAGE, training_gini_with_padding: USAGE, training_entropy_bits: BITS, training_entropy_bits_with_padding: BITS,
}; // prettier-ignore

/** The published curve of an arm, along the tokens that ours read in the same share of its run. */
function publishedOf(arm: Arm, name: CurveName, colour: string): Curve[] {
  const found = arm.published_curves[name];
  const last = Math.max(...arm.curves[name]!.tokens);
  return found ? [{ label: `published ${arm.name}`, colour, x: found.share.map((share) => share * last), y: found.value, dash: [3, 4], width: 1, points: true }] : [];
}

function curveOf(arm: Arm, name: CurveName, colour: string, place: number): Curve {
  const found: Band = arm.curves[name]!;
  const drawn = (values: readonly Value[]): readonly Value[] => (name === "loss" ? smoothed(values) : values);
  const dash = dashOf(place);
  return {
    label: arm.name, colour, x: found.tokens, y: drawn(found.mean), points: !isLong(name), ...(dash.length ? { dash } : {}),
    ...(arm.seeds.length > 1 ? { band: { low: drawn(found.low), high: drawn(found.high) } } : {}),
  }; // prettier-ignore
}

