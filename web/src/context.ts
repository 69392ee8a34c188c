import type { Order } from "./attribution.ts";
import type { Importance, Report } from "./document.ts";
import type { Explainer, StoredRows } from "./explainer.ts";
import { type Choices, type Subject, sum, unit } from "./subject.ts";

/** What pages share: the document, where explanations come from, and what the reader chose. */
export class Context implements Choices {
  output = 0;
  z: number;
  order: Order = "sure";
  row = 0; // place among the rows carried
  query = "";
  sort = { by: "row", down: false };
  first = 0; // line of the list of rows that is shown first
  column = 0; // place among the importances, for the page of one column
  pair = 0;
  width = 720; // of the text, in pixels

  constructor(readonly report: Report, readonly rows: StoredRows, readonly explainer: Explainer) {
    this.z = Math.min(3, report.z);
    this.column = this.importances()[0].player;
  }

  importances(): Importance[] {
    return this.report.importances[this.output];
  }

  name(player: number): string {
    return this.report.players[player].name;
  }

  get classes(): boolean {
    return this.report.model.classes !== null;
  }

  /** What is predicted, in a sentence. */
  get predicted(): string {
    const { model } = this.report;
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
    return this.report.outputs[this.output];
  }

  get subject(): Subject {
    const { model, scale } = this.report;
    return { target: model.target, scale, outputName: this.outputName, classes: model.classes };
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
