// Draws the keys of a layer with WebGL: uploads all frames once, then a moment in time costs one draw call.
import { FRAGMENT, TRAIL_FRAGMENT, TRAIL_VERTEX, VERTEX } from "./shaders";

export interface Cloud {
  numPoints: number;
  numFrames: number;
  /** int16 of shape F, E, 2. */
  xy: Int16Array;
  /** uint8 of shape F, E. */
  usage: Uint8Array;
  /** uint8 of shape F, E: 1 where the key was reborn in this frame. */
  reborn: Uint8Array;
}

export interface Colouring {
  /** uint8 of shape F, E (or E alone where it does not change with time): index into the palette. */
  index: Uint8Array;
  /** 256 colours, RGBA. */
  palette: Uint8Array;
  blends: boolean;
}

/** What is seen of the plane: a place p is drawn at p * scale + shift, both in clip space. */
export interface Window {
  scale: number;
  x: number;
  y: number;
}

const ATTRIBUTES = ["from_xy", "to_xy", "from_usage", "to_usage", "from_colour", "to_colour", "flash"] as const;
const UNIFORMS = ["view", "part", "size", "blends", "flash_share", "palette", "opacity"] as const;
type Attribute = (typeof ATTRIBUTES)[number];
type Uniform = (typeof UNIFORMS)[number];

export class Renderer {
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;
  private readonly at = {} as Record<Attribute, number>;
  private readonly uniform = {} as Record<Uniform, WebGLUniformLocation | null>;
  private readonly buffers: Record<"xy" | "usage" | "reborn" | "colour", WebGLBuffer>;
  private readonly trails: { program: WebGLProgram; segments: WebGLBuffer; /** Indices up to each frame. */ ends: number[] };
  private cloud: Cloud | null = null;
  private colouring: Colouring | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    if (!gl) throw new Error("this browser offers no WebGL 2");
    this.gl = gl;
    this.program = link(gl, VERTEX, FRAGMENT);
    this.trails = { program: link(gl, TRAIL_VERTEX, TRAIL_FRAGMENT), segments: gl.createBuffer(), ends: [] };
    for (const name of ATTRIBUTES) this.at[name] = gl.getAttribLocation(this.program, name);
    for (const name of UNIFORMS) this.uniform[name] = gl.getUniformLocation(this.program, name);
    this.buffers = { xy: gl.createBuffer(), usage: gl.createBuffer(), reborn: gl.createBuffer(), colour: gl.createBuffer() };
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  setCloud(cloud: Cloud): void {
    this.cloud = cloud;
    this.upload("xy", cloud.xy);
    this.upload("usage", cloud.usage);
    this.upload("reborn", cloud.reborn);
    const { indices, ends } = segmentsOf(cloud);
    this.trails.ends = ends;
    this.gl.bindBuffer(this.gl.ELEMENT_ARRAY_BUFFER, this.trails.segments);
    this.gl.bufferData(this.gl.ELEMENT_ARRAY_BUFFER, indices, this.gl.STATIC_DRAW);
  }

  setColouring(colouring: Colouring): void {
    const { gl } = this;
    this.colouring = colouring;
    this.upload("colour", colouring.index);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colouring.palette);
  }

  private upload(name: keyof Renderer["buffers"], values: AllowSharedBufferSource): void {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  }

  /** Draw the moment `time`, counted in frames. */
  draw(time: number, window: Window, withTrails: boolean): void {
    const { gl, cloud, colouring } = this;
    const width = Math.round(this.canvas.clientWidth * devicePixelRatio);
    const height = Math.round(this.canvas.clientHeight * devicePixelRatio);
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!cloud || !colouring || !width || !height) return;
    const from = Math.min(cloud.numFrames - 1, Math.max(0, Math.floor(time)));
    const to = Math.min(cloud.numFrames - 1, from + 1);
    const part = time - from;
    const { scaleX, scaleY } = clipScales(width, height, window);
    if (withTrails) this.drawTrails(time, [scaleX, scaleY, window.x, window.y]);
    gl.useProgram(this.program);
    const colourMoves = colouring.index.length > cloud.numPoints;
    this.point("from_xy", "xy", 2, gl.SHORT, from * cloud.numPoints * 4);
    this.point("to_xy", "xy", 2, gl.SHORT, to * cloud.numPoints * 4);
    this.point("from_usage", "usage", 1, gl.UNSIGNED_BYTE, from * cloud.numPoints);
    this.point("to_usage", "usage", 1, gl.UNSIGNED_BYTE, to * cloud.numPoints);
    this.point("from_colour", "colour", 1, gl.UNSIGNED_BYTE, colourMoves ? from * cloud.numPoints : 0);
    this.point("to_colour", "colour", 1, gl.UNSIGNED_BYTE, colourMoves ? to * cloud.numPoints : 0);
    // At rest on a frame the flash of that very frame is shown; on the way, that of the frame ahead, rising.
    const flashes = part < 0.001 ? from : to;
    this.point("flash", "reborn", 1, gl.UNSIGNED_BYTE, flashes * cloud.numPoints, false);
    gl.uniform4f(this.uniform.view, scaleX, scaleY, window.x, window.y);
    gl.uniform1f(this.uniform.part, part < 0.001 ? 0 : part);
    gl.uniform1f(this.uniform.size, pointSize(cloud.numPoints, Math.min(width, height), window.scale));
    gl.uniform1f(this.uniform.blends, colouring.blends ? 1 : 0);
    gl.uniform1f(this.uniform.flash_share, part < 0.001 ? 1 : part);
    gl.uniform1f(this.uniform.opacity, cloud.numPoints > 20_000 ? 0.6 : 0.95);
    gl.uniform1i(this.uniform.palette, 0);
    gl.drawArrays(gl.POINTS, 0, cloud.numPoints);
  }

  private drawTrails(time: number, view: readonly [number, number, number, number]): void {
    const { gl, trails } = this;
    const number = trails.ends[Math.floor(time)] ?? 0;
    if (!number) return;
    gl.useProgram(trails.program);
    for (const location of Object.values(this.at)) gl.disableVertexAttribArray(location);
    const at = gl.getAttribLocation(trails.program, "xy");
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.xy);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, 2, gl.SHORT, true, 0, 0);
    gl.uniform4f(gl.getUniformLocation(trails.program, "view"), ...view);
    gl.uniform1f(gl.getUniformLocation(trails.program, "time"), time);
    gl.uniform1i(gl.getUniformLocation(trails.program, "num_points"), this.cloud!.numPoints);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, trails.segments);
    gl.drawElements(gl.LINES, number, gl.UNSIGNED_INT, 0);
  }

  private point(name: Attribute, buffer: keyof Renderer["buffers"], size: number, type: number, offset: number, normalised = true): void {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[buffer]);
    gl.enableVertexAttribArray(this.at[name]);
    gl.vertexAttribPointer(this.at[name], size, type, normalised, 0, offset);
  }

  destroy(): void {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

/** The plane keeps its proportions: a unit is as long sideways as upwards. */
export function clipScales(width: number, height: number, window: Window): { scaleX: number; scaleY: number } {
  const shorter = Math.min(width, height);
  return { scaleX: (window.scale * 0.94 * shorter) / width, scaleY: (window.scale * 0.94 * shorter) / height };
}

/** Few points may be large; many must leave each other room. Zooming in enlarges them, but slower than the plane. */
function pointSize(numPoints: number, shorter: number, zoom: number): number {
  const base = Math.sqrt((shorter * shorter) / numPoints) * 0.32;
  return Math.min(14 * devicePixelRatio, Math.max(1.6 * devicePixelRatio, base)) * Math.sqrt(zoom);
}

/** Beyond this many points over all frames, paths would be a fog and a burden. */
const MOST_ON_TRAILS = 400_000;

/** Pairs of vertices from frame to frame, but for keys that were reborn: those did not travel. */
function segmentsOf(cloud: Cloud): { indices: Uint32Array; ends: number[] } {
  const { numPoints, numFrames, reborn } = cloud;
  if (numPoints * numFrames > MOST_ON_TRAILS) return { indices: new Uint32Array(0), ends: [] };
  const indices = new Uint32Array(2 * numPoints * Math.max(0, numFrames - 1));
  const ends = [0];
  let at = 0;
  for (let i = numPoints; i < numPoints * numFrames; i++) {
    if (!reborn[i]) {
      indices[at++] = i - numPoints;
      indices[at++] = i;
    }
    if ((i + 1) % numPoints === 0) ends.push(at);
  }
  return { indices, ends };
}

function link(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader) ?? "shader");
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "program");
  return program;
}
