import type { Context } from "../context.ts";
import type { Game, Model, Warning } from "../document.ts";
import { h, p, sentences } from "../dom.ts";
import { times } from "./decisions.ts";
import { count, kept, list, number, percent, thousands } from "../words.ts";

/** The first page, for readers who read no other: a verdict, warnings, and the most important numbers. */
export function summary(c: Context): Node[] {
  const { report } = c;
  const { model, data } = report;
  const heads = ["How well. ", "What drives it. ", "What to watch. "];
  return [
    h("div", { class: "brief" }, report.verdict.map((sentence, i) => h("p", { class: "lead" }, h("strong", {}, heads[i]), kept(sentence)))),
    warnings(c),
    ...few(cards(c)),
    p(`The model in ${model.name} predicts ${c.predicted}, from ${count(report.columns.length, "column")}. ${origin(c)} `, learnedOn(c), recalibrated(model),
      `This report reads ${count(data.rows, "row")} of ${data.name}`,
      data.labelled === 0 ? `. Their outcomes are not known, so the report cannot measure how well the model predicts them.` :
        data.labelled < data.rows ? `; the outcome is known for ${thousands(data.labelled)} of them.` : `.`),
  ];
}

/** Cards beside each other; nothing if nothing is known. */
function few(list: Node[]): Node[] {
  return list.length ? [h("div", { class: "cards" }, list)] : [];
}

/** Where the model comes from, and what happens to absent columns if the game is not the observational one. */
export function origin(c: Context): string {
  const { model, game } = c.report;
  const from = model.imported;
  const made = from ? `It is an import of ${count(from.trees, "tree")} of ${from.format} with ${count(from.leaves, "leaf").replace("leafs", "leaves")}. ${from.rows ? `When it was imported, psi measured it on ${count(from.rows, "row")}.` : "It was imported without rows, so psi measured nothing then."}` :
    model.mixed ? `It is a mean of ${model.mixed.length} models: ${list(model.mixed.map((m) => `${m.what} with a share of ${percent(m.share)}`))}.` :
      `It was trained on ${count(model.provenance.training_rows, "row")}.`;
  return game.name !== "observational" ? `${made} ${told(game)}` : made;
}

/** What happens to absent columns, in a sentence. */
export function told(game: Game): string {
  const rows = game.references ? ` with ${count(game.references, "reference row")}` : "";
  return `Attributions compare predictions with and without a column: if a column is absent, ${game.absent} (the ${game.name} game${rows}).`;
}

/** The scale of a skewed number, in words. */
function learnedOn(c: Context): string {
  switch (c.scale) {
    case "log-mean": return `Columns multiply its prediction of the mean of ${c.model.target}, because the target varies over a wide range (scale log-mean). `;
    case "log": return `Columns multiply its prediction of the median of ${c.model.target} (scale log). Half of the outcomes should lie above it, so the sum of predictions is lower than the sum of outcomes. `;
  }
  return "";
}

function recalibrated(model: Model): string {
  const last = model.recalibrations?.at(-1);
  return last ? `Its base and scale were later refitted on ${count(last.rows, "row")} (psi recalibrate). ` : "";
}

const leastChange = 0.01; // share of all attributions that a warning of this page bears on
const mostWarnings = 6;

/** The warnings of the first page, and those that change too little for it. */
export function parted(all: readonly Warning[]): { first: Warning[]; lesser: Warning[] } {
  const first = all.filter((w) => w.change >= leastChange).slice(0, mostWarnings);
  return { first, lesser: all.slice(first.length) };
}

function warnings(c: Context): Node {
  const { first, lesser } = parted(c.report.warnings);
  const more = lesser.length ? `${count(lesser.length, "minor warning")} ${lesser.length === 1 ? "is" : "are"} on the page “Data”.` : "";
  if (first.length === 0) return h("section", { class: "verdict good" }, h("h3", {}, "No warnings"), p(c.model.imported ? "No check of the table found a reason to doubt its columns. " : "No check found a reason to doubt the model or its columns. ", more));
  const grave = first.some((w) => w.kind.startsWith("no_better_than") || w.kind === "leak" || w.kind === "too_good");
  return h("section", { class: `verdict ${grave ? "poor" : "fair"}` }, h("h3", {}, "Before you use this model"),
    h("ul", {}, first.map((w) => h("li", {}, sentences(w.words)))), more ? p(more) : null);
}

const tooGood = 0.999;

/** The few numbers that say most, in words. */
function cards(c: Context): Node[] {
  const { performance, model } = c.report;
  const where = performance.aside ? (model.imported || model.mixed ? `the ${c.measured}` : c.measured) : "these rows";
  const known = (name: string) => {
    const at = performance.metrics.findIndex((m) => m.name === name);
    const v = (performance.aside ? performance.metrics[at]?.validation : performance.metrics[at]?.value) ?? null;
    const mean = performance.baselines.find((b) => b.name === "mean")?.values[at] ?? null;
    return v === null ? null : { v, plain: performance.aside ? mean : name === "mae" ? null : performance.plain };
  };
  const card = (value: string, words: string) => h("div", { class: "card" }, h("p", { class: "big" }, value), p(words));
  const doubted = (v: number) => (v >= tooGood ? " A value this high is rarely real: check whether a column gives away the outcome." : "");
  const list: Node[] = [];
  if (model.task === "regression") {
    const median = c.scale === "log", off = known(median ? "mae" : "rmse"), r2 = known("r2"), cover = known("coverage_90");
    if (off) list.push(card(number(off.v, 3), `${median ? "mean" : "typical"} error in ${model.target}, on ${where}.` + (off.plain !== null ? ` Always predicting the mean would give ${number(off.plain, 3)}.` : "")));
    if (r2) list.push(card(percent(r2.v), `of the variation is explained (R²). Always predicting the mean explains none of it.${doubted(r2.v)}`));
    if (cover) list.push(card(percent(cover.v), `of outcomes lie in their 90 % prediction interval, on ${where}${(model.imported || model.mixed) && performance.aside ? ". psi fitted the intervals on them" : ""}.`));
    return list;
  }
  const { decisions } = performance;
  const chosen = decisions?.at[decisions.first];
  const right = known("accuracy"), pairs = known("auroc") ?? known("macro_auroc"), gap = known("ece");
  if (chosen && chosen.threshold !== 0.5) { // of a rare class, always saying the other is right nearly always
    list.push(card(times(chosen.lift), `as many ${model.classes?.[1]} as among all rows are in the ${percent(chosen.called ?? 0)} of rows with a probability of ${chosen.threshold} or more (lift).`));
  } else if (right) list.push(card(percent(right.v), `of predictions are the right class, on ${where}.` + (right.plain !== null ? ` Always predicting ${performance.plain_guess || "the most common class"} would be right in ${percent(right.plain)}.` : "")));
  if (pairs) list.push(card(percent(pairs.v), (model.task === "binary" ?
    `of pairs of a ${model.classes?.[1]} and a ${model.classes?.[0]} row are ranked correctly (AUROC): the first gets the higher probability. Chance alone reaches 50 %.` :
    "of pairs of rows of different classes are ranked correctly (macro AUROC): a row of a class gets a higher probability of it than the other row. Chance alone reaches 50 %.") + doubted(pairs.v)));
  if (gap) list.push(card(`${(100 * gap.v).toFixed(1)} points`, "is the average gap between predicted probabilities and observed shares (ECE)."));
  return list;
}
