import type { Attribution } from "./attribution.ts";
import type { Report } from "./document.ts";
import { attributions, bits, floats } from "./packed.ts";
import { cell, moment } from "./words.ts";

/** The explanation of one output of one row. */
export interface Explained {
  base: number;
  prediction: number;
  predictionStd: number; // NaN if it is not known, as are rangeStd and hiddenStd
  rangeStd: number; // what the range of the prediction is by: z of it to either side
  hiddenStd: number; // the part of predictionStd that is due to missing cells
  probability: number | null;
  likeliest: string; // class, or the only output
  attributions: Attribution[];
}

/** Where explanations come from: the rows that a report carries, or a server that is asked. */
export interface Explainer {
  explain(row: number, output: number, signal?: AbortSignal): Promise<Explained>;
}

/** The rows that a report carries. */
export class StoredRows implements Explainer {
  readonly length: number;
  private readonly mean: Float32Array;
  private readonly spreads: Float32Array; // empty if they are not known
  private readonly doubts: Float32Array; // empty if they are not known
  private readonly predictions: Float32Array;
  private readonly predictionStds: Float32Array;
  private readonly rangeStds: Float32Array; // empty if they are the deviations
  private readonly hiddenStds: Float32Array;
  private readonly probabilities: Float32Array;
  private readonly truths: Float32Array;
  private readonly isObserved: (at: number) => boolean;
  private readonly isOther: (at: number) => boolean;

  constructor(readonly report: Report) {
    const r = report.rows;
    this.length = r.numbers.length;
    this.mean = attributions(r.mean);
    this.spreads = attributions(r.std);
    this.doubts = attributions(r.model_std);
    this.predictions = floats(r.prediction);
    this.predictionStds = floats(r.prediction_std);
    this.rangeStds = floats(r.range_std);
    this.hiddenStds = floats(r.hidden_std);
    this.probabilities = floats(r.probability);
    this.truths = floats(r.truth);
    this.isObserved = bits(r.observed);
    this.isOther = bits(r.other);
  }

  private line(row: number, output: number): number {
    return row * this.report.outputs.length + output;
  }

  prediction(row: number, output: number): number {
    return this.predictions[this.line(row, output)];
  }

  predictionStd(row: number, output: number): number {
    return this.predictionStds[this.line(row, output)] ?? NaN;
  }

  probability(row: number, output: number): number | null {
    return this.probabilities.length ? this.probabilities[this.line(row, output)] : null;
  }

  attribution(row: number, output: number, player: number): Attribution {
    const n = this.report.players.length;
    const at = this.line(row, output) * n + player;
    return { player, observed: this.isObserved(row * n + player), mean: this.mean[at], spread: this.spreads.length ? this.spreads[at] : null, doubt: this.doubts.length ? this.doubts[at] : null };
  }

  explain(row: number, output: number): Promise<Explained> {
    return Promise.resolve({
      base: this.report.base[output],
      prediction: this.prediction(row, output),
      predictionStd: this.predictionStd(row, output),
      rangeStd: this.rangeStds.length ? this.rangeStds[this.line(row, output)] : this.predictionStd(row, output),
      hiddenStd: this.hiddenStds[this.line(row, output)] ?? NaN,
      probability: this.probability(row, output),
      likeliest: this.report.model.classes?.[this.label(row)] ?? this.report.outputs[output],
      attributions: this.report.players.map((_, d) => this.attribution(row, output, d)),
    });
  }

  /** The number of the class that is thought likeliest; 0 for a number. */
  label(row: number): number {
    const { model, outputs } = this.report;
    if (model.task === "binary") return (this.probability(row, 0) ?? 0) >= 0.5 ? 1 : 0;
    let best = 0;
    outputs.forEach((_, k) => {
      if ((this.probability(row, k) ?? 0) > (this.probability(row, best) ?? 0)) best = k;
    });
    return best;
  }

  /** The observed outcome: a number or the number of a class; null if it is not known. */
  truth(row: number): number | null {
    const v = this.truths[row];
    return v === undefined || Number.isNaN(v) ? null : v;
  }

  /** A cell as a number to sort and draw by: labels by their place. */
  value(row: number, column: number): number | null {
    const cells = this.report.rows.cells[column];
    if (cells.codes) return cells.codes[row] < 0 ? null : cells.codes[row];
    return cells.numbers?.[row] ?? null;
  }

  /** A cell as the table had it; null if it is missing. */
  text(row: number, column: number): string | null {
    const cells = this.report.rows.cells[column];
    const v = this.value(row, column);
    if (v === null) return null;
    if (cells.codes) return cells.labels?.[v] ?? "";
    return this.report.columns[column].kind === "time" ? moment(v) : cell(v);
  }

  /** A player with what it is in a row. */
  cell(row: number, player: number): string {
    const { columns } = this.report.players[player];
    const texts = columns.map((c) => this.text(row, c) ?? "missing");
    const other = this.isOther(row * this.report.players.length + player) ? " (other)" : "";
    return texts.join(", ") + other;
  }

  /** The column of a player that is not a group. */
  column(player: number): number | null {
    const { columns } = this.report.players[player];
    return columns.length === 1 ? columns[0] : null;
  }
}
