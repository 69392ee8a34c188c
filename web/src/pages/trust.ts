import * as Plot from "@observablehq/plot";
import { ranked, sure } from "../attribution.ts";
import { draw, figure } from "../chart.ts";
import type { Context, Shown } from "../context.ts";
import type { Audit } from "../document.ts";
import { details, h, p, table } from "../dom.ts";
import { ofDoubt } from "../interval.ts";
import { count, kept, number, percent, thousands } from "../words.ts";

/** How far to trust the attributions, and the calibration of predictions. */
export function trust(c: Context): Node[] {
  const { trust: t, calibration } = c.report;
  return [
    p("A prediction is split into attributions: what each column added or subtracted. ", c.bags > 0 ?
      "Three questions decide how far to trust it. Is the split right for this model? How far would other training rows have moved it? Are the model's stated uncertainties right?" :
      c.unknown ? `Two questions decide how far to trust it. Is the split right for this model? Are its ${c.classes ? "probabilities" : "prediction intervals"} right? How far other training rows would have moved the split is not known.` :
        "Two questions decide how far to trust it. Is the split right for this model? Are the model's stated uncertainties right?"),
    verdict("Is the split right?", t.level, t.verdict, t.words),
    ...audit(c, t.audit),
    ...(c.bags > 0 ? doubted(c, "± beside an attribution", held(c)) : []),
    verdict(c.unknown ? `Are its ${c.classes ? "probabilities" : "prediction intervals"} right (calibration)?` : "Are its stated uncertainties right (calibration)?", calibration.level, calibration.verdict, calibration.words),
    ...(calibration.promises?.length ? [reliability(c)] : []),
    ...missing(c),
    untold(c, "the page “Data” names such columns."),
  ];
}

/** What no check can show. */
export function untold(c: Shown, alike: string): Node {
  return h("section", { class: "block" }, h("h3", {}, "What no check can show"), h("ul", {},
    h("li", {}, "Whether a column is a cause. An attribution shows how the model used the column, not what would happen if somebody changed it."),
    h("li", {}, "Whether the model is right. Attributions explain the model, not the world: for a wrong prediction they show how the model went wrong."),
    h("li", {}, `Which of two columns with the same information is the real one. They share the credit; ${alike}`),
    h("li", {}, c.bags > 0 ?
      "How far other settings, another kind of model or rows from elsewhere would move an attribution. Doubt covers only other samples of rows like the training rows." :
      c.unknown ? "How far other training rows would move an attribution: that is not known for this model." :
        "How far other training rows would move an attribution: this model has no estimate of its doubt. Its intervals show the spread.")));
}

/** How many of the attributions shown row by row are sure. */
function held(c: Context): string {
  let all = 0, certain = 0, first = 0;
  for (let row = 0; row < c.rows.length; row++) {
    const list = c.report.players.map((_, d) => c.rows.attribution(row, c.output, d)).filter((a) => a.observed);
    const largest = ranked(list, { z: 0, reach: 0 }, "sure")[0];
    all += list.length;
    certain += list.filter((a) => sure(a, c.report)).length;
    if (largest && sure(largest, c.report)) first++;
  }
  return `Of the ${thousands(all)} attributions that this report shows row by row, ${percent(all ? certain / all : 0)} are sure to raise or to lower ${c.sum}: their interval does not contain 0. The largest attribution of a row is sure in ${percent(first / Math.max(1, c.rows.length))} of rows.`;
}

/** How sure the numbers are, if the model tells, and what shows it. */
export function doubted(c: Shown, shown: string, ...more: string[]): Node[] {
  if (c.bags === 0) return [];
  return [h("section", { class: "block" }, h("h3", {}, "How far would other training rows have moved it?"),
    p(`${shown} is the doubt: the uncertainty from the choice of training rows. ${ofDoubt(c.share, c.bags)}`), more.map((text) => p(text)),
    p("Doubt is not spread. Spread is how much the column's contribution varies among rows like this one; more training rows need not make it smaller."))];
}

const marks: Record<string, string> = { exact: "✓", good: "✓", close: "✓", fair: "!", rough: "!", poor: "✗", unchecked: "?" };
const judged: Record<string, string> = { exact: "yes", good: "yes", close: "nearly", fair: "nearly", rough: "only roughly", poor: "no", unchecked: "not known" };

/** An answer to a question, and what it rests on. */
export function verdict(question: string, level: string, words: string, reasons: string[], answer = judged[level]): Node {
  return h("section", { class: `verdict ${level}` },
    h("h3", {}, question, " ", h("span", { class: "judged" }, h("span", { "aria-hidden": "true" }, marks[level] + " "), answer)),
    h("p", { class: "lead" }, kept(words)), reasons.map((text) => p(kept(text))));
}

/** The numbers of an audit. */
export function audit(c: Shown, a: Audit | null): Node[] {
  if (!a) return [];
  const lines: [string, number | null, (v: number) => string, string][] = [
    ["Error of attributions", a.relative_rmse, (v) => number(v, 2), "relative to their size; 0 if they are the model's Shapley values"],
    ["… with cells removed", a.subgame_relative_rmse, (v) => number(v, 2), "the same for rows with missing cells"],
    ["Correlation", a.correlation, (v) => v.toFixed(6), "of attributions and the model's Shapley values; 1 is best"],
    ["Same most important column", a.top1, percent, "share of rows"],
    ["Same three most important", a.top3, percent, "mean overlap"],
    ["Largest gap of the sum", a.efficiency_max, (v) => number(v, 2), c.classes ? "prediction minus base and attributions, in units of the score" : "prediction minus base and attributions, in standard deviations of the target"],
    ["Error of the check itself", a.standard_error, (v) => number(v, 2), "where the model's Shapley values were sampled"],
    ["Within three standard errors", a.within_3_se, percent, "share of attributions, where sampled"],
  ];
  return [details(`The audit in numbers: ${count(a.rows, "row")}, ${thousands(a.coalitions)} evaluations of the model`,
    table("Audit of attributions", ["Metric", "Value", "Meaning"], lines.filter((l) => l[1] !== null).map(([name, v, write, words]) => [name, write(v as number), words]), [false, true], true))];
}

/** Nominal and observed shares. */
function reliability(c: Context): Node {
  const points = c.report.calibration.promises ?? [];
  const bands = points.map((d) => {
    const sd = Math.sqrt((d.promised * (1 - d.promised)) / Math.max(1, d.rows));
    return { x: d.promised, low: Math.max(0, d.promised - 2 * sd), high: Math.min(1, d.promised + 2 * sd) };
  });
  const title = c.classes ? "Predicted probability and observed share" : "Predicted intervals and observed coverage";
  const promised = c.classes ? "predicted probability" : "nominal coverage";
  const kept = c.classes ? "observed share" : "observed coverage";
  const size = Math.min(c.width, 440);
  return figure({
    title, narrow: true,
    read: `On the dashed line the model is well calibrated. ${c.classes ? "Dots above it: the class occurred more often than predicted. Dots below it: less often." : "Dots below it: the intervals are too narrow. Dots above it: too wide."} Grey bars show the variation to expect from chance alone with this number of rows.`,
    not: "How calibration differs between kinds of rows. The model may be overconfident for some and underconfident for others.",
    picture: draw({
      width: size, height: size * 0.9, marginLeft: 50, grid: true, x: { label: promised, domain: [0, 1] }, y: { label: kept, domain: [0, 1] },
      marks: [Plot.line([[0, 0], [1, 1]], { stroke: "var(--muted)", strokeDasharray: "4 3" }),
        Plot.ruleX(bands, { x: "x", y1: "low", y2: "high", stroke: "var(--faint)", strokeWidth: 7 }),
        Plot.line(points, { x: "promised", y: "kept", stroke: "var(--down)", strokeWidth: 1.8 }),
        Plot.dot(points, { x: "promised", y: "kept", fill: "var(--down)", r: 3.5 })],
    }, `${title}: ${points.length} points.`),
    numbers: table(title, [promised, kept, "rows"], points.map((d) => [d.promised.toFixed(3), d.kept.toFixed(3), thousands(d.rows)]), [true, true, true]),
  });
}

/** How predictions suffer when cells are missing. */
function missing(c: Context): Node[] {
  const list = (c.report.trust.audit?.coalitions_error ?? []).map((e) => ({ kept: e.kept, error: e.rmse ?? e.log_loss ?? null })).filter((e) => e.error !== null) as { kept: number; error: number }[];
  if (list.length < 2) return [];
  const what = c.classes ? "log loss" : `typical error in ${c.report.model.target}`;
  const absent = c.report.game.name !== "observational"; // a missing cell is a value
  const title = absent ? "What happens when columns are absent" : "What happens when cells are missing";
  return [figure({
    title, narrow: true,
    read: `From right to left, more and more cells of the ${c.model.imported || c.model.mixed ? c.measured : "held-out rows"} were hidden at random. The line is the ${what}. ${absent ? `If a column is absent, ${c.report.game.absent}.` : "It should rise gently, because the model is trained to predict with missing cells."}`,
    not: absent ? "What a missing cell does: it is a value of its own for these trees." : "What happens when cells are missing for a reason rather than at random: that may do more harm.",
    picture: draw({
      width: Math.min(c.width, 440), height: 250, marginLeft: 56, x: { label: "share of cells known", domain: [0.2, 1.02], tickFormat: (v: number) => percent(v), ticks: [0.25, 0.5, 0.75, 1] },
      y: { label: what, grid: true, zero: true, nice: true },
      marks: [Plot.line(list, { x: "kept", y: "error", stroke: "var(--down)", strokeWidth: 1.8 }), Plot.dot(list, { x: "kept", y: "error", fill: "var(--down)", r: 3.5 })],
    }, title),
    numbers: table(title, ["Cells known", what], list.map((e) => [percent(e.kept), number(e.error)]), [true, true]),
  })];
}
