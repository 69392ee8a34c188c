import type { Scale } from "./subject.ts";

/** What a report says of itself. */
export interface Cover {
  title: string;
  author: string; // empty if nobody is named
  date: string; // as 2026-11-17; empty if it is not said
}

/** The document psi.report/v1, as package report writes it; docs/report.md describes it. */
export interface Report extends Cover {
  schema: string;
  verdict: string[]; // what it predicts and how well, what drives it, what to watch
  model: Model;
  data: { name: string; rows: number; labelled: number; explained: number; carried: number; paired: number; seed: number };
  z: number;
  game: Game; // of all attributions but those of games
  interval: Interval;
  bags: number; // trainings that tell the doubt; 0 if it is not known
  reach: number; // standard deviations on either side of an interval
  scale: Scale;
  non_negative?: boolean; // no training row had a negative target: predictions below 0 are 0
  outputs: string[];
  base: number[];
  players: { name: string; columns: number[] }[];
  performance: Performance;
  trust: { level: string; verdict: string; words: string[]; gap: number; audit: Audit | null };
  calibration: { what: string; promises: CalibrationPoint[] | null; level: string; verdict: string; words: string[] };
  importances: Importance[][];
  by: By | null;
  pairs: Pairs;
  games: Games | null; // null if the model has only one
  columns: Column[];
  associations: { a: number; b: number; value: number; measure: string }[];
  warnings: Warning[]; // those that change most first
  rows: Rows;
}

/** What intervals about attributions are by. */
export type Interval = "doubt" | "spread" | "none";

/** What happens to absent columns. */
export interface Game {
  name: string;
  absent: string; // follows "if a column is absent, "
  references: number; // reference rows; 0 if it has none
  own: boolean; // the model's own game
}

/** Some rows in another game than the report's. */
export interface Games {
  other: Game;
  rows: number[]; // places among the rows carried
  base: number[];
  mean: string; // [rows, outputs, players], packed as rows.mean
}

/** Trees that another program trained. */
export interface Imported {
  format: string;
  objective: string;
  trees: number;
  leaves: number;
  depth: number;
  rows: number; // that metrics, intervals and audit were measured on; 0 if there were none
}

/** What a reader should know of the model as a whole, of a column, or of some. */
export interface Warning {
  kind: string;
  columns: number[]; // none if it is about the model as a whole
  words: string;
  change: number; // share of the sizes of all attributions that it bears on
}

export interface Model {
  name: string;
  digest: string;
  task: "regression" | "binary" | "multiclass";
  target: string;
  classes: string[] | null;
  head: string;
  exact: boolean;
  weights: number;
  weight: string;
  members: number;
  settings: Record<string, string | number>;
  calibration: { noise: number; scale?: number; slope?: number; temperature?: number };
  recalibrations: { rows: number; factor: number }[] | null;
  provenance: {
    psi: string; revision: string; data: string; training_rows: number; validation_rows: number; validation: string;
    seed: number; backend: string; cpu?: string; threads?: number; effort?: string; time_budget: string; share?: number;
  };
  imported: Imported | null; // null if psi trained the model
  mixed: { share: number; what: string }[] | null; // models whose scores are averaged
}

export interface Metric {
  name: string;
  meaning: string;
  in_target_units: boolean;
  value: number | null;
  validation: number | null;
}

export interface Performance {
  metrics: Metric[];
  aside: boolean; // the first page is about the rows held out from training, not the table's
  baselines: { name: string; label: string; values: (number | null)[] }[]; // of metrics, on the rows held out from training
  plain: number | null;
  plain_guess: string;
  histogram: { low: number; high: number; negative: number; positive: number; unknown: number }[] | null;
  decisions: { at: Decision[]; first: number } | null; // of two classes, the lowest threshold first
  confusion: { classes: string[]; counts: number[][] } | null;
}

/** What becomes of calling rows positive from a probability up; null is what is not defined. Counts are sums of weights. */
export interface Decision {
  threshold: number;
  true_positives: number;
  false_positives: number;
  false_negatives: number;
  true_negatives: number;
  precision: number | null;
  recall: number | null;
  lift: number | null;
  f1: number | null;
  called: number | null;
  accuracy: number | null;
}

export interface Audit {
  method: string;
  rows: number;
  coalitions: number;
  relative_rmse: number | null;
  subgame_relative_rmse: number | null;
  correlation: number | null;
  top1: number | null;
  top3: number | null;
  efficiency_max: number | null;
  standard_error: number | null;
  within_3_se: number | null;
  loss_importance?: LossImportance[] | null; // absent in models of older versions
  coalitions_error: { kept: number; rmse?: number | null; log_loss?: number | null }[] | null;
}

/** How much lower the loss of a row is, on average, once a column is known. */
export interface LossImportance {
  player: string;
  mean: number | null;
  standard_error: number | null;
  p: number | null; // of the test that the mean is above 0
  found: boolean; // above 0, with at most 5 % false discoveries among all columns
  rows: number;
  units?: number; // of the rows, if a column tells which of them belong together
}

export interface CalibrationPoint {
  promised: number;
  kept: number;
  rows: number;
}

export interface Importance {
  player: number;
  mean: number;
  low: number;
  high: number;
  spread: number; // share of all; 0 if it is not known
  observed: number;
}

export interface By {
  column: string;
  cohorts: { name: string; rows: number; mean: number[][] }[];
  left: number;
}

export interface Pairs {
  absent: string;
  players: number[] | null;
  outputs: { a: number; b: number; size: number; mean: number; values: string }[][] | null;
  rows: number[] | null;
}

export interface Column {
  name: string;
  kind: "number" | "category" | "boolean" | "time";
  reason: string;
  missing: number;
  gap_level: boolean;
  least: number | null;
  greatest: number | null;
  mean: number | null;
  median: number | null;
  bars: { low: number; high: number; rows: number }[] | null;
  outside: number;
  labels: { name: string; rows: number }[] | null;
  levels: number;
  rare: number;
  in_rare: number; // rows with rare labels
  unknown: number;
}

export interface Rows {
  numbers: number[];
  cells: { numbers?: (number | null)[]; codes?: number[]; labels?: string[] }[];
  truth: string;
  prediction: string;
  prediction_std: string; // empty if it is not known, as are hidden_std and std
  range_std: string; // of a number, what ranges are by; empty if that is prediction_std
  hidden_std: string;
  probability: string;
  mean: string;
  std: string; // spread
  model_std: string; // doubt; empty if it is not known
  observed: string;
  other: string;
}
