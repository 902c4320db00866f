// Large arrays out of base64: views on little-endian values, decoded once and kept.
import type { Packed } from "../schema";

export type Values = Uint8Array | Uint16Array | Int16Array | Int32Array | Float32Array;

const KINDS = { uint8: Uint8Array, uint16: Uint16Array, int16: Int16Array, int32: Int32Array, float32: Float32Array } as const;
const decoded = new WeakMap<Packed, Values>();

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** The values of a packed array. Every machine that runs a browser today is little-endian, as the data are. */
export function unpack(packed: Packed): Values {
  let values = decoded.get(packed);
  if (!values) {
    values = new KINDS[packed.dtype](bytesOf(packed.data).buffer);
    const expected = packed.shape.reduce((product, size) => product * size, 1);
    if (values.length !== expected) throw new Error(`an array of ${expected} values holds ${values.length}`);
    decoded.set(packed, values);
  }
  return values;
}
