// The night sky of a layer: points on WebGL, and above them what is pointed at, drawn as lines: path, neighbours, ring.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Missing } from "../parts/Figure";
import { pick, placeAt, toScreen } from "./cloud";
import { Renderer, type Cloud, type Colouring, type Window } from "./renderer";

/** A name on the map, at the middle of some keys. */
export interface Named {
  text: string;
  experts: readonly number[];
  colour: string;
}

interface SkyProps {
  label: string;
  cloud: Cloud;
  colouring: Colouring;
  time: number;
  neighboursOf: (expert: number) => readonly number[];
  /** Under the pointer, or pinned. */
  expert: number | null;
  withTrails: boolean;
  /** Names of groups of keys, the most important first. */
  names: readonly Named[];
  onPoint: (expert: number | null) => void;
  onPin: (expert: number | null) => void;
}

const WHOLE: Window = { scale: 1, x: 0, y: 0 };

export function Sky(props: SkyProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const renderer = useRef<Renderer | null>(null);
  const [window, setWindow] = useState<Window>(WHOLE);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [fault, setFault] = useState<string | null>(null);

  useEffect(() => {
    const element = canvas.current!;
    try {
      renderer.current = new Renderer(element);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
      return undefined;
    }
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      renderer.current?.destroy();
      renderer.current = null;
    };
  }, []);
  useEffect(() => renderer.current?.setCloud(props.cloud), [props.cloud]);
  useEffect(() => renderer.current?.setColouring(props.colouring), [props.colouring]);
  useEffect(() => renderer.current?.draw(props.time, window, props.withTrails), [props.cloud, props.colouring, props.time, props.withTrails, window, size]);
  useLayoutEffect(() => setWindow(WHOLE), [props.cloud]);

  const zoom = (factor: number, x = size.width / 2, y = size.height / 2) =>
    setWindow((old) => {
      const scale = Math.min(200, Math.max(1, old.scale * factor));
      if (scale === 1) return WHOLE;
      const kept = scale / old.scale;
      const cx = (x / size.width) * 2 - 1;
      const cy = 1 - (y / size.height) * 2;
      return { scale, x: cx - (cx - old.x) * kept, y: cy - (cy - old.y) * kept };
    });
  const fingers = useFingers(size, window, zoom, setWindow, props);
  useWheel(canvas, zoom);
  const keys = (event: KeyboardEvent) => {
    if (event.key === "+" || event.key === "=") zoom(1.4);
    else if (event.key === "-") zoom(1 / 1.4);
    else if (event.key === "0") setWindow(WHOLE);
    else if (event.key === "Escape") props.onPin(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  if (fault) return <Missing title="The map cannot be drawn here">{fault}; another browser will show it.</Missing>;
  return (
    <div class="sky" tabIndex={0} role="img" aria-label={props.label} onKeyDown={keys}>
      <canvas ref={canvas} {...fingers} onDblClick={() => setWindow(WHOLE)} data-testid="sky" />
      {size.width > 0 && props.expert === null && <Piles cloud={props.cloud} time={props.time} window={window} size={size} />}
      {size.width > 0 && props.expert === null && <Names names={props.names} cloud={props.cloud} time={props.time} window={window} size={size} />}
      {size.width > 0 && props.expert !== null && <Lines {...props} expert={props.expert} window={window} size={size} />}
      <div class="sky-buttons">
        <button type="button" aria-label="Closer" title="Closer (+)" onClick={() => zoom(1.6)}>+</button>
        <button type="button" aria-label="Further" title="Further (-)" onClick={() => zoom(1 / 1.6)}>−</button>
        <button type="button" aria-label="Whole map" title="Whole map (0)" onClick={() => setWindow(WHOLE)}>⤢</button>
      </div>
    </div>
  );
}

type Size = { width: number; height: number };

/** Wheel listeners must be allowed to keep the page from scrolling, which attributes are not. */
function useWheel(canvas: { current: HTMLCanvasElement | null }, zoom: Zoom): void {
  const latest = useRef(zoom);
  latest.current = zoom;
  useEffect(() => {
    const element = canvas.current;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      latest.current(Math.exp(-event.deltaY * 0.0018), event.offsetX, event.offsetY);
    };
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  }, []);
}

type Zoom = (factor: number, x: number, y: number) => void;

/** One finger or the mouse pans, two fingers zoom, a tap pins. */
function useFingers(size: Size, window: Window, zoom: Zoom, setWindow: (change: (old: Window) => Window) => void, props: SkyProps) {
  const down = useRef(new Map<number, { x: number; y: number }>());
  const travelled = useRef(0);
  const under = (event: PointerEvent) =>
    pick(props.cloud, props.time, event.offsetX, event.offsetY, size.width, size.height, window, event.pointerType === "touch" ? 28 : 18);
  return {
    onPointerDown: (event: PointerEvent & { currentTarget: HTMLCanvasElement }) => {
      down.current.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      travelled.current = 0;
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const { offsetX: x, offsetY: y } = event;
      const before = down.current.get(event.pointerId);
      if (!before) {
        props.onPoint(under(event));
        return;
      }
      const other = [...down.current].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const distance = (at: { x: number; y: number }) => Math.hypot(at.x - other.x, at.y - other.y);
        zoom(distance({ x, y }) / Math.max(1, distance(before)), (x + other.x) / 2, (y + other.y) / 2);
      } else {
        setWindow((old) => ({ ...old, x: old.x + ((x - before.x) / size.width) * 2, y: old.y - ((y - before.y) / size.height) * 2 }));
      }
      travelled.current += Math.hypot(x - before.x, y - before.y);
      down.current.set(event.pointerId, { x, y });
    },
    onPointerUp: (event: PointerEvent) => {
      down.current.delete(event.pointerId);
      if (travelled.current < 5) props.onPin(under(event));
    },
    onPointerCancel: (event: PointerEvent) => void down.current.delete(event.pointerId),
    onPointerLeave: () => props.onPoint(null),
  };
}

/** Where the pointed expert has been, who its neighbours are, and where it is. */
function Lines({ cloud, time, expert, window, size, neighboursOf }: SkyProps & { expert: number; window: Window; size: Size }) {
  const screen = (one: number, at: number) => toScreen(placeAt(cloud, one, at), size.width, size.height, window);
  const [x, y] = screen(expert, time);
  const path: string[] = [];
  for (let frame = 0; frame <= Math.floor(time); frame++) {
    const jumped = frame === 0 || cloud.reborn[frame * cloud.numPoints + expert];
    path.push(`${jumped ? "M" : "L"}${screen(expert, frame).map((v) => v.toFixed(1)).join(" ")}`);
  }
  path.push(`L${x.toFixed(1)} ${y.toFixed(1)}`);
  return (
    <svg class="sky-lines" aria-hidden="true">
      <path class="sky-path" d={path.join("")} />
      {neighboursOf(expert).map((neighbour) => {
        const [nx, ny] = screen(neighbour, time);
        return (
          <g key={neighbour}>
            <line x1={x} y1={y} x2={nx} y2={ny} />
            <circle class="near" cx={nx} cy={ny} r={6} />
            <text x={nx + 9} y={ny + 4}>{neighbour}</text>
          </g>
        );
      })}
      <circle cx={x} cy={y} r={11} />
      <text class="chosen" x={x + 15} y={y + 4}>{expert}</text>
    </svg>
  );
}

const NAME_HEIGHT = 17;
const LETTER = 6.4;

/** Names where their keys are; one that would cover another is left out. */
function Names({ names, cloud, time, window, size }: { names: readonly Named[]; cloud: Cloud; time: number; window: Window; size: Size }) {
  const placed: { x: number; y: number; width: number; named: Named }[] = [];
  for (const named of names) {
    const places = named.experts.map((expert) => toScreen(placeAt(cloud, expert, time), size.width, size.height, window));
    const width = named.text.length * LETTER;
    const middle = (axis: 0 | 1) => places.map((place) => place[axis]).sort((a, b) => a - b)[places.length >> 1]!;
    const x = Math.min(size.width - width / 2 - 8, Math.max(width / 2 + 8, middle(0)));
    const y = middle(1) - 14;
    const isOff = y < NAME_HEIGHT || y > size.height - 8;
    const covers = placed.some((other) => Math.abs(other.x - x) < (other.width + width) / 2 + 6 && Math.abs(other.y - y) < NAME_HEIGHT);
    if (!isOff && !covers) placed.push({ x, y, width, named });
  }
  return (
    <svg class="sky-lines" aria-hidden="true">
      {placed.map(({ x, y, named }) => <text key={named.text} class="guild-name" x={x} y={y} style={{ fill: named.colour }}>{named.text}</text>)}
    </svg>
  );
}

const MOST_FOR_PILES = 1024;

/** Keys that lie on one another look like one: a number says how many there are. */
function Piles({ cloud, time, window, size }: { cloud: Cloud; time: number; window: Window; size: Size }) {
  if (cloud.numPoints > MOST_FOR_PILES) return null;
  const piles: { x: number; y: number; number: number }[] = [];
  for (let expert = 0; expert < cloud.numPoints; expert++) {
    const [x, y] = toScreen(placeAt(cloud, expert, time), size.width, size.height, window);
    const pile = piles.find((one) => Math.abs(one.x - x) < 5 && Math.abs(one.y - y) < 5);
    if (pile) pile.number++;
    else piles.push({ x, y, number: 1 });
  }
  return (
    <svg class="sky-lines" aria-hidden="true">
      {piles.filter((pile) => pile.number > 2).map((pile, i) => (
        <text key={i} class="pile" x={pile.x + 14} y={pile.y + 4}>×{pile.number}</text>
      ))}
    </svg>
  );
}
