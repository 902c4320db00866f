// A few points on two logarithmic axes, each with its name.
import { useEffect, useRef, useState } from "preact/hooks";
import { mark, short } from "../format";
import { logTicks } from "../ticks";

export interface Dot {
  label: string;
  x: number;
  y: number;
  low?: number | null;
  high?: number | null;
  colour: string;
  /** Drawn as a ring: not ours, for orientation. */
  hollow?: boolean;
  /** A single run behind a mean: small, and named only when pointed at. */
  minor?: boolean;
  note: string;
}

const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [54, 18, 14, 42, 280];

export function Scatter({ title, dots, xLabel, yLabel }: { title: string; dots: readonly Dot[]; xLabel: string; yLabel: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(480);
  const [hover, setHover] = useState<Dot | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const xs = dots.map((dot) => dot.x);
  const ys = dots.flatMap((dot) => [dot.y, dot.low ?? dot.y, dot.high ?? dot.y]).filter((value) => value > 0);
  const [x0, x1] = [Math.min(...xs) / 1.6, Math.max(...xs) * 1.6];
  const [y0, y1] = [Math.min(...ys) / 1.25, Math.max(...ys) * 1.25];
  const along = (value: number, low: number, high: number) => Math.log(value / low) / Math.log(high / low);
  const px = (value: number) => LEFT + along(value, x0, x1) * (width - LEFT - RIGHT);
  const py = (value: number) => HEIGHT - BOTTOM - along(value, y0, y1) * (HEIGHT - TOP - BOTTOM);
  return (
    <div class="scatter" ref={box}>
      <svg width={width} height={HEIGHT} role="img" aria-label={`${title}: ${dots.map((dot) => dot.note).join("; ")}`}>
        {logTicks(x0, x1).map((value) => <text key={value} class="mark" x={px(value)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">{short(value)}</text>)}
        {logTicks(y0, y1).map((value) => (
          <g key={value}>
            <line class="rule" x1={LEFT} x2={width - RIGHT} y1={py(value)} y2={py(value)} />
            <text class="mark" x={LEFT - 8} y={py(value) + 4} text-anchor="end">{mark(value)}</text>
          </g>
        ))}
        <text class="mark" x={(LEFT + width - RIGHT) / 2} y={HEIGHT - 6} text-anchor="middle">{xLabel}</text>
        <text class="mark" transform={`translate(12 ${(HEIGHT - BOTTOM + TOP) / 2}) rotate(-90)`} text-anchor="middle">{yLabel}</text>
        {dots.map((dot, i) => (
          <g key={i} onPointerEnter={() => setHover(dot)} onPointerLeave={() => setHover(null)}>
            {dot.low != null && dot.high != null && <line x1={px(dot.x)} x2={px(dot.x)} y1={py(dot.low)} y2={py(dot.high)} stroke={dot.colour} stroke-width={2} />}
            <circle cx={px(dot.x)} cy={py(dot.y)} r={dot.minor ? 3 : 6} fill={dot.hollow ? "none" : dot.colour} stroke={dot.colour} stroke-width={2} />
            {((dots.length <= 24 && !dot.minor) || hover === dot) && <text class="name" x={px(dot.x)} y={py(dot.y) - 11} text-anchor={px(dot.x) > width - 90 ? "end" : "middle"}>{dot.label}</text>}
          </g>
        ))}
      </svg>
      {hover && <p class="scatter-note">{hover.note}</p>}
    </div>
  );
}
