// The disc with its keys: draws every frame, shows a key's card under the pointer, and lets clusters be dragged.
import { useEffect, useRef, useState } from "preact/hooks";
import { counted, fixed } from "../format";
import { drag, isPlaying, onFrame, settings, world } from "./engine.ts";
import { drawWorld, letter, radiusOf, RIM } from "./sky.ts";
import { lengthOf } from "./state.ts";

const SLOW = 15;
const NEAR = 18;

interface Card {
  expert: number;
  x: number;
  y: number;
  text: string;
}

export function Sky() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const hovered = useRef<number | null>(null);
  const held = useRef<number | null>(null);
  const dragging = useRef(false);
  const [card, setCard] = useState<Card | null>(null);
  useEffect(() => {
    const element = canvas.current!;
    const context = element.getContext("2d")!;
    let drawn = "";
    return onFrame(() => {
      const size = element.clientWidth;
      const scale = Math.min(2, devicePixelRatio);
      const now = `${world.step} ${world.places} ${size} ${scale} ${hovered.current} ${held.current} ${isPlaying.peek()} ${JSON.stringify(world.settings)}`;
      if (!size || now === drawn) return;
      drawn = now;
      if (element.width !== Math.round(size * scale)) element.width = element.height = Math.round(size * scale);
      context.setTransform(scale, 0, 0, scale, 0, 0);
      drawWorld(world, { context, size, hovered: hovered.current, held: held.current, selections: !isPlaying.peek() || settings.peek().speed <= SLOW });
    });
  }, []);

  /** Where the pointer is, from the centre, y upwards, in units of the circle. */
  const place = (event: PointerEvent): [number, number, number] => {
    const box = canvas.current!.getBoundingClientRect();
    const radius = radiusOf(box.width);
    return [(event.clientX - box.left - box.width / 2) / radius, (box.top + box.height / 2 - event.clientY) / radius, radius];
  };
  const clusterAt = (x: number, y: number, radius: number): number | null => {
    const found = world.places.findIndex((angle) => {
      const at = (angle * Math.PI) / 180;
      return Math.hypot(x - Math.cos(at) * RIM, y - Math.sin(at) * RIM) * radius < NEAR;
    });
    return found < 0 ? null : found;
  };
  const point = (event: PointerEvent) => {
    const [x, y, radius] = place(event);
    if (dragging.current && held.current !== null) {
      drag(held.current, (Math.atan2(y, x) * 180) / Math.PI);
      return;
    }
    held.current = clusterAt(x, y, radius);
    canvas.current!.style.cursor = held.current === null ? "crosshair" : "grab";
    let best: [number, number] | null = null;
    for (let i = 0; i < world.state.usage.length; i++) {
      const distance = Math.hypot(x - world.state.keys[2 * i]!, y - world.state.keys[2 * i + 1]!) * radius;
      if (distance < NEAR && (!best || distance < best[1])) best = [i, distance];
    }
    hovered.current = best?.[0] ?? null;
    setCard(best ? { expert: best[0], x: event.offsetX, y: event.offsetY, text: describe(best[0]) } : null);
  };
  const press = (event: PointerEvent) => {
    const [x, y, radius] = place(event);
    held.current = clusterAt(x, y, radius);
    dragging.current = held.current !== null;
    if (!dragging.current) return;
    canvas.current!.setPointerCapture(event.pointerId);
    event.preventDefault();
  };
  const release = () => {
    dragging.current = false;
    held.current = null;
    hovered.current = null;
    setCard(null);
  };
  // A finger on a cluster drags it; anywhere else it scrolls the page, which only a listener of this kind can prevent.
  useEffect(() => {
    const element = canvas.current!;
    const touch = (event: TouchEvent) => {
      const box = element.getBoundingClientRect();
      const [finger, radius] = [event.touches[0]!, radiusOf(box.width)];
      if (clusterAt((finger.clientX - box.left - box.width / 2) / radius, (box.top + box.height / 2 - finger.clientY) / radius, radius) !== null) event.preventDefault();
    };
    element.addEventListener("touchstart", touch, { passive: false });
    return () => element.removeEventListener("touchstart", touch);
  }, []);
  return (
    <div class="disc">
      <canvas
        ref={canvas} role="img" data-testid="sky"
        aria-label={`${settings.value.num_experts} keys in a disc, and queries of ${settings.value.clusters} clusters around it`}
        onPointerMove={point} onPointerDown={press} onPointerUp={() => (dragging.current = false)} onPointerLeave={release} onPointerCancel={release}
      />
      {card && (
        <p class="key-card" style={{ left: `${Math.min(card.x + 14, (canvas.current?.clientWidth ?? 0) - 190)}px`, top: `${card.y + 14}px` }}>
          <b>expert {card.expert}</b>
          {card.text}
        </p>
      )}
    </div>
  );
}

function describe(expert: number): string {
  const clusters = world.places.length;
  const shares = world.places.map((_, cluster) => ({ cluster, share: world.affinity[expert * clusters + cluster]! }));
  const served = shares.filter(({ share }) => share > 0.5).sort((a, b) => b.share - a.share);
  const length = fixed(lengthOf(world.state.keys, expert), 2);
  const use = `selected ${fixed(world.used(expert), 1)} times a step${served.length ? `, mostly by ${letter(served[0]!.cluster)}` : ""}`;
  const born = world.state.born[expert]!;
  return ` length ${length}, ${use}${born >= 0 ? `; respawned ${counted(world.step - born, "step")} ago` : ""}`;
}
