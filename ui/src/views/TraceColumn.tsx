// One text as one layer sees it: every token with its experts, the experts of the token pointed at, and those asked most.
import { css } from "../design/colours";
import { fixed, visible } from "../format";
import { layerName } from "../layers";
import { Select } from "../parts/Choice";
import type { LayerGuilds, Run, Trace } from "../schema";
import { expertColour, expertOrGuildColour, experts, gates, guildTable, isRead, samePick, strip, tint, type ColourTokensBy, type Picked } from "./tracing";

interface TraceColumnProps {
  run: Run;
  trace: Trace;
  layer: number;
  by: ColourTokensBy;
  token: number | null;
  onToken: (token: number | null) => void;
  picked: Picked | null;
  onPick: (picked: Picked | null) => void;
  guilds: LayerGuilds | null;
  onLayer: (layer: number) => void;
}

export function TraceColumn({ run, trace, layer, by, token, onToken, picked, onPick, guilds, onLayer }: TraceColumnProps) {
  const table = guildTable(run, layer);
  const classes = [...new Set(trace.word_class.filter((name): name is string => name !== null))].sort();
  const pickHere = picked?.layer === layer ? picked : null;
  const pick = (kind: Picked["kind"], id: number) => {
    const next = { kind, layer, id };
    onPick(samePick(picked, next) ? null : next);
  };
  const over = (event: Event) => {
    const at = (event.target as HTMLElement).dataset["token"];
    if (at !== undefined) onToken(Number(at));
  };
  const walk = (event: KeyboardEvent) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onToken(token === null ? 0 : Math.min(trace.tokens.length - 1, Math.max(0, token + move)));
  };
  return (
    <article class="trace-column">
      <Select
        label="Layer" hideLabel value={String(layer)} onChange={(value) => onLayer(Number(value))}
        options={trace.layers.map((one) => ({ value: String(one), text: layerName(run, one) }))}
      />
      <p class={`tokens by-${by} ${pickHere ? "has-pick" : ""}`} tabIndex={0} aria-label={`The text in layer ${layer}; arrow keys walk through it`} onPointerOver={over} onClick={over} onKeyDown={walk}>
        {trace.tokens.map((text, i) => {
          const colour = tint(trace, layer, i, by, table, classes);
          const lit = pickHere ? isRead(trace, i, pickHere, table) : false;
          const marks = [i < trace.num_prompt_tokens ? "prompt" : "", i === token ? "at" : "", lit ? "lit" : ""].filter(Boolean).join(" ");
          return (
            <span key={i} data-token={i} class={marks} style={colour ? { backgroundColor: css(colour, 0.32) } : { backgroundImage: strip(trace, layer, i) }}>
              {text}
            </span>
          );
        })}
      </p>
      <TokenDetail trace={trace} layer={layer} token={token} picked={pickHere} onPick={(expert) => pick("expert", expert)} />
      <Most trace={trace} layer={layer} picked={pickHere} onPick={(expert) => pick("expert", expert)} />
      {guilds && guilds.guilds.length > 0 && (
        <p class="chips">
          <span>Guilds</span>
          {guilds.guilds.slice(0, 8).map((guild) => (
            <button key={guild.id} type="button" class="chip" aria-pressed={samePick(picked, { kind: "guild", layer, id: guild.id })} onClick={() => pick("guild", guild.id)} title={guild.words.slice(0, 5).map((use) => use.word).join(", ")}>
              <i style={{ background: expertOrGuildColour(guild.experts[0] ?? 0, table) }} />
              {guild.id}
              {guild.word_class && <small>{guild.word_class.replaceAll("_", " ")}</small>}
            </button>
          ))}
        </p>
      )}
    </article>
  );
}

interface DetailProps {
  trace: Trace;
  layer: number;
  token: number | null;
  picked: Picked | null;
  onPick: (expert: number) => void;
}

/** The experts of the token pointed at, with their gates to scale. */
function TokenDetail({ trace, layer, token, picked, onPick }: DetailProps) {
  if (token === null) return <div class="token-detail empty">Point at a token.</div>;
  const weights = gates(trace, layer, token);
  const top = Math.max(...weights, 1e-9);
  return (
    <div class="token-detail">
      <code>{visible(trace.tokens[token] ?? "")}</code>
      <ul>
        {experts(trace, layer, token).map((expert, i) => (
          <li key={expert}>
            <button type="button" class="chip" aria-pressed={picked?.kind === "expert" && picked.id === expert} onClick={() => onPick(expert)}>
              <i style={{ background: expertColour(expert) }} />
              {expert}
            </button>
            <span class="gate"><b style={{ width: `${(100 * (weights[i] ?? 0)) / top}%`, background: expertColour(expert) }} /></span>
            <small>{fixed(weights[i], 3)}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The experts that read most tokens of this text. */
function Most({ trace, layer, picked, onPick }: Omit<DetailProps, "token">) {
  const counts = new Map<number, number>();
  for (let i = 0; i < trace.tokens.length; i++) for (const expert of experts(trace, layer, i)) counts.set(expert, (counts.get(expert) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 10);
  return (
    <p class="chips">
      <span>Asked most, of {counts.size}</span>
      {most.map(([expert, number]) => (
        <button key={expert} type="button" class="chip" aria-pressed={picked?.kind === "expert" && picked.id === expert} onClick={() => onPick(expert)} title={`${number} of ${trace.tokens.length} tokens`}>
          <i style={{ background: expertColour(expert) }} />
          {expert} <small>{number}</small>
        </button>
      ))}
    </p>
  );
}
