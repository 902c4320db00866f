// Every token that an expert or a guild read, in all texts at hand, each with its surroundings.
import { counted, percent, visible } from "../format";
import type { Run, Trace } from "../schema";
import { guildTable, isRead, type Picked } from "./tracing";

const MOST = 120;
const AROUND = 6;

export function Concordance({ run, traces, picked }: { run: Run; traces: readonly Trace[]; picked: Picked }) {
  const table = guildTable(run, picked.layer);
  const hits = traces.flatMap((trace) => trace.tokens.flatMap((_, i) => (isRead(trace, i, picked, table) ? [{ trace, i }] : [])));
  const total = traces.reduce((sum, trace) => sum + trace.tokens.length, 0);
  const words = new Map<string, number>();
  for (const { trace, i } of hits) {
    const word = visible(trace.tokens[i]!.trim() || trace.tokens[i]!);
    words.set(word, (words.get(word) ?? 0) + 1);
  }
  const common = [...words].sort((a, b) => b[1] - a[1]).slice(0, 14);
  return (
    <div class="concordance">
      <p class="note">{counted(hits.length, "token")} of {total} ({percent(total ? hits.length / total : 0)}), most often:</p>
      <p class="chips">{common.map(([word, number]) => <span key={word} class="chip still">{word} <small>{number}</small></span>)}</p>
      <ol>
        {hits.slice(0, MOST).map(({ trace, i }, n) => (
          <li key={n}>
            <span class="before">{trace.tokens.slice(Math.max(0, i - AROUND), i).join("").replaceAll("\n", " ")}</span>
            <b>{visible(trace.tokens[i]!)}</b>
            <span class="after">{trace.tokens.slice(i + 1, i + 1 + AROUND).join("").replaceAll("\n", " ")}</span>
          </li>
        ))}
      </ol>
      {hits.length > MOST && <p class="note">The first {MOST} are shown.</p>}
    </div>
  );
}
