// One small chart over time, drawn on a canvas in every frame: too often for a library that keeps a table of its own.

export interface Axis {
  least: number;
  most: number;
  marks: readonly { at: number; text: string }[];
  /** A value worth knowing, with its name. */
  line?: { at: number; text: string } | undefined;
}

export interface Ink {
  line: string;
  grid: string;
  muted: string;
  paper: string;
}

const LEFT = 44;
const BOTTOM = 2;
const TOP = 6;

export function drawChart(context: CanvasRenderingContext2D, width: number, height: number, values: readonly number[], room: number, axis: Axis, ink: Ink): void {
  context.clearRect(0, 0, width, height);
  const up = (value: number) => height - BOTTOM - ((Math.min(axis.most, Math.max(axis.least, value)) - axis.least) / (axis.most - axis.least)) * (height - BOTTOM - TOP);
  context.font = "10.5px ui-sans-serif, system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "right";
  context.lineWidth = 1;
  for (const { at, text } of axis.marks) {
    const y = Math.round(up(at)) + 0.5;
    context.strokeStyle = ink.grid;
    context.beginPath();
    context.moveTo(LEFT, y);
    context.lineTo(width, y);
    context.stroke();
    context.fillStyle = ink.muted;
    context.fillText(text, LEFT - 6, Math.min(height - 5, Math.max(5, y)));
  }
  if (axis.line && axis.line.at <= axis.most && axis.line.at >= axis.least) {
    const y = Math.round(up(axis.line.at)) + 0.5;
    context.strokeStyle = ink.muted;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(LEFT, y);
    context.lineTo(width, y);
    context.stroke();
    context.setLineDash([]);
  }
  if (values.length) drawCourse(context, width, values.map(up), room, ink);
  if (!axis.line) return;
  const y = up(axis.line.at);
  context.fillStyle = ink.muted;
  context.strokeStyle = ink.paper;
  context.lineWidth = 3;
  // On a ground of its own: the curve may pass behind it.
  context.strokeText(axis.line.text, width - 2, y < 16 ? y + 8 : y - 7);
  context.fillText(axis.line.text, width - 2, y < 16 ? y + 8 : y - 7);
}

function drawCourse(context: CanvasRenderingContext2D, width: number, heights: readonly number[], room: number, ink: Ink): void {
  context.strokeStyle = ink.line;
  context.lineWidth = 1.75;
  context.lineJoin = "round";
  context.beginPath();
  const across = (width - LEFT - 4) / Math.max(60, Math.min(room, heights.length) - 1);
  heights.forEach((y, i) => context[i ? "lineTo" : "moveTo"](LEFT + i * across, y));
  context.stroke();
  const end = LEFT + (heights.length - 1) * across;
  context.fillStyle = ink.line;
  context.beginPath();
  context.arc(end, heights[heights.length - 1]!, 2.6, 0, 7);
  context.fill();
}
