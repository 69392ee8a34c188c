/** What one player did to one prediction. */
export interface Attribution {
  player: number;
  observed: boolean;
  mean: number;
  std: number;
  chances?: { positive: number | null; top: number | null }; // of being above 0, and among the largest; a report does not carry them, an unknown cell has none
}

/** How players are put in order. "sure" is by the size that is left when z standard deviations are taken off,
 * |f| − zσ. "most" is by the most that the player may add, att(z) = f + zσ: the ranking of the paper. */
export type Order = "sure" | "most";

export function att(a: Attribution, z: number, order: Order): number {
  return order === "sure" ? Math.abs(a.mean) - z * a.std : a.mean + z * a.std;
}

/** The observed players by att(z), the greatest first; equal ones stay in the order of columns. */
export function ranked(list: readonly Attribution[], z: number, order: Order): Attribution[] {
  return list.filter((a) => a.observed).sort((a, b) => att(b, z, order) - att(a, z, order));
}

/** Whether a player is sure to have raised or lowered the prediction: its interval f ∓ zσ does not hold 0. */
export function sure(a: Attribution, z: number): boolean {
  return a.observed && Math.abs(a.mean) > z * a.std;
}

/** The players that are sure, the largest first, at most so many: as explain.Reasons in Go has them. */
export function reasons(list: readonly Attribution[], z: number, most: number): Attribution[] {
  return list.filter((a) => sure(a, z)).sort((a, b) => Math.abs(b.mean) - Math.abs(a.mean)).slice(0, most);
}

/** Attributions beyond the first few, added up as one; independent players' variances add up. */
export function rest(list: readonly Attribution[]): { mean: number; std: number } {
  let mean = 0, variance = 0;
  for (const a of list) {
    mean += a.mean;
    variance += a.std * a.std;
  }
  return { mean, std: Math.sqrt(variance) };
}

/** Share of a normal within z standard deviations, erf(z/√2), by Abramowitz and Stegun 7.1.26: off by 1.5e-7 at most. */
export function within(z: number): number {
  const x = z / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return 1 - tail * Math.exp(-x * x);
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
