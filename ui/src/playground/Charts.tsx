// The measures beside the sky, each with its value, its course, and an explanation on demand.
import { useEffect, useRef, useState } from "preact/hooks";
import { isDark, token } from "../design/theme";
import { fixed, percent, stopped } from "../format";
import { drawChart, type Axis } from "./chart.ts";
import { history, MOST_POINTS, onFrame, settings, world } from "./engine.ts";
import { MEANINGS } from "../schema";
import { NUM_TOKENS, WINDOW, type Measures } from "./world.ts";

interface Measured {
  name: keyof Measures;
  title: string;
  meaning: string;
  axis: () => Axis;
  text: (value: number) => string;
  /** What is drawn, where that is not the value itself. */
  height?: (value: number) => number;
}

const marks = (...values: number[]) => values.map((at) => ({ at, text: String(at) }));
/** How many nines a number has: in a plane, neighbours are always near, and differences show only here. */
const nines = (value: number): number => -Math.log10(Math.max(1e-9, 1 - value));

function entropyAxis(most: number, line?: Axis["line"]): Axis {
  const whole = Math.ceil(most);
  return { least: 0, most: whole, marks: marks(0, Math.round(whole / 2), whole), line };
}

const MEASURES: readonly Measured[] = [
  {
    name: "crowding",
    title: "Crowding",
    meaning: `${stopped(MEANINGS.crowding.text)} Of the keys as they are. The axis counts nines, because in a plane even evenly spread keys are near each other (dashed).`,
    axis: () => ({ least: 0, most: 6, marks: [{ at: 0, text: "0" }, { at: 2, text: "0.99" }, { at: 4, text: "0.9999" }], line: { at: nines(evenCrowding()), text: "evenly spread" } }),
    text: (value) => (value > 0.99995 ? `1 − ${(1 - value).toExponential(0)}` : fixed(value, 4)),
    height: nines,
  },
  {
    name: "combinations",
    title: "Combination entropy",
    meaning: `${stopped(MEANINGS.combination_entropy_bits.text)} Over the last ${WINDOW} steps; dashed: log2(E/K).`,
    axis: () => entropyAxis(Math.log2(NUM_TOKENS * WINDOW), { at: Math.log2(settings.value.num_experts / settings.value.top_k), text: "fixed groups" }),
    text: (value) => `${fixed(value, 2)} bits`,
  },
  {
    name: "served",
    title: "Served well",
    meaning: `Mean over the queries of the last ${WINDOW} steps of how well the selected experts serve them, weighted by their gates: 1 if each query gets the experts that are best for it, 0 on average for experts at random.`,
    axis: () => ({ least: -0.5, most: 1, marks: marks(0, 0.5, 1) }),
    text: (value) => fixed(value, 2),
  },
  {
    name: "gini",
    title: "Gini of usage",
    meaning: `${stopped(MEANINGS.gini.text)} Over the last ${WINDOW} steps.`,
    axis: () => ({ least: 0, most: 1, marks: marks(0, 0.5, 1) }),
    text: (value) => fixed(value, 2),
  },
  {
    name: "entropy",
    title: "Usage entropy",
    meaning: `${stopped(MEANINGS.entropy_bits.text)} Over the last ${WINDOW} steps; dashed: log2 E.`,
    axis: () => entropyAxis(Math.log2(settings.value.num_experts) + 0.4, { at: Math.log2(settings.value.num_experts), text: "all alike" }),
    text: (value) => `${fixed(value, 2)} bits`,
  },
  {
    name: "dead",
    title: "Unused experts",
    meaning: `${stopped(MEANINGS.dead_share.text)} Over the last ${WINDOW} steps.`,
    axis: () => ({ least: 0, most: 1, marks: [{ at: 0, text: "0 %" }, { at: 0.5, text: "50 %" }, { at: 1, text: "100 %" }] }),
    text: (value) => percent(value),
  },
];

/** The crowding of keys at equal distances on the circle. */
function evenCrowding(): number {
  const { num_experts: num, top_k: topK } = settings.value;
  if (topK < 2) return 0;
  let sum = 0;
  for (let k = 1; k < topK; k++) sum += Math.cos((2 * Math.PI * Math.ceil(k / 2)) / num);
  return sum / (topK - 1);
}

export function Charts() {
  return (
    <div class="charts">
      {MEASURES.map((measured) => <Chart key={measured.name} measured={measured} />)}
    </div>
  );
}

function Chart({ measured }: { measured: Measured }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const value = useRef<HTMLElement>(null);
  const [isOpen, setOpen] = useState(false);
  const dark = isDark.value;
  useEffect(() => {
    const element = canvas.current!;
    const context = element.getContext("2d")!;
    const ink = { line: token("accent"), grid: token("grid"), muted: token("muted"), paper: token("paper") };
    let drawn = "";
    return onFrame(() => {
      const { clientWidth: width, clientHeight: height } = element;
      const last = history[history.length - 1];
      const axis = measured.axis();
      const now = `${world.settings.seed} ${last?.step} ${width} ${axis.most} ${axis.line?.at}`;
      if (now === drawn || !width) return;
      drawn = now;
      const scale = Math.min(2, devicePixelRatio);
      if (element.width !== Math.round(width * scale)) {
        element.width = Math.round(width * scale);
        element.height = Math.round(height * scale);
      }
      context.setTransform(scale, 0, 0, scale, 0, 0);
      const values = history.map(({ measures }) => (measured.height ? measured.height(measures[measured.name]) : measures[measured.name]));
      drawChart(context, width, height, values, MOST_POINTS, axis, ink);
      if (last) value.current!.textContent = measured.text(last.measures[measured.name]);
    });
  }, [dark, measured]);
  return (
    <figure class="chart" data-measure={measured.name}>
      <figcaption>
        <h3>{measured.title}</h3>
        <button type="button" class="ask" aria-expanded={isOpen} aria-label={`What is ${measured.title}?`} title={measured.meaning} onClick={() => setOpen(!isOpen)}>?</button>
        <b ref={value} />
      </figcaption>
      <canvas ref={canvas} role="img" aria-label={`${measured.title} over time. ${measured.meaning}`} />
      {isOpen && <p class="meaning">{measured.meaning}</p>}
    </figure>
  );
}
