import type { Audit, Cover, Game, Interval, Model } from "../document.ts";
import type { Scale } from "../subject.ts";

/** The document psi.report.batch/v1, as package report writes it; docs/report.md describes it. */
export interface BatchReport extends Cover {
  schema: string;
  model: Model;
  z: number;
  game: Game | null; // null is the observational one
  interval: Interval;
  bags: number; // trainings that tell the doubt; 0 if it is not known
  reach: number; // standard deviations on either side of an interval
  scale: Scale;
  outputs: string[];
  players: string[];
  run: Run;
  done: Verdict;
  trust: Verdict & { gap: number; audit: Audit | null };
  drift: Verdict[];
  importances: BatchImportance[][];
  advice: string[];
}

export interface Verdict {
  level: string;
  verdict: string;
  words: string[];
}

export interface Run {
  name: string;
  out: string;
  job: string;
  model: string;
  in: string;
  mode: string;
  z: number;
  submitted: string;
  seconds: number;
  files: number;
  units: number;
  failed: number;
  rows: number;
  bytes_read: number;
  bytes_written: number;
  residual_max: number;
  missing: { player: string; ratio: number }[];
  failures: Failure[] | null;
}

export interface Failure {
  unit: number;
  file: string;
  row_groups: number[] | null;
  row: number | null;
  column: string;
  message: string;
  remedy: string;
  attempts: number;
}

export interface BatchImportance {
  player: number;
  mean: number;
  std: number; // mean spread
  doubt: number | null; // mean doubt; null if it is not known
  trained: number | null;
}
