import type { Scale } from "../subject.ts";

/** What a server says of its models at ui/models, as package serve/internal/ui writes it. */
export interface Description {
  name: string;
  version: string;
  versions: string[];
  task: "regression" | "binary" | "multiclass";
  target: string;
  scale: Scale; // of attributions
  non_negative: boolean; // no training row had a negative target
  outputs: string[];
  classes: string[] | null;
  players: { name: string; columns: string[] }[];
  columns: Column[];
  missing: string[];
  head: string;
  exact: boolean;
  digest: string;
  base: number[];
  kept: boolean; // typical cells are of training rows that the model keeps
}

export interface Column {
  name: string;
  kind: "number" | "category" | "boolean" | "time";
  labels: string[] | null;
  left: number; // labels that are not listed
  low: number | null;
  high: number | null;
  whole: boolean;
  gap: boolean; // a missing cell is a level of its own, other than an unknown one
  typical: number | string | boolean | null;
}

/** The document psi.explanation/v1, as far as it is read here. */
export interface Explanation {
  model: string | null;
  exact: boolean;
  interval: "doubt" | "spread" | "none";
  bags: number;
  rows: {
    probability_slope?: number; // κ of classes; 1 for whole rows
    outputs: {
      output: string;
      base: number;
      prediction: number;
      prediction_std: number | null; // null if it is not known, as are hidden_std and std
      range_std?: number | null; // of a number
      hidden_std: number | null;
      probability: number | null;
      attributions: { player: string; observed: boolean; mean: number; std: number | null; model_std: number | null; p_positive: number | null; p_top: number | null }[];
    }[];
  }[];
}

/** The document psi.error/v1. */
export interface Fault {
  message: string;
  column: string | null;
  remedy: string | null;
}
