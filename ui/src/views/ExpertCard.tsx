// One expert: its usage, the age of its key, its nearest keys, and its distinctive words.
import { css, kind } from "../design/colours";
import { unpack } from "../data/packed";
import { classOfWords } from "../guildNames";
import { counted, figure, fixed, percent, visible, whole } from "../format";
import type { Galaxy, Run, WordUse } from "../schema";
import { rankOf, useOf, workAt } from "../scatter/work";

const MOST_WORDS = 6;

/** The number of an expert in its pool: its place, unless a sample is shown. */
export function numberOf(galaxy: Galaxy, expert: number): number {
  return galaxy.experts.length ? galaxy.experts[expert]! : expert;
}

interface ExpertCardProps {
  run: Run;
  galaxy: Galaxy;
  expert: number | null;
  frame: number;
  neighbours: readonly number[];
  onChoose: (expert: number) => void;
}

export function ExpertCard({ galaxy, expert, frame, neighbours, onChoose }: ExpertCardProps) {
  if (expert === null) {
    return (
      <div class="expert-card empty">
        <p>Point at a key to see what its expert does; click to keep it. Space plays training, arrow keys step.</p>
      </div>
    );
  }
  const at = frame * galaxy.num_experts + expert;
  const value = unpack(galaxy.usage)[at]!;
  const work = workAt(galaxy, frame);
  const use = useOf(galaxy, value);
  const born = Math.max(0, unpack(galaxy.born)[at]!);
  const length = (unpack(galaxy.length)[at]! / 255) * galaxy.length_most;
  const guild = galaxy.guild[expert];
  const words = (galaxy.words[expert] ?? []).slice(0, MOST_WORDS);
  const wordClass = classOfWords(words);
  const inClass = words.filter((use) => use.word_class === wordClass).length;
  return (
    <div class="expert-card" aria-live="polite" data-testid="expert-card">
      <h3>Expert {numberOf(galaxy, expert)}</h3>
      <dl>
        <div><dt>use</dt><dd>{figure(use)} a step <small>rank {rankOf(work, value)} of {whole(galaxy.num_experts)}, {percent(work.total ? use / work.total : 0, 1)}</small></dd></div>
        <div><dt>age</dt><dd>{whole((galaxy.steps[frame] ?? 0) - born)} steps {born > 0 && <small>respawned at step {whole(born)}</small>}</dd></div>
        <div><dt>key length</dt><dd>{fixed(length, 2)}</dd></div>
        {guild !== undefined && guild >= 0 && <div><dt>guild</dt><dd><i class="dot" style={{ background: css(kind(guild)) }} /> {guild}</dd></div>}
        {words.length > 0 && <div><dt>word class</dt><dd>{wordClass ? <>{wordClass.replaceAll("_", " ")} <small>{inClass} of the {counted(words.length, "word")} below</small></> : "mixed"}</dd></div>}
      </dl>
      {neighbours.length > 0 && (
        <>
          <h4>Nearest keys</h4>
          <p class="chips">
            {neighbours.map((other) => (
              <button key={other} type="button" class="chip" onClick={() => onChoose(other)}>{numberOf(galaxy, other)}</button>
            ))}
          </p>
        </>
      )}
      <Words words={words} />
    </div>
  );
}

/** Words with how much more often than chance, to scale. */
export function Words({ words, title = "Selected for", most = MOST_WORDS }: { words: readonly WordUse[]; title?: string; most?: number }) {
  if (!words.length) return null;
  // Ordered by what the bars show.
  const shown = words.slice(0, most).sort((a, b) => b.lift - a.lift);
  const top = shown[0]!.lift;
  return (
    <>
      <h4>{title} <small>times chance</small></h4>
      <ul class="words">
        {shown.map((use) => (
          <li key={use.word} title={`${whole(use.count)} tokens${use.word_class ? `, ${use.word_class.replaceAll("_", " ")}` : ""}`}>
            <span>{visible(use.word)}</span>
            <i><b style={{ width: `${(100 * use.lift) / top}%` }} /></i>
            <small>× {fixed(use.lift, 1)}</small>
          </li>
        ))}
      </ul>
    </>
  );
}
