import { Shown, signature } from "../context.ts";
import { count } from "../words.ts";
import type { BatchImportance, BatchReport, Verdict } from "./document.ts";

/** What the pages of a batch share. */
export class Batch extends Shown {
  readonly title: string;
  readonly subtitle: string;

  constructor(readonly report: BatchReport) {
    super(report.model, report.scale, report.outputs, report);
    this.title = report.title;
    const { rows, files, units, failed } = report.run;
    this.subtitle = `${signature(report)}${report.model.name}, ${count(rows, "row")} ${failed ? `explained, ${failed} of ${count(units, "unit")} failed` : `of ${count(files, "file")}`}`;
  }

  /** Of the output that is shown; none if no row was explained. */
  importances(): BatchImportance[] {
    return this.report.importances[this.output] ?? [];
  }

  drift(): Verdict {
    return this.report.drift[this.output];
  }

  name(player: number): string {
    return this.report.players[player];
  }
}
