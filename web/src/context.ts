import type { Order } from "./attribution.ts";
import type { Cover, Importance, Interval, Model, Report } from "./document.ts";
import type { Explainer, StoredRows } from "./explainer.ts";
import { response } from "./response.ts";
import { reachOf, within } from "./share.ts";
import { type Choices, type Scale, type Subject, sum, unit } from "./subject.ts";
import { count, day } from "./words.ts";

/** What is shown: of which model, which of its outputs, and in what width. */
export abstract class Shown {
  output = 0;
  width = 720; // of the text, in pixels
  abstract readonly title: string;
  abstract readonly subtitle: string;

  readonly bags: number; // trainings that tell the doubt of attributions; 0 if it is not known
  readonly share: number; // of cases, that intervals hold at first
  readonly nonNegative: boolean; // no training row had a negative target
  readonly unknown: boolean; // attributions have no intervals

  constructor(readonly model: Model, readonly scale: Scale, readonly outputs: string[], intervals: { z: number; bags: number; interval: Interval; non_negative?: boolean }) {
    this.unknown = intervals.interval === "none";
    this.bags = intervals.bags;
    this.share = within(intervals.z);
    this.nonNegative = intervals.non_negative ?? false;
  }

  choose(output: number): void {
    this.output = output;
  }

  /** Goes to a place within a page; reports whether the page must be redrawn. */
  arrive(_page: string, _place: string): boolean {
    return false;
  }

  get classes(): boolean {
    return this.model.classes !== null;
  }

  /** The rows that the numbers in the model file were measured on. */
  get measured(): string {
    return this.model.imported ? "rows it was imported with" : this.model.mixed ? "rows it was mixed with" : "rows held out from training";
  }

  /** When the numbers in the model file were measured. */
  get then(): string {
    return this.model.imported || this.model.mixed ? `on the ${this.measured}` : "in training";
  }

  /** What is predicted, in a sentence. */
  get predicted(): string {
    const { model } = this;
    switch (model.task) {
      case "binary":
        return `whether ${model.target} is ${model.classes?.[1]}`;
      case "multiclass":
        return `which of ${model.classes?.length} classes ${model.target} is`;
      default:
        return model.target;
    }
  }

  /** The output that attributions are of. */
  get outputName(): string {
    return this.outputs[this.output];
  }

  get subject(): Subject {
    const { model, scale, nonNegative } = this;
    return { target: model.target, scale, nonNegative, outputName: this.outputName, classes: model.classes };
  }

  /** What attributions are measured in, for an axis. */
  get unit(): string {
    return unit(this.subject);
  }

  /** What attributions add up to. */
  get sum(): string {
    return sum(this.subject);
  }
}

/** Who made a report, and when, for the line under its title. */
export function signature(c: Cover): string {
  const parts = [c.author, c.date ? day(c.date) : ""].filter((part) => part);
  return parts.length ? `${parts.join(", ")} · ` : "";
}

/** What the pages of a report share: the document, where explanations come from, and what the reader chose. */
export class Context extends Shown implements Choices {
  z: number;
  order: Order = "sure";
  row = 0; // place among the rows carried
  query = "";
  sort = { by: "row", down: false };
  first = 0; // line of the list of rows that is shown first
  column = 0; // place among the importances, for the page of one column
  pair = 0;
  compared = -1; // place among the rows of two games; −1 is the row that differs most
  readonly title: string;
  readonly subtitle: string;

  constructor(readonly report: Report, readonly rows: StoredRows, readonly explainer: Explainer) {
    super(report.model, report.scale, report.outputs, report);
    this.title = report.title;
    this.subtitle = `${signature(report)}${report.model.name}, ${count(report.data.rows, "row")} of ${report.data.name}`;
    this.z = Math.min(3, report.z);
    this.column = this.importances()[0].player;
  }

  /** The number that is predicted of a row, in the target's own units. */
  said(row: number): number {
    return response(this, this.rows.prediction(row, 0));
  }

  get reach(): number {
    return reachOf(this.z, this.bags);
  }

  override choose(output: number): void {
    super.choose(output);
    this.pair = 0;
    this.compared = -1;
  }

  override arrive(page: string, place: string): boolean {
    const row = page === "rows" ? this.report.rows.numbers.indexOf(Number(place)) : -1;
    if (row < 0 || row === this.row) return false;
    this.row = row;
    return true;
  }

  importances(): Importance[] {
    return this.report.importances[this.output];
  }

  name(player: number): string {
    return this.report.players[player].name;
  }
}
