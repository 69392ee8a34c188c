/** What one player did to one prediction. */
export interface Attribution {
  player: number;
  observed: boolean;
  mean: number;
  spread: number | null; // standard deviation of the player's contributions among rows like this one; null if it is not known
  doubt: number | null; // standard deviation of mean over trainings on other samples of rows; null if it is not known
  chances?: { positive: number | null; top: number | null }; // of being above 0, and among the largest; a report does not carry them, an unknown cell has none
}

/** How wide intervals are: reach deviations of doubt or, where it is not known, of spread; z of spread alone. */
export interface Widths {
  z: number;
  reach: number;
}

/** How far the interval about an attribution goes to either side: by doubt or, where it is not known, by spread. Where neither
 * is known there is no interval, and this is 0. */
export function margin(a: Pick<Attribution, "doubt" | "spread">, w: Widths): number {
  return w.reach * (a.doubt ?? a.spread ?? 0);
}

/** How players are put in order. "sure" is by the size that is left when the interval is taken off, |f| − margin; where nothing
 * is left, by size. "most" is by the most that the player may add among rows like this one, att(z) = f + zσ with σ the spread:
 * the ranking of the paper. */
export type Order = "sure" | "most";

export function att(a: Attribution, w: Widths, order: Order): number {
  return order === "sure" ? Math.abs(a.mean) - margin(a, w) : a.mean + w.z * (a.spread ?? 0);
}

/** The observed players in order, the greatest first; equal ones stay in the order of columns. */
export function ranked(list: readonly Attribution[], w: Widths, order: Order): Attribution[] {
  const left = (a: Attribution) => (order === "sure" ? Math.max(0, att(a, w, order)) : att(a, w, order));
  return list.filter((a) => a.observed).sort((a, b) => left(b) - left(a) || (order === "sure" ? Math.abs(b.mean) - Math.abs(a.mean) : 0));
}

/** Whether a player is sure to have raised or lowered the prediction: its interval does not hold 0. */
export function sure(a: Attribution, w: Widths): boolean {
  return a.observed && Math.abs(a.mean) > margin(a, w);
}

/** The players that are sure, the largest first, at most so many: as explain.Reasons in Go has them. */
export function reasons(list: readonly Attribution[], w: Widths, most: number): Attribution[] {
  return list.filter((a) => sure(a, w)).sort((a, b) => Math.abs(b.mean) - Math.abs(a.mean)).slice(0, most);
}

/** Attributions beyond the first few, added up as one; variances add up as of independent players. */
export function rest(list: readonly Attribution[]): Pick<Attribution, "mean" | "spread" | "doubt"> {
  const root = (of: (a: Attribution) => number | null) => (list.some((a) => of(a) === null) ? null : Math.sqrt(list.reduce((sum, a) => sum + (of(a) as number) ** 2, 0)));
  return { mean: list.reduce((sum, a) => sum + a.mean, 0), spread: root((a) => a.spread), doubt: root((a) => a.doubt) };
}

/** A step of the way from the base to the prediction. */
export interface Step extends Attribution {
  from: number;
  to: number;
}

/** The way from the base to the prediction, one player a step. */
export function steps(base: number, list: readonly Attribution[]): Step[] {
  let at = base;
  return list.map((a) => ({ ...a, from: at, to: (at += a.mean) }));
}

export function probability(logOdds: number): number {
  return 1 / (1 + Math.exp(-logOdds));
}
