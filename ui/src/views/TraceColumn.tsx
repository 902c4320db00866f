// One text as one layer sees it: every token with its experts, the experts of the token pointed at, and those asked most.
import { css } from "../design/colours";
import { fixed, visible } from "../format";
import { guildName } from "../guildNames";
import { layerName } from "../layers";
import { Select } from "../parts/Choice";
import type { LayerGuilds, Run, Trace } from "../schema";
import { experts, gates, guildTable, isRead, MOST_COLOURS as MOST_GUILDS, mostAsked, paletteOf, samePick, strip, tint, type ColourTokensBy, type Palette, type Picked } from "./tracing";

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
  const palette = paletteOf(trace, layer, table);
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
  return (
    <article class="trace-column">
      <Select
        label="Layer" hideLabel value={String(layer)} onChange={(value) => onLayer(Number(value))}
        options={trace.layers.map((one) => ({ value: String(one), text: layerName(run, one) }))}
      />
      {guilds && guilds.guilds.length > 0 && (
        <p class="chips guild-chips">
          <span>Guilds</span>
          {guilds.guilds.slice(0, MOST_GUILDS).map((guild) => (
            <button key={guild.id} type="button" class="chip" aria-pressed={samePick(picked, { kind: "guild", layer, id: guild.id })} onClick={() => pick("guild", guild.id)} title={`Guild ${guild.id}: ${guild.words.slice(0, 6).map((use) => use.word.trim()).join(", ")}`}>
              <i style={{ background: palette(guild.experts[0] ?? -1) }} />
              {guildName(guild)}
            </button>
          ))}
          {guilds.guilds.length > MOST_GUILDS && <small>and {guilds.guilds.length - MOST_GUILDS} smaller ones, grey</small>}
        </p>
      )}
      <p class={`tokens by-${by} ${pickHere ? "has-pick" : ""}`} tabIndex={0} aria-label={`The text in layer ${layer}; arrow keys walk through it`} onPointerOver={over} onClick={over}>
        {trace.tokens.map((text, i) => {
          const colour = tint(trace, layer, i, by, table, classes);
          const lit = pickHere ? isRead(trace, i, pickHere, table) : false;
          const marks = [i < trace.num_prompt_tokens ? "prompt" : "", i === token ? "at" : "", lit ? "lit" : ""].filter(Boolean).join(" ");
          return (
            <span key={i} data-token={i} class={marks} style={colour ? { backgroundColor: css(colour, 0.32) } : { backgroundImage: strip(trace, layer, i, palette) }}>
              {text}
            </span>
          );
        })}
      </p>
      <TokenDetail trace={trace} layer={layer} token={token} palette={palette} picked={pickHere} onPick={(expert) => pick("expert", expert)} />
      <Most trace={trace} layer={layer} palette={palette} picked={pickHere} onPick={(expert) => pick("expert", expert)} />
    </article>
  );
}

interface DetailProps {
  trace: Trace;
  layer: number;
  token: number | null;
  palette: Palette;
  picked: Picked | null;
  onPick: (expert: number) => void;
}

/** The experts of the token pointed at, with their gates to scale. */
function TokenDetail({ trace, layer, token, palette, picked, onPick }: DetailProps) {
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
              <i style={{ background: palette(expert) }} />
              {expert}
            </button>
            <span class="gate"><b style={{ width: `${(100 * (weights[i] ?? 0)) / top}%`, background: palette(expert) }} /></span>
            <small>{fixed(weights[i], 3)}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The experts that read most tokens of this text. */
function Most({ trace, layer, palette, picked, onPick }: Omit<DetailProps, "token">) {
  const all = mostAsked(trace, layer);
  const most = all.slice(0, 10);
  return (
    <p class="chips most">
      <span>Selected most, of {all.length}</span>
      {most.map(([expert, number]) => (
        <button key={expert} type="button" class="chip" aria-pressed={picked?.kind === "expert" && picked.id === expert} onClick={() => onPick(expert)} title={`${number} of ${trace.tokens.length} tokens`}>
          <i style={{ background: palette(expert) }} />
          {expert} <small>{number}</small>
        </button>
      ))}
    </p>
  );
}
