// Groups of experts that work together, what each responds to, and whether that is more than chance.
import { useEffect, useState } from "preact/hooks";
import { css, kind, viridis } from "../design/colours";
import { unpack } from "../data/packed";
import { guildName } from "../guildNames";
import { capital, counted, figure, fixed, listed, percent, stopped, visible, whole } from "../format";
import { layerName } from "../layers";
import { Select } from "../parts/Choice";
import { Explain } from "../parts/Explain";
import { Figure, Lead, Missing, Section, Waiting } from "../parts/Figure";
import { Ranges } from "../parts/Ranges";
import { useCanvas } from "../parts/useCanvas";
import type { Guild, LayerGuilds, MutualInformation, Run } from "../schema";
import { isWaiting, need } from "../state";
import { Eyebrow } from "./Overview";

export function Guilds({ run }: { run: Run }) {
  const [layer, setLayer] = useState<number | null>(null);
  useEffect(() => need(run.id, "guilds"), [run.id, run.guilds === null]);
  if (run.guilds === null && isWaiting(run.id, "guilds")) return <Waiting what="The model is reading validation text, to see which experts work together …" />;
  const all = run.guilds ?? [];
  if (!all.length) {
    const reason = run.left_out.find((one) => one.name === "guilds")?.reason;
    return (
      <>
        <Lead eyebrow={<Eyebrow run={run} />}>No guilds are known here.</Lead>
        <Missing title="No guilds">{reason ?? "Nothing is routed by keys in this run, or it has no checkpoint to read text with."}</Missing>
      </>
    );
  }
  // Until a layer is chosen: the last one in which there is something to see.
  const last = all.filter((one) => one.guilds.length).at(-1) ?? all[all.length - 1]!;
  const current = all.find((one) => one.layer === layer) ?? last;
  return (
    <>
      <Lead eyebrow={<Eyebrow run={run} />}>{sentence(all)}</Lead>
      <Section title="Do guilds know word classes?" note={stopped(current.labels_note)}>
        <Tests run={run} all={all} />
      </Section>
      <Section title="Who works with whom" note={stopped(current.method)}>
        <Select label="Layer" options={all.map((one) => ({ value: String(one.layer), text: layerName(run, one.layer) }))} value={String(current.layer)} onChange={(value) => setLayer(Number(value))} />
        <p class="reading">
          {counted(current.guilds.length, "guild")} in {counted(current.num_tokens, "token")}; modularity {fixed(current.modularity, 3)} <Explain term="modularity" />
        </p>
        <div class="guild-page">
          {current.pair_matrix && <Pairs guilds={current} />}
          <ul class="guilds">
            {current.guilds.map((guild) => <One key={guild.id} guild={guild} />)}
          </ul>
        </div>
      </Section>
    </>
  );
}

/** Which layers respond to word classes beyond chance. */
function sentence(all: readonly LayerGuilds[]): string {
  const tested = all.filter((one) => one.guild_nmi);
  const numbers = all.map((one) => one.guilds.length);
  const found = `${Math.min(...numbers) === Math.max(...numbers) ? numbers[0] : `${Math.min(...numbers)} to ${Math.max(...numbers)}`} guilds in each of ${counted(all.length, "layer")}`;
  if (!tested.length) return `${found}; word classes are not known here, so what they respond to is not tested.`;
  const beyond = tested.filter((one) => one.guild_nmi!.low > Math.max(one.guild_nmi!.by_word_high, one.guild_nmi!.shuffled_high));
  const some = tested.filter((one) => one.guild_nmi!.low > one.guild_nmi!.shuffled_high);
  const named = (layers: readonly LayerGuilds[]) =>
    layers.length === all.length ? "all layers" : layers.length === 1 ? `layer ${layers[0]!.layer}` : `layers ${listed(layers.map((one) => String(one.layer)))}`;
  if (!some.length) return `${found}; none of them knows more about word classes than chance.`;
  if (!beyond.length) return `${found}. In ${named(some)} they follow words beyond chance, but no layer follows word classes beyond what word forms explain.`;
  const best = beyond.reduce((a, b) => (b.guild_nmi!.value > a.guild_nmi!.value ? b : a)).guild_nmi!;
  return `${found}. In ${named(beyond)} they follow word classes beyond what word forms explain: NMI up to ${fixed(best.value, 3)}, where grouping by word forms gives ${fixed(best.by_word_mean, 3)} and chance ${fixed(best.shuffled_mean, 3)}.`;
}

function Tests({ run, all }: { run: Run; all: readonly LayerGuilds[] }) {
  const rows = (pick: (one: LayerGuilds) => MutualInformation | null) =>
    all.flatMap((one) => {
      const nmi = pick(one);
      return nmi ? [{
        label: layerName(run, one.layer), value: nmi.value, low: nmi.low, high: nmi.high, chance: [nmi.shuffled_low, nmi.shuffled_high] as const, harder: [nmi.by_word_low, nmi.by_word_high] as const,
        note: `NMI ${fixed(nmi.value, 4)} (95 % ${fixed(nmi.low, 4)} to ${fixed(nmi.high, 4)}); labels shuffled ${fixed(nmi.shuffled_mean, 4)}, p = ${figure(nmi.p_value)}; classes shuffled among words ${fixed(nmi.by_word_mean, 4)}, p = ${figure(nmi.by_word_p_value)}; ${whole(nmi.num_permutations)} permutations, ${whole(nmi.num_tokens)} tokens in ${whole(nmi.num_documents)} documents`,
      }] : [];
    }); // prettier-ignore
  const guild = rows((one) => one.guild_nmi);
  const expert = rows((one) => one.expert_nmi);
  if (!guild.length && !expert.length) return <Missing title="Not tested">Without word classes there is nothing to test against.</Missing>;
  const most = Math.max(...[...guild, ...expert].map((row) => Math.max(row.high, row.chance[1], row.harder[1])));
  return (
    <div class="grid">
      <div class="figure wide">
        <p class="note explain-row">NMI <Explain term="nmi" more="Read it against its baselines: with many groups, chance alone gives more than 0." /></p>
        <ul class="legend">
          <li><i class="round accent" />measured, with its 95 % interval</li>
          <li><i class="base" />labels shuffled</li>
          <li><i class="base harder" />classes shuffled among words of like frequency</li>
        </ul>
      </div>
      <Figure title="Guild against word class" reading="Normalised mutual information, 0 to 1. Only a dot right of both bands speaks of classes: the first band is what shuffled labels give, the second what a grouping by word forms alone would reach.">
        <Ranges rows={guild} most={most} unit="NMI" />
      </Figure>
      <Figure title="Strongest expert against word class" reading="The same for single experts: more groups, so chance alone gives more.">
        <Ranges rows={expert} most={most} unit="NMI" />
      </Figure>
    </div>
  );
}

function One({ guild }: { guild: Guild }) {
  const colour = css(kind(guild.id));
  const classes = Object.entries(guild.classes).sort((a, b) => b[1] - a[1]).slice(0, 5);
  return (
    <li class="guild">
      <h3><i class="dot" style={{ background: colour }} />{capital(guildName(guild))} <small>guild {guild.id}, {percent(guild.share, guild.share < 0.1 ? 1 : 0)} of the work</small></h3>
      <div class="share"><i style={{ width: `${100 * guild.share}%`, background: colour }} /></div>
      <p class="guild-words">{guild.words.map((use) => <span key={use.word} title={`${whole(use.count)} tokens, × ${figure(use.lift)}`}>{visible(use.word)}</span>)}</p>
      {classes.length > 0 && (
        <p class="note">{classes.map(([name, share]) => <span key={name} class={name === guild.word_class ? "strong" : ""}>{name.replaceAll("_", " ")} {percent(share)}</span>)}</p>
      )}
      <p class="members" title="The most used first">{counted(guild.experts.length, "expert")}: {guild.experts.slice(0, 24).join(" ")}{guild.experts.length > 24 ? " …" : ""}</p>
    </li>
  );
}

/** Co-activation of every pair, experts sorted by guild: closed circles show as squares along the diagonal. */
function Pairs({ guilds }: { guilds: LayerGuilds }) {
  const matrix = guilds.pair_matrix!;
  const canvas = useCanvas(
    (context, width) => {
      const number = matrix.shape[0] ?? 0;
      const values = unpack(matrix);
      const image = new ImageData(number, number);
      for (let i = 0; i < values.length; i++) {
        const [r, g, b] = viridis(Math.sqrt(values[i]! / 255));
        image.data.set([r, g, b, 255], i * 4);
      }
      const small = new OffscreenCanvas(number, number);
      small.getContext("2d")!.putImageData(image, 0, 0);
      context.imageSmoothingEnabled = false;
      context.drawImage(small, 0, 0, width, width);
    },
    [matrix],
  );
  return (
    <Figure title="Pairs at work" reading="Every pair of experts, sorted by guild: the brighter, the more often both were asked for one token. Squares on the diagonal are closed circles.">
      <canvas ref={canvas} class="pairs" role="img" aria-label={`Co-activation of ${matrix.shape[0]} experts of layer ${guilds.layer}`} />
    </Figure>
  );
}
