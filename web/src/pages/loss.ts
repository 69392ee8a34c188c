import * as Plot from "@observablehq/plot";
import { draw, figure, labelRoom } from "../chart.ts";
import type { Context } from "../context.ts";
import type { LossImportance } from "../document.ts";
import { h, table } from "../dom.ts";
import { count, list, number, shorten, thousands } from "../words.ts";

interface Bar { player: string; mean: number; error: number; found: boolean }

/** Which columns improve predictions, on rows held out from training; nothing if training did not measure it. */
export function loss(c: Context, most: number): Node[] {
  const all = (c.report.trust.audit?.loss_importance ?? []).filter((x) => x.mean !== null).sort((a, b) => (b.mean as number) - (a.mean as number));
  if (all.length === 0) return [];
  const what = c.classes ? "log loss" : "squared error";
  const title = "Which columns improve predictions";
  const shown = all.slice(0, most);
  const groups = Math.max(...all.map((x) => x.units ?? 0));
  const unit = power(Math.max(...shown.map((x) => Math.abs(x.mean as number) + (x.standard_error ?? 0))));
  const bars: Bar[] = shown.map((x) => ({ player: x.player, mean: (x.mean as number) / 10 ** unit, error: (x.standard_error ?? 0) / 10 ** unit, found: x.found }));
  const room = labelRoom(shown.map((x) => x.player), c.width);
  const axis = `reduction of the ${what}${c.classes || c.width < 500 ? "" : ` of ${c.report.model.target}`}${unit ? `, in units of 10${raised(unit)}` : ""}`;
  return [figure({
    title,
    controls: [h("p", {}, told(all))],
    read: `A bar shows how much lower the ${what} of a row is, on average, once the model also knows the column. Columns become known one by one in a random order. ${c.classes ? "Log loss penalises a low probability for the observed class." : "Squared error is the square of the prediction error."} The thin line is one standard error to either side${groups ? `, computed over ${count(groups, "group")} of related rows` : ""}. It was measured when the model was ${c.model.imported ? "imported" : c.model.mixed ? "mixed" : "trained"}, on ${count(Math.max(...all.map((x) => x.rows)), "row")}${c.model.imported || c.model.mixed ? "" : " held out"}.`,
    not: "Whether a column with a pale bar is useless: its benefit may be too small to show in so few rows. Two columns with the same information share the credit. The bars show what the model gains from knowing a column, not what causes the outcome.",
    legend: [{ colour: "down", text: "helps beyond chance" }, { colour: "pale", text: "may be chance" }],
    picture: draw({
      width: c.width, height: 50 + 26 * shown.length, marginLeft: room.margin, marginTop: 6, marginRight: 24,
      x: { label: axis, grid: true, zero: true, ticks: Math.max(3, Math.floor(c.width / 110)) },
      y: { label: null, domain: bars.map((b) => b.player), tickFormat: (name: string) => shorten(name, room.most), tickSize: 0 },
      marks: [Plot.barX(bars, { x: "mean", y: "player", fill: (b: Bar) => (b.found ? "var(--down)" : "var(--pale)"), insetTop: 3, insetBottom: 3 }),
        Plot.ruleY(bars.filter((b) => b.error > 0), { x1: (b: Bar) => b.mean - b.error, x2: (b: Bar) => b.mean + b.error, y: "player", stroke: "var(--ink)" }),
        Plot.ruleX([0])],
      color: { type: "identity" },
    }, `${title}: ${shown.length} bars. ${told(all)}`),
    numbers: table(title, ["Column", `Lowers the ${what} by`, "Standard error", "p", "Helps beyond chance", "Rows"],
      all.map((x) => [x.player, number(x.mean as number, 3), written(x.standard_error, 2), written(x.p, 2), x.found ? "yes" : "no evidence", thousands(x.rows)]), [false, true, true, true, false, true]),
  })];
}

const written = (v: number | null, digits: number) => (v === null ? "–" : number(v, digits));

/** Which columns help beyond chance, in a sentence. */
export function told(all: LossImportance[]): string {
  const found = all.filter((x) => x.found).map((x) => x.player);
  const test = "in a test corrected for the number of columns";
  if (found.length === 0) return `No column is shown to improve predictions beyond chance, ${test}.`;
  if (found.length === all.length) return `${all.length === 1 ? "The column improves" : `All ${all.length} columns improve`} predictions beyond chance, ${test}.`;
  const named = found.length <= 4 ? list(found) : `${found.length} of ${all.length} columns, led by ${list(found.slice(0, 3))},`;
  return `${named} ${found.length === 1 ? "improves" : "improve"} predictions beyond chance, ${test}. There is no such evidence for the other ${all.length - found.length === 1 ? "column" : count(all.length - found.length, "column")}.`;
}

/** The power of ten, a multiple of three, by which numbers are divided to be short; 0 if they are. */
export function power(largest: number): number {
  if (!(largest > 0) || (largest < 1e5 && largest >= 1e-3)) return 0;
  return 3 * Math.floor(Math.log10(largest) / 3);
}

const raised = (n: number) => [...String(n)].map((d) => (d === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(d)])).join("");
