// How often each expert of a layer was asked, most used first, on a logarithmic scale that all layers share.
import { useState } from "preact/hooks";
import { css, parse } from "../design/colours";
import { token } from "../design/theme";
import { figure, mark, type Value } from "../format";
import { useCanvas } from "./useCanvas";

interface UsageBarsProps {
  title: string;
  values: readonly Value[];
  /** The shared scale. */
  least: number;
  most: number;
}

const LEFT = 34;

export function UsageBars({ title, values, least, most }: UsageBarsProps) {
  const [hover, setHover] = useState<{ rank: number; x: number } | null>(null);
  const sorted = values.map((value, expert) => ({ value: value ?? 0, expert })).sort((a, b) => b.value - a.value);
  const total = sorted.reduce((sum, { value }) => sum + value, 0);
  const fair = total / Math.max(1, sorted.length);
  const unused = sorted.filter(({ value }) => value <= 0).length;
  const share = (value: number) => Math.max(0, Math.log(value / least) / Math.log(most / least));
  const canvas = useCanvas(
    (context, width, height) => {
      const bottom = height - 4;
      const room = bottom - 8;
      context.font = '10px Inter, ui-sans-serif, system-ui, sans-serif';
      context.textAlign = "right";
      context.textBaseline = "middle";
      for (let power = Math.ceil(Math.log10(least)); power <= Math.log10(most); power++) {
        const y = bottom - share(10 ** power) * room;
        context.fillStyle = token("grid");
        context.fillRect(LEFT, y, width - LEFT, 1);
        context.fillStyle = token("muted");
        context.fillText(mark(10 ** power), LEFT - 6, y);
      }
      const step = (width - LEFT) / Math.max(1, sorted.length);
      const gap = step > 4 ? 1 : 0;
      sorted.forEach(({ value }, rank) => {
        const x = LEFT + rank * step;
        if (value <= 0) {
          context.fillStyle = token("bad");
          context.fillRect(x, bottom - 2, Math.max(0.75, step - gap), 2);
          return;
        }
        const size = Math.max(1, share(value) * room);
        context.fillStyle = css(parse(token("accent-hex")), 0.35 + 0.65 * share(value));
        context.fillRect(x, bottom - size, Math.max(0.75, step - gap), size);
      });
      if (fair > 0) {
        const y = bottom - share(fair) * room;
        context.strokeStyle = token("ink");
        context.setLineDash([3, 3]);
        context.beginPath();
        context.moveTo(LEFT, y);
        context.lineTo(width, y);
        context.stroke();
      }
    },
    [values, least, most],
  );
  const point = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const box = event.currentTarget.getBoundingClientRect();
    const along = (event.clientX - box.left - LEFT) / (box.width - LEFT);
    const rank = Math.floor(along * sorted.length);
    setHover(rank >= 0 && rank < sorted.length ? { rank, x: (event.clientX - box.left) / box.width } : null);
  };
  const shown = hover ? sorted[hover.rank] : undefined;
  return (
    <div class="usage" role="img" aria-label={`${title}: the most used expert has ${figure(sorted[0]?.value)}, a fair share is ${figure(fair)}, ${unused} unused.`}>
      <canvas ref={canvas} onPointerMove={point} onPointerLeave={() => setHover(null)} />
      {hover && shown && (
        <div class="heat-card" style={hover.x > 0.5 ? { right: `${(1 - hover.x) * 100}%` } : { left: `${hover.x * 100}%` }}>
          expert {shown.expert}: <b>{figure(shown.value)}</b> ({figure(shown.value / (fair || 1))} × fair share)
        </div>
      )}
    </div>
  );
}
