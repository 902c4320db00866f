// Marks of an axis at round numbers: 1, 2 and 5 times a power of ten.

/** Round marks on a linear axis, about `wanted` of them. */
export function linearTicks(low: number, high: number, wanted = 4): number[] {
  const rough = (high - low) / Math.max(1, wanted);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((size) => size >= rough) ?? 10 * power;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
  return ticks;
}

/** Round marks on a logarithmic axis: fewer of them the more decades there are; linear ones within less than one. */
export function logTicks(low: number, high: number, most = 7): number[] {
  const decades = Math.log10(high / low);
  if (decades < 0.7) return linearTicks(low, high).filter((value) => value > 0);
  const digits = decades > most / 2 ? [1] : decades > 1.6 ? [1, 3] : [1, 2, 5];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) for (const digit of digits) ticks.push(digit * 10 ** power);
  return ticks.filter((value) => value >= low && value <= high);
}
