import type { Attribution, Order } from "./attribution.ts";
import type { Intervals } from "./interval.ts";
import { shorten } from "./words.ts";

export type Scale = "identity" | "log-mean" | "log" | "logit" | "score" | "share";

/** What attributions are of. */
export interface Subject {
  target: string;
  scale: Scale;
  nonNegative: boolean; // no training row had a negative target
  outputName: string;
  classes: readonly string[] | null;
}

/** What attributions are measured in, for an axis. */
export function unit(s: Subject): string {
  switch (s.scale) {
    case "log-mean":
      return `log of the mean of ${shorten(s.target, 24)}`;
    case "log":
      return `log of ${shorten(s.target, 24)}`;
    case "logit":
      return `log odds of ${shorten(s.outputName, 24)}`;
    case "score":
      return `score of ${shorten(s.outputName, 24)}`;
    case "share":
      return `probability of ${shorten(s.outputName, 24)}`;
    default:
      return shorten(s.target, 32);
  }
}

/** What attributions add up to. */
export function sum(s: Subject): string {
  switch (s.scale) {
    case "log-mean":
      return `the log of the mean of ${s.target}`;
    case "log":
      return `the log of ${s.target}`;
    case "logit":
      return `the log odds of ${s.outputName}`;
    case "score":
      return `the score of ${s.outputName}`;
    case "share":
      return `the probability of ${s.outputName}`;
    default:
      return `the predicted ${s.target}`;
  }
}

/** What a reader chose, and the room there is. */
export interface Choices extends Intervals {
  order: Order;
  width: number; // of the text, in pixels
}

/** One row that is told of. */
export interface Told extends Subject {
  what: string; // such as row 12
  name(player: number): string;
  cell(player: number): string; // what the player is in the row
}

/** A player with what it is in the row. */
export function named(t: Told, a: Attribution): string {
  return `${t.name(a.player)} = ${t.cell(a.player)}`;
}
