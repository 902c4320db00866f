// Several runs on the same axes, tables with intervals over seeds, and the published figures beside ours.
import { ofRun } from "../design/colours";
import { isDark } from "../design/theme";
import { differences, inWords, seedsInWords } from "../comparable";
import { counted, fixed, listed, NONE, short, stopped, whole, type Value } from "../format";
import { Explain } from "../parts/Explain";
import { Figure, Lead, Missing, Section, Waiting } from "../parts/Figure";
import { Legend } from "../parts/Legend";
import { Plot } from "../parts/Plot";
import { Ranges } from "../parts/Ranges";
import { Scatter, type Dot } from "../parts/Scatter";
import { spread } from "../intervals";
import { smoothed } from "../smooth";
import { MEANINGS, type Group, type Page, type Published, type Run } from "../schema";
import { chosen, comparison, isLive, runList, show, waiting } from "../state";

/** Figures of a run, in the order of the table. */
const COLUMNS: readonly { name: string; title: string; digits: number }[] = [
  { name: "val_loss", title: "val_loss", digits: 4 },
  { name: "val_ppl", title: "val_ppl", digits: 2 },
  { name: "bits_per_byte", title: "bits/byte", digits: 4 },
  { name: "ppl_with_padding", title: "ppl_with_padding*", digits: 2 },
  { name: "tokens_per_second", title: "tokens/s", digits: 0 },
  { name: "gini", title: "Gini", digits: 3 },
  { name: "entropy_bits", title: "entropy", digits: 2 },
  { name: "crowding", title: "crowding", digits: 3 },
  { name: "combination_entropy_bits", title: "K-set entropy", digits: 2 },
];

const meaningOf = (name: string): string | undefined => (name in MEANINGS ? stopped(MEANINGS[name as keyof typeof MEANINGS].text) : undefined);

export function Compare() {
  const page = comparison.value;
  const sound = (page?.runs ?? []).filter((run) => chosen.value.includes(run.id) && run.problem === null);
  const runs = [...sound].sort((a, b) => chosen.value.indexOf(a.id) - chosen.value.indexOf(b.id));
  return (
    <>
      <Lead eyebrow="Compare">{sentence(runs, page?.groups ?? [])}</Lead>
      <Chooser />
      {!runs.length && (waiting.value.has("compare") ? <Waiting what="Reading the runs …" /> : <Missing title="No run is chosen">{isLive.value ? "Choose some in the list of runs." : "Choose some above."}</Missing>)}
      {runs.length > 1 && <Alike runs={runs} />}
      {runs.length > 0 && page && <Comparison page={page} runs={runs} />}
    </>
  );
}

function sentence(runs: readonly Run[], groups: readonly Group[]): string {
  const measured = runs.filter((run) => run.final?.bits_per_byte != null);
  if (!measured.length) return runs.length ? `${counted(runs.length, "run")}, none of them evaluated yet.` : "Choose runs to put side by side.";
  const best = measured.reduce((a, b) => (b.final!.bits_per_byte! < a.final!.bits_per_byte! ? b : a));
  const group = groups.find((one) => one.run_ids.includes(best.id) && one.run_ids.length > 1);
  const interval = group?.figures["bits_per_byte"];
  const seeds = interval?.low != null && interval.high != null ? ` Over its ${group!.run_ids.length} random seeds it has ${fixed(interval.mean, 4)} ± ${fixed((interval.high - interval.low) / 2, 4)}.` : "";
  const differing = differences(measured);
  if (differing.length) return `${counted(runs.length, "run")}, not ranked, because they differ in ${inWords(differing)}.`;
  if (group && interval?.mean != null && measured.every((run) => group.run_ids.includes(run.id))) {
    return `${counted(measured.length, "seed")} of ${group.name}: ${spread(interval, 4)} bits per byte, a validation perplexity of ${spread(group.figures["val_ppl"], 2)}.`;
  }
  if (runs.length === 1) return `One run, ${best.name}: ${fixed(best.final!.bits_per_byte, 4)} bits per byte.`;
  return `Of ${counted(runs.length, "run")}, ${best.name} compresses best: ${fixed(best.final!.bits_per_byte, 4)} bits per byte.${seeds}`;
}

/** What a ranking needs, and which of it these runs share. */
function Alike({ runs }: { runs: readonly Run[] }) {
  const found = differences(runs.filter((run) => run.final?.bits_per_byte != null));
  if (!found.length) return <p class="note alike">Same text, same scale, same budget: their losses can be ranked. Whether a difference is more than chance, intervals over random seeds say.</p>;
  const has = (what: string) => found.some((one) => one.what === what);
  const advice = [
    has("text") && "losses compare only within one text",
    has("scale") && "a larger scale has more parameters and more steps",
    has("budget") && "at an unequal budget, compare the curves below at the same number of tokens",
    has("state") && "a run that has not finished has still to come down",
  ];
  return <p class="note alike" role="note"><b>Not ranked.</b> {stopped(advice.filter((text) => typeof text === "string").join("; "))} {found.flatMap(({ detail }) => (detail ? [stopped(detail)] : [])).join(" ")}</p>;
}

/** All runs as chips: in or out. Colours follow the order of choice. */
function Chooser() {
  const all = isLive.value ? (runList.value?.runs ?? []) : (comparison.value?.runs ?? []);
  const dark = isDark.value;
  if (all.length < 2) return null;
  return (
    <p class="chips chooser" role="group" aria-label="Runs to compare">
      {all.map((run) => {
        const at = chosen.value.indexOf(run.id);
        return (
          <button
            key={run.id} type="button" class="chip" aria-pressed={at >= 0} disabled={run.problem !== null} title={run.problem ?? undefined}
            onClick={() => (chosen.value = at >= 0 ? chosen.value.filter((id) => id !== run.id) : [...chosen.value, run.id])}
          >
            <i style={{ background: at >= 0 ? ofRun(at, dark) : "transparent" }} />
            {run.name}
          </button>
        );
      })}
    </p>
  );
}

function Comparison({ page, runs }: { page: Page; runs: readonly Run[] }) {
  const dark = isDark.value;
  const colour = (run: Run) => ofRun(chosen.value.indexOf(run.id), dark);
  const groups = page.groups.filter((group) => group.run_ids.some((id) => runs.some((run) => run.id === id)));
  const differing = differences(runs);
  const presets = new Set(runs.map((run) => run.preset));
  const published = page.published.filter((one) => presets.has(one.preset));
  return (
    <>
      <Section title="Loss against tokens">
        <div class="grid">
          <Figure wide title="Training loss" reading="Smoothed; lower is better, and steeper is faster." aside={<Legend entries={runs.map((run) => ({ label: run.name, colour: colour(run) }))} />}>
            <Plot title="Training loss" curves={runs.map((run) => ({ label: run.name, colour: colour(run), x: run.curves.train.tokens, y: smoothed(run.curves.train.loss) }))} xLabel="tokens read" yLabel="loss, nats" height={300} together="compare" />
          </Figure>
          <Figure title="Validation loss" reading="On tokens that carry meaning. The last point of a finished run reads all of its validation text.">
            <Plot title="Validation loss" curves={runs.map((run) => ({ label: run.name, colour: colour(run), x: run.curves.evaluation.tokens, y: run.curves.evaluation.val_loss, points: true }))} xLabel="tokens read" yLabel="val_loss, nats" together="compare" />
          </Figure>
          <Figure title="Bits per byte" reading="The one figure that compares runs with different tokenizers.">
            <Plot title="Bits per byte" curves={runs.map((run) => ({ label: run.name, colour: colour(run), x: run.curves.evaluation.tokens, y: run.curves.evaluation.bits_per_byte, points: true }))} xLabel="tokens read" yLabel="bits per byte" together="compare" />
          </Figure>
        </div>
      </Section>
      <Section title="Every run" note="* ppl_with_padding includes padding, as in v1 to v4 of the reports; it is not comparable with val_ppl. Measures of balance are means over the layers, over the validation text of the last evaluation."><p class="explain-row note">Gini <Explain term="gini" /> crowding <Explain term="crowding" /> K-set entropy <Explain term="combination_entropy_bits" /></p>
        <RunTable runs={runs} colour={colour} />
      </Section>
      {groups.length > 0 && (
        <Section title="Over random seeds" note={`Runs that are equal but for the random seed: mean and 95 % interval.${differing.length ? ` Not ranked: they differ in ${listed(differing.map(({ what }) => what))}.` : ""}`}>
          <GroupTable groups={groups} runs={runs} />
          <GroupRanges groups={groups} isRanked={!differing.length} />
        </Section>
      )}
      <Sizes runs={runs} groups={groups} published={published} colour={colour} />
      {published.length > 0 && (
        <Section title="Beside the reports" note="The published figures of the same presets, at full size: not directly comparable with a scaled run.">
          <PublishedTable published={published} runs={runs} />
        </Section>
      )}
    </>
  );
}

const finalOf = (run: Run, name: string): Value => (run.final as unknown as Record<string, number | null> | null)?.[name];

function RunTable({ runs, colour }: { runs: readonly Run[]; colour: (run: Run) => string }) {
  return (
    <div class="scroll">
      <table class="numbers">
        <thead>
          <tr><th>run</th><th class="words-column">text</th><th>scale</th><th>seed</th><th>parameters</th><th>trained</th><th>tokens</th>{COLUMNS.map((column) => <th key={column.name} title={meaningOf(column.name)}>{column.title}</th>)}</tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id}>
              <th scope="row"><i class="dot" style={{ background: colour(run) }} /><button type="button" class="link" onClick={() => show("overview", run.id)}>{run.name}</button></th>
              <td class="words-column" title={run.data?.source}>{run.data?.source.split("/").pop() ?? NONE}</td>
              <td>{run.scale ?? "full"}</td>
              <td>{run.seed ?? NONE}</td>
              <td>{short(run.parameters?.total)}</td>
              <td>{short(run.parameters?.trainable)}</td>
              <td>{short(run.final?.tokens)}</td>
              {COLUMNS.map((column) => <td key={column.name}>{fixed(finalOf(run, column.name), column.digits)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Whether the runs of a group have come equally far; means over unequal ones are not comparable. */
function isUneven(group: Group, runs: readonly Run[]): boolean {
  return new Set(runs.filter((run) => group.run_ids.includes(run.id)).map((run) => run.final?.step)).size > 1;
}

function GroupTable({ groups, runs }: { groups: readonly Group[]; runs: readonly Run[] }) {
  return (
    <div class="scroll">
      <table class="numbers">
        <thead><tr><th>configuration</th><th class="words-column">random seeds</th>{COLUMNS.map((column) => <th key={column.name} title={meaningOf(column.name)}>{column.title}</th>)}</tr></thead>
        <tbody>
          {groups.map((group) => (
            <tr key={group.id}>
              <th scope="row">{group.name}{isUneven(group, runs) && <small class="tag"> not equally far</small>}</th>
              <td class="words-column">{seedsInWords(group.seeds)}</td>
              {COLUMNS.map((column) => <td key={column.name}>{spread(group.figures[column.name], column.digits)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function GroupRanges({ groups, isRanked }: { groups: readonly Group[]; isRanked: boolean }) {
  const rows = groups.flatMap((group) => {
    const interval = group.figures["bits_per_byte"];
    if (interval?.mean == null) return [];
    const [low, high] = [interval.low ?? interval.mean, interval.high ?? interval.mean];
    return [{ label: group.name, value: interval.mean, low, high, note: `${spread(interval, 4)} bits per byte over ${counted(interval.num, "seed")}` }];
  });
  if (rows.length < 2) return null;
  const least = Math.min(...rows.map((row) => row.low));
  const most = Math.max(...rows.map((row) => row.high));
  const room = (most - least) * 0.1 || most * 0.01;
  return (
    <Figure title="Bits per byte, by configuration" reading={isRanked ? "Intervals that do not overlap differ by more than the random seed explains." : "Not a ranking: see above what differs beside the configuration."}>
      <Ranges rows={rows} least={least - room} most={most + room} unit="bits" />
    </Figure>
  );
}

const lastWith = (one: Published, name: "val_ppl" | "ppl_with_padding"): number | null => [...one.epochs].reverse().find((epoch) => epoch[name] != null)?.[name] ?? one.final[name] ?? null;

interface SizesProps {
  runs: readonly Run[];
  groups: readonly Group[];
  published: readonly Published[];
  colour: (run: Run) => string;
}

function sizeDots(name: "val_ppl" | "ppl_with_padding", { runs, groups, published, colour }: SizesProps): Dot[] {
  const ours = groups.flatMap((group): Dot[] => {
    const members = runs.filter((run) => group.run_ids.includes(run.id) && run.parameters && run.final?.[name] != null);
    const single = members.map((run): Dot => ({ label: run.name, x: run.parameters!.total, y: run.final![name]!, colour: colour(run), minor: members.length > 1, note: `${run.name}: ${short(run.parameters!.total)} parameters, ${name} ${fixed(run.final![name], 2)}` }));
    const interval = group.figures[name];
    if (members.length < 2 || interval?.mean == null) return single;
    const mean: Dot = { label: group.name, x: members[0]!.parameters!.total, y: interval.mean, colour: colour(members[0]!), note: `${group.name}: ${name} ${spread(interval, 2)} over ${counted(interval.num, "seed")}` };
    return [mean, ...single];
  });
  const theirs = published.flatMap((one): Dot[] => {
    const y = lastWith(one, name);
    if (y == null || one.total_millions == null) return [];
    return [{ label: `${one.preset}, ${one.source}`, x: one.total_millions * 1e6, y, colour: isDark.value ? "#B3BAC8" : "#6B7280", hollow: true, note: `${one.title}, published: ${one.total_millions} M parameters, ${name} ${fixed(y, 2)}` }];
  });
  return [...ours, ...theirs];
}

function Sizes(props: SizesProps) {
  const [val, padded] = [sizeDots("val_ppl", props), sizeDots("ppl_with_padding", props)];
  if (!val.length && !padded.length) return null;
  return (
    <Section title="Perplexity against size" note="Total parameters, frozen ones included. Rings are published figures, of runs at full size and on other text: for orientation, not for ranking.">
      <div class="grid">
        {val.length > 0 && <Figure title="val_ppl against total parameters" reading="Tokens that carry meaning; lower is better."><Scatter title="val_ppl against total parameters" dots={val} xLabel="total parameters" yLabel="val_ppl" /></Figure>}
        {padded.length > 0 && <Figure title="ppl_with_padding against total parameters" reading="Padding included, as in v1 to v4 of the reports: another measure, on its own axis."><Scatter title="ppl_with_padding against total parameters" dots={padded} xLabel="total parameters" yLabel="ppl_with_padding, padding counted" /></Figure>}
      </div>
    </Section>
  );
}

function PublishedTable({ published, runs }: { published: readonly Published[]; runs: readonly Run[] }) {
  const mean = (preset: string, name: string): string => {
    const values = runs.filter((run) => run.preset === preset).map((run) => finalOf(run, name)).filter((value): value is number => value != null);
    return values.length ? fixed(values.reduce((a, b) => a + b, 0) / values.length, 2) : NONE;
  };
  return (
    <div class="scroll">
      <table class="numbers">
        <thead><tr><th>preset</th><th>source</th><th>parameters</th><th>trained</th><th>steps</th><th>ppl_with_padding*</th><th>ours</th><th>val_ppl</th><th>ours</th><th>Gini</th><th>ours</th><th>entropy</th><th>ours</th></tr></thead>
        <tbody>
          {published.map((one) => {
            const last = one.epochs[one.epochs.length - 1];
            return (
              <tr key={one.preset} title={one.note ?? undefined}>
                <th scope="row">{one.preset}</th>
                <td>{one.source}</td>
                <td>{one.total_millions == null ? NONE : `${one.total_millions} M`}</td>
                <td>{one.trainable_millions == null ? NONE : `${one.trainable_millions} M`}</td>
                <td>{whole(one.steps)}</td>
                <td>{fixed(lastWith(one, "ppl_with_padding"), 2)}</td><td class="ours">{mean(one.preset, "ppl_with_padding")}</td>
                <td>{fixed(lastWith(one, "val_ppl"), 2)}</td><td class="ours">{mean(one.preset, "val_ppl")}</td>
                <td>{fixed(one.final["gini"] ?? last?.gini, 2)}</td><td class="ours">{mean(one.preset, "gini")}</td>
                <td>{fixed(one.final["entropy_bits"] ?? last?.entropy_bits, 2)}</td><td class="ours">{mean(one.preset, "entropy_bits")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
