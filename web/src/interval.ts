import { level, number } from "./words.ts";
import { within } from "./share.ts";
import type { Widths } from "./attribution.ts";

/** What intervals about attributions are made of. */
export interface Intervals extends Widths {
  bags: number; // trainings that tell the doubt; 0 if it is not known, and intervals are by spread
  classes: boolean; // what is predicted
  unknown?: boolean; // neither doubt nor spread is known, so there are no intervals
}

/** What is said in place of intervals. */
export const noIntervals = "The uncertainty of these attributions is not known, so they have no intervals.";

/** The name of what ± shows: two measures that are never mixed. */
export function measure(i: Pick<Intervals, "bags">): "doubt" | "spread" {
  return i.bags > 0 ? "doubt" : "spread";
}

/** What doubt says, of intervals that hold a share. */
export function ofDoubt(share: number, bags: number): string {
  return `The mean over trainings on other samples of rows lies within it in about ${level(share)} of cases, estimated from ${bags} such trainings.`;
}

/** What spread says, after a colon. */
export function ofSpread(classes: boolean): string {
  return `how much the column's contribution varies among rows like this one${classes ? ", as far as labels show it beyond the score: often almost none" : ""}. It does not say how far other training rows would move the number.`;
}

/** What shows the interval about an attribution, such as ± or a line, and what the interval says. */
export function meaning(shown: string, i: Intervals): string {
  if (i.unknown) return noIntervals;
  if (i.z === 0) return "At z = 0 intervals have no width.";
  return i.bags > 0 ? `${shown} is the doubt. ${ofDoubt(within(i.z), i.bags)}` : `${shown} is the spread, ± ${i.z.toFixed(2)} standard deviations: ${ofSpread(i.classes)}`;
}

/** How intervals are computed, for those who compute with them. */
export function formula(i: Omit<Intervals, "classes">): string {
  if (i.unknown) return "none: the uncertainty of attributions is not known";
  const share = level(within(i.z));
  return i.bags > 0 ? `${share}, by doubt: mean ∓ ${number(i.reach, 3)} standard deviations over ${i.bags} trainings on other samples of rows (Student's t)` :
    `by spread: mean ∓ ${i.z} standard deviations`;
}
