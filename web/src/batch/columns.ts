import { figure } from "../chart.ts";
import { h, p, table } from "../dom.ts";
import { noIntervals } from "../interval.ts";
import { beside, most, notCause } from "../pages/columns.ts";
import { verdict } from "../pages/trust.ts";
import { count, list, number, percent } from "../words.ts";
import type { Batch } from "./context.ts";
import type { BatchImportance } from "./document.ts";

/** Which columns mattered, here and in training, and which were missing. */
export function columns(c: Batch): Node[] {
  const all = c.importances();
  const drift = c.drift();
  const compared = verdict(`Do columns matter as they did ${c.then}?`, drift.level, drift.verdict, drift.words);
  if (all.length === 0) return [compared];
  const first = all.slice(0, 3).map((i) => c.name(i.player));
  return [
    p(`${list(first)} ${first.length > 1 ? "move" : "moves"} ${c.sum} most. The figures below are from all ${count(c.report.run.rows, "row")} that were explained.`),
    bars(c, all), compared, missing(c),
  ];
}

/** The columns with missing cells. */
function missing(c: Batch): Node {
  const lacked = c.report.run.missing.filter((m) => m.ratio > 0).sort((a, b) => b.ratio - a.ratio);
  return h("section", { class: "block" }, h("h3", {}, "Missing cells"),
    lacked.length === 0 ? p("No cell was missing.") :
      table("Columns with missing cells", ["Column", "Share of rows"], lacked.map((m) => [m.player, percent(m.ratio)]), [false, true]));
}

function bars(c: Batch, all: BatchImportance[]): Node {
  const trained = all.every((i) => i.trained !== null);
  const doubted = all.every((i) => i.doubt !== null);
  const by = new Map(all.map((i) => [i.player, i]));
  const of = (player: number) => by.get(player) as BatchImportance;
  const shown = all.slice(0, most).map((i) => i.player);
  const title = "How much each column moves predictions";
  const groups = [(d: number) => of(d).mean, ...(trained ? [(d: number) => of(d).trained as number] : [])];
  return figure({
    title,
    read: `The longer a bar, the more the column moves ${c.sum}, up or down, on average over all rows; a row without the column counts as 0. ` +
      `${c.unknown ? noIntervals : "The thin line extends by the mean spread to either side: how much the column's contribution varies among rows like a given one."}${trained ? ` The second bar is the same for the ${c.measured}.` : ""}`,
    not: notCause,
    legend: [{ colour: "series-0", text: "this batch" }, ...(trained ? [{ colour: "series-1", text: c.model.imported || c.model.mixed ? c.measured : "training" }] : [])],
    picture: beside(c, title, shown, (d) => c.name(d), groups, c.unknown ? undefined : (d) => of(d).std),
    numbers: table(`${title}: means over all rows, in ${c.unit}`, ["Column", "Size", ...(doubted ? ["Doubt"] : []), ...(c.unknown ? [] : ["Spread"]), `Size ${c.then}`, "Here ÷ then", "Missing"],
      all.map((i) => [c.name(i.player), number(i.mean, 3), ...(doubted ? [number(i.doubt as number, 2)] : []), ...(c.unknown ? [] : [number(i.std, 2)]), i.trained === null ? "–" : number(i.trained, 3), i.trained ? number(i.mean / i.trained, 3) : "–", percent(c.report.run.missing[i.player].ratio)]),
      [false, true, true, true, true, true, true]),
  });
}
