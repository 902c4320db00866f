// All layers as small maps of the same moment: to choose one, and to see at once where keys have fused.
import { css, sky } from "../design/colours";
import { unpack } from "../data/packed";
import { layerName } from "../layers";
import { useCanvas } from "../parts/useCanvas";
import { leastUse } from "../scatter/cloud";
import type { Galaxy, Run } from "../schema";

interface LayerStripProps {
  run: Run;
  galaxies: readonly Galaxy[];
  method: string;
  layer: number;
  /** How far training is, from 0 to 1. */
  share: number;
  onChoose: (layer: number) => void;
}

const MOST_POINTS = 800;

export function LayerStrip({ run, galaxies, method, layer, share, onChoose }: LayerStripProps) {
  if (galaxies.length < 2) return null;
  return (
    <div class="strip" role="group" aria-label="Layers">
      {galaxies.map((galaxy) => (
        <button key={galaxy.layer} type="button" class={galaxy.layer === layer ? "on" : ""} aria-pressed={galaxy.layer === layer} onClick={() => onChoose(galaxy.layer)}>
          <Small galaxy={galaxy} method={method} frame={Math.round(share * (galaxy.steps.length - 1))} />
          <span>{layerName(run, galaxy.layer)}</span>
        </button>
      ))}
    </div>
  );
}

function Small({ galaxy, method, frame }: { galaxy: Galaxy; method: string; frame: number }) {
  const map = galaxy.maps.find((one) => one.method === method) ?? galaxy.maps[0];
  const canvas = useCanvas(
    (context, width, height) => {
      context.clearRect(0, 0, width, height);
      if (!map) return;
      const xy = unpack(map.xy);
      const usage = unpack(galaxy.usage);
      const least = leastUse(galaxy);
      let reach = 1;
      for (let i = 0; i < xy.length; i++) reach = Math.max(reach, Math.abs(xy[i]!));
      const every = Math.max(1, Math.ceil(galaxy.num_experts / MOST_POINTS));
      const scale = (Math.min(width, height) * 0.46) / reach;
      const isDense = galaxy.num_experts > 200;
      for (let expert = 0; expert < galaxy.num_experts; expert += every) {
        const at = frame * galaxy.num_experts + expert;
        context.fillStyle = css(sky((usage[at]! - least) / (255 - least)), 0.9);
        const [x, y] = [width / 2 + xy[at * 2]! * scale, height / 2 - xy[at * 2 + 1]! * scale];
        if (isDense) {
          context.fillRect(x - 0.8, y - 0.8, 1.6, 1.6);
        } else {
          context.beginPath();
          context.arc(x, y, 2.4, 0, 7);
          context.fill();
        }
      }
    },
    [galaxy, map, frame],
  );
  return <canvas ref={canvas} aria-hidden="true" />;
}
