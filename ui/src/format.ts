// Numbers and words for people: only significant digits, thousands apart, units written out.

export type Value = number | null | undefined;

export const NONE = "–";

export function fixed(value: Value, digits: number): string {
  return value == null || !Number.isFinite(value)
    ? NONE
    : value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** About four digits, whatever the size. */
export function figure(value: Value): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1000) return Math.round(value).toLocaleString("en-GB");
  if (size >= 100) return value.toFixed(1);
  if (size >= 10) return value.toFixed(2);
  if (size >= 0.01) return value.toFixed(3);
  return value.toExponential(2);
}

export const whole = (value: Value): string => (value == null ? NONE : Math.round(value).toLocaleString("en-GB"));

const SCALES: readonly (readonly [number, string])[] = [
  [1e12, " T"],
  [1e9, " B"],
  [1e6, " M"],
  [1e3, " k"],
];

/** 16.1 M, 419 M, 2.7 B. */
export function short(value: Value): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  for (const [size, name] of SCALES) {
    if (Math.abs(value) >= size) {
      const scaled = value / size;
      return `${scaled >= 100 ? Math.round(scaled) : scaled.toPrecision(3).replace(/\.?0+$/, "")}${name}`;
    }
  }
  return Math.abs(value) >= 10 || Number.isInteger(value) ? String(Math.round(value)) : value.toPrecision(3);
}

export const percent = (share: Value, digits = 0): string => (share == null ? NONE : `${(share * 100).toFixed(digits)} %`);

/** "1 expert", "3 experts". */
export const counted = (number: number, one: string, many = `${one}s`): string => `${whole(number)} ${number === 1 ? one : many}`;

/** "a, b and c". */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

/** Marks of a logarithmic or linear axis: short, without an exponent where it can be avoided. */
export function mark(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return short(value).replace(" ", "");
  if (size !== 0 && size < 0.001) return value.toExponential(0);
  return String(Number(value.toPrecision(4)));
}

/** What a token looks like on its own: line ends and lone spaces made visible. */
export const visible = (token: string): string => token.replaceAll("\n", "⏎") || "∅";

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A sentence: a capital in front, a full stop behind. */
export const stopped = (text: string): string => (/[.!?]$/.test(text) ? capital(text) : `${capital(text)}.`);
