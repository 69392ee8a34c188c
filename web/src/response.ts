import type { Scale } from "./subject.ts";
import { factor } from "./words.ts";

/** What scores of a number, which base and attributions add up to, are in the target's own units; package explain has the same as Link. */
export interface Link {
  scale: Scale;
  nonNegative: boolean; // no training row had a negative target
}

export function logs(scale: Scale): boolean {
  return scale === "log-mean" || scale === "log";
}

/** What a score predicts. */
export function response(l: Link, score: number): number {
  if (logs(l.scale)) return Math.exp(Math.min(score, 700));
  return l.nonNegative ? Math.max(0, score) : score;
}

/** The range of a prediction, z of rangeStd to either side on the scale of scores. Logs scatter about a centre below the log of the mean. */
export function range(l: Link, e: { prediction: number; predictionStd: number; rangeStd: number }, z: number): [number, number] {
  const centre = e.prediction - (l.scale === "log-mean" ? Math.sqrt(1 + e.predictionStd ** 2) - 1 : 0);
  return [response(l, centre - z * e.rangeStd), response(l, centre + z * e.rangeStd)];
}

/** Whether a prediction is 0 in place of a negative sum. */
export function clipped(l: Link, score: number): boolean {
  return l.scale === "identity" && l.nonNegative && score < 0;
}

/** What an attribution on a scale of logs multiplies the prediction by. */
export function times(mean: number): string {
  return `× ${factor(mean)}`;
}
