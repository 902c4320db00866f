// The trend behind a noisy curve: a mean over a twentieth of its length. At the steep start the window grows from one point;
// at the end it looks back only, so that the last batch does not bend the curve.
import type { Value } from "./format";

export function smoothed(values: readonly Value[]): Value[] {
  const reach = Math.max(1, Math.floor(values.length / 40));
  const sums = [0];
  const counts = [0];
  for (const value of values) {
    sums.push(sums[sums.length - 1]! + (value ?? 0));
    counts.push(counts[counts.length - 1]! + (value == null ? 0 : 1));
  }
  return values.map((_, i) => {
    const from = Math.max(0, i - reach);
    const to = Math.min(values.length - 1, i + Math.min(reach, i));
    const number = counts[to + 1]! - counts[from]!;
    return number ? (sums[to + 1]! - sums[from]!) / number : null;
  });
}
