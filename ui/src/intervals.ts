// Means over seeds as text: as many digits as their measure has, and half of the 95 % interval where there is one.
import { fixed, NONE } from "./format";
import type { Interval } from "./schema";

/** Half of an interval; null for one seed, which gives no spread. */
export const half = (interval: Interval): number | null => (interval.low == null || interval.high == null ? null : (interval.high - interval.low) / 2);

/** 4.2263 ± 0.0150, on one line; the mean alone where there is one seed, or where seeds agree to the last digit. */
export function spread(interval: Interval | undefined, digits: number): string {
  if (!interval) return NONE;
  const width = half(interval);
  return width ? `${fixed(interval.mean, digits)}\u00a0±\u00a0${fixed(width, digits)}` : fixed(interval.mean, digits);
}

/** The same with its sign, for differences. */
export const signed = (interval: Interval | undefined, digits: number): string =>
  interval?.mean != null && interval.mean > 0 ? `+${spread(interval, digits)}` : spread(interval, digits).replace(/^-/, "−");

export const excludesZero = (interval: Interval | undefined): boolean => interval?.low != null && interval.high != null && (interval.low > 0 || interval.high < 0);

/** Whether two intervals have something in common; unknown ones have. */
export function overlap(a: Interval | undefined, b: Interval | undefined): boolean {
  if (a?.low == null || a.high == null || b?.low == null || b.high == null) return true;
  return a.low <= b.high && b.low <= a.high;
}
