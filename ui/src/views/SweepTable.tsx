// The tables of a sweep: every figure of every arm beside the published one, links to its runs, and paired differences.
import { useState } from "preact/hooks";
import { counted, fixed, NONE } from "../format";
import { excludesZero, signed, spread } from "../intervals";
import { Section } from "../parts/Figure";
import type { Arm, ResultMeasure, Sweep } from "../schema";
import { chosen, show } from "../state";
import { isOpen, isUntuned } from "./SweepTuning";

interface TableProps {
  sweep: Sweep;
  colour: (arm: Arm) => string;
}

const SIZES = ["d_model", "num_layers", "num_experts", "d_ffn", "top_k"];
/** More than the server compares at once. */
const MOST_COMPARED = 24;

/** A measure has a column for the published figure where any arm has one. */
const hasPublished = (measure: ResultMeasure, sweep: Sweep): boolean => measure.published !== null && sweep.arms.some((arm) => arm.published[measure.published!] !== undefined);

export function ArmTable({ sweep, colour }: TableProps) {
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const ids = sweep.arms.filter((arm) => ticked.has(arm.name)).flatMap((arm) => arm.runs.flatMap((run) => run.run_id ?? []));
  const tick = (name: string) => setTicked(new Set(ticked.has(name) ? [...ticked].filter((other) => other !== name) : [...ticked, name]));
  const compare = () => {
    chosen.value = ids.slice(0, MOST_COMPARED);
    show("compare");
  };
  const failures = sweep.arms.flatMap((arm) => arm.runs.flatMap((run) => (run.failure ? [{ arm, run }] : [])));
  return (
    <>
      <div class="scroll">
        <table class="numbers arms" data-testid="arms">
          <caption class="unseen">Arms of {sweep.name}: mean and half of the 95 % interval over seeds</caption>
          <thead>
            <tr>
              <th scope="col">arm</th>
              <th scope="col" title="Width / layers / experts / hidden width of an expert / experts per token">D/L/E/F/K</th>
              <th scope="col" title="Opens the run of that seed">seeds</th>
              {sweep.tuning && <th scope="col" title="The chosen value of the tuned setting">{sweep.tuning.x_label.split(".").pop()}</th>}
              {sweep.tuning && <th scope="col" title="Whether the search settled, and its runs in whole runs">tuning</th>}
              {sweep.measures.map((measure) => [
                <th key={measure.name} scope="col" title={measure.meaning}>{measure.title}</th>,
                hasPublished(measure, sweep) && <th key={`published ${measure.name}`} scope="col" class="published" title={`The published ${measure.title}, at full size`}>published</th>,
              ])}
            </tr>
          </thead>
          <tbody>{sweep.arms.map((arm) => <Row key={arm.name} sweep={sweep} arm={arm} colour={colour(arm)} isTicked={ticked.has(arm.name)} onTick={() => tick(arm.name)} />)}</tbody>
        </table>
      </div>
      <div class="toolbar">
        <button type="button" class="primary" disabled={!ids.length} onClick={compare} data-testid="compare-arms">
          {ids.length ? `Compare ${counted(Math.min(ids.length, MOST_COMPARED), "run")}` : "Compare runs"}
        </button>
        <span class="end">{ids.length > MOST_COMPARED ? `The first ${MOST_COMPARED} of ${ids.length} runs.` : ids.length ? "" : "Tick arms to lay their runs side by side; a seed's number opens its run."}</span>
      </div>
      {failures.map(({ arm, run }) => <p key={`${arm.name} ${run.seed}`} class="fault">{arm.name} seed {run.seed} failed: {run.failure}</p>)}
      {sweep.remarks.map((remark) => <p key={remark} class="reading">Note: {remark}.</p>)}
      <Meanings measures={sweep.measures} />
    </>
  );
}

function Row({ sweep, arm, colour, isTicked, onTick }: { sweep: Sweep; arm: Arm; colour: string; isTicked: boolean; onTick: () => void }) {
  return (
    <tr>
      <th scope="row" title={arm.title || undefined}>
        <label class="arm-name"><input type="checkbox" checked={isTicked} onChange={onTick} aria-label={`Compare the runs of ${arm.name}`} /><i class="dot" style={{ background: colour }} />{arm.name}{isUntuned(arm) && <em class="tag untuned" title="The search of this arm has not settled">untuned</em>}</label>
      </th>
      <td class="sizes">{SIZES.map((name) => arm.sizes[name] ?? NONE).join("/")}</td>
      <td>
        <span class="seed-links">
          {arm.runs.map((run) =>
            run.run_id === null ? (
              <span key={run.seed} class="gone" title={run.failure ?? "This run is not there"}>{run.seed}</span>
            ) : (
              <button key={run.seed} type="button" class={`link ${run.failure ? "tag" : ""}`} title={run.failure ?? `Open ${arm.name} seed ${run.seed}`} aria-label={`Open ${arm.name} seed ${run.seed}`} onClick={() => show("overview", run.run_id)}>{run.seed}</button>
            ),
          )}
        </span>
      </td>
      {sweep.tuning && <td>{arm.tuning?.chosen || NONE}</td>}
      {sweep.tuning && <td>{arm.tuning ? `${arm.tuning.standing}, ${Number(arm.tuning.num_runs.toFixed(2))} runs` : NONE}</td>}
      {sweep.measures.map((measure) => [
        <td key={measure.name}>{spread(arm.figures[measure.name], measure.digits)}</td>,
        hasPublished(measure, sweep) && <td key={`published ${measure.name}`} class="published">{fixed(arm.published[measure.published!], measure.digits)}</td>,
      ])}
    </tr>
  );
}

/** What the columns mean, for those who cannot point at them. */
export function Meanings({ measures }: { measures: readonly ResultMeasure[] }) {
  return (
    <details>
      <summary>What the columns mean</summary>
      <dl class="facts">{measures.map((measure) => <div key={measure.name}><dt>{measure.title}</dt><dd>{measure.meaning}</dd></div>)}</dl>
    </details>
  );
}

export function DifferenceTable({ sweep, colour }: TableProps) {
  const compared = sweep.arms.filter((arm) => Object.keys(arm.differences).length > 0);
  // Sizes differ by plan and not by what was found.
  const measures = sweep.measures.filter((measure) => compared.some((arm) => new Set(arm.differences[measure.name]?.values ?? []).size > 1));
  if (!compared.length || !measures.length) return null;
  return (
    <Section title="Beside their base" note={`Differences paired by random seed. Bold where the 95 % interval excludes zero${sweep.tuning ? " and both arms are tuned" : ""}.`}>
      <div class="scroll">
        <table class="numbers" data-testid="differences">
          <caption class="unseen">Paired differences of the arms of {sweep.name} from their bases</caption>
          <thead><tr><th scope="col">difference</th><th scope="col">seeds</th>{measures.map((measure) => <th key={measure.name} scope="col" title={measure.meaning}>{measure.title}</th>)}</tr></thead>
          <tbody>
            {compared.map((arm) => (
              <tr key={arm.name}>
                <th scope="row"><i class="dot" style={{ background: colour(arm) }} />{arm.name} − {arm.base}{isOpen(arm, sweep) && <em class="tag untuned">untuned</em>}</th>
                <td>{Object.values(arm.differences)[0]!.num}</td>
                {measures.map((measure) => <td key={measure.name} class={!isOpen(arm, sweep) && excludesZero(arm.differences[measure.name]) ? "sure" : ""}>{signed(arm.differences[measure.name], measure.digits)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}
