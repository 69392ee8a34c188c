import { p } from "../dom.ts";
import { game, glossary, sources } from "../pages/provenance.ts";
import { formula } from "../interval.ts";
import { audit, doubted, untold, verdict } from "../pages/trust.ts";
import type { Page } from "../viewer.ts";
import { moment } from "../words.ts";
import { columns } from "./columns.ts";
import type { Batch } from "./context.ts";
import { done } from "./done.ts";

export const batchPages: Page<Batch>[] = [
  { id: "done", title: "What was explained", render: done },
  { id: "trust", title: "How far to trust it", render: trust },
  { id: "columns", title: "Which columns matter", render: columns },
  { id: "provenance", title: "Where it comes from", render: provenance },
];

function trust(c: Batch): Node[] {
  const { trust: t } = c.report;
  return [
    p("A prediction is split into attributions: what each column added or subtracted. Is the split right for this model?", t.audit ? " Some rows of the batch were audited, and the sums of all rows were checked." : ""),
    verdict("Is the split right?", t.level, t.verdict, t.words),
    ...audit(c, t.audit),
    ...doubted(c, "In the results, the interval of an attribution, from lower to upper,"),
    untold(c, "a report of one of the files, psi report MODEL FILE, names such columns."),
  ];
}

function provenance(c: Batch): Node[] {
  const { run, model } = c.report;
  return [
    ...sources(model, [
      ["Summary", run.name], ["Job", run.job], ["Explained", run.in], ["Results", run.out || "not known"],
      ["Started", moment(Math.floor(Date.parse(run.submitted) / 1000))], ["Units of work", String(run.units)],
      ["Mode", run.mode], ["Intervals in the results", formula({ ...c.report, unknown: c.unknown })],
    ]),
    glossary(c, [
      ["Unit of work", "Some row groups of a file, or the whole file. A worker explains one unit at a time, and a unit fails or succeeds as a whole."],
      ...(c.unknown ? [] : [["Mean spread, mean doubt", "The mean over rows of each attribution's spread, and of its doubt: one standard deviation each."] as [string, string]]),
    ]),
    game(c.report.game),
  ];
}
