/** Numbers that have few values, such as the hours of a day. */

import type { Column } from "./document.ts";
import { number } from "./words.ts";

/** The values in their order, if they are so few that each is shown by itself; null if there are more. The rule is that of explain.Cohorts in Go. */
export function fewValues(numbers: readonly number[]): number[] | null {
  const rows = new Map<number, number>();
  for (const v of numbers) rows.set(v, (rows.get(v) ?? 0) + 1);
  const common = [...rows.values()].filter((n) => n >= 3).length;
  return rows.size <= 6 || (rows.size <= 31 && 2 * common >= rows.size) ? [...rows.keys()].sort((a, b) => a - b) : null;
}

const apart = 30; // pixels that the numbers at two marks need

/** Where an axis of so many pixels has its marks: at the values of the numbers, if these are few, or so many anywhere. */
export function ticks(numbers: readonly number[], width: number): number[] | number {
  const usual = Math.max(3, Math.floor(width / 100));
  const values = fewValues(numbers);
  if (values === null || values.length < 2) return usual;
  const gaps = values.slice(1).map((v, i) => v - values[i]);
  const pixel = (values[values.length - 1] - values[0]) / width;
  if (Math.min(...gaps) >= apart * pixel) return values;
  const step = Math.ceil((apart * pixel) / gaps[0]);
  return gaps.every((gap) => gap === gaps[0]) ? values.filter((_, i) => i % step === 0) : usual;
}

/** The marks of an axis of a column. */
export function axis(kind: Column["kind"], numbers: readonly number[], width: number): { ticks: number | number[]; type?: "utc"; inset?: number; tickFormat?: (v: number) => string } {
  if (kind === "time") return { ticks: Math.max(3, Math.floor(width / 100)), type: "utc" };
  const same = numbers.length > 0 && numbers.every((v) => v === numbers[0]);
  const at = same ? [numbers[0]] : ticks(numbers, width);
  return Array.isArray(at) ? { ticks: at, inset: 10, tickFormat: (v) => number(v, 6) } : { ticks: at };
}
