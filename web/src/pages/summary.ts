import type { Context } from "../context.ts";
import type { Model, Warning } from "../document.ts";
import { h, p, sentences } from "../dom.ts";
import { times } from "./decisions.ts";
import { count, kept, number, percent, thousands } from "../words.ts";

/** The first page, for readers who read no other: a verdict, warnings, and the most important numbers. */
export function summary(c: Context): Node[] {
  const { report } = c;
  const { model, data } = report;
  const heads = ["How well. ", "What drives it. ", "What to watch. "];
  return [
    h("div", { class: "brief" }, report.verdict.map((sentence, i) => h("p", { class: "lead" }, h("strong", {}, heads[i]), kept(sentence)))),
    warnings(c),
    h("div", { class: "cards" }, cards(c)),
    p(`The model in ${model.name} predicts ${c.predicted}, from ${count(report.columns.length, "column")}. It was trained on ${count(model.provenance.training_rows, "row")}. `, learnedOn(c), recalibrated(model),
      `This report reads ${count(data.rows, "row")} of ${data.name}`,
      data.labelled === 0 ? `. Their outcomes are not known, so the report cannot measure how well the model predicts them.` :
        data.labelled < data.rows ? `; the outcome is known for ${thousands(data.labelled)} of them.` : `.`),
  ];
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
  if (first.length === 0) return h("section", { class: "verdict good" }, h("h3", {}, "No warnings"), p("No check found a reason to doubt the model or its columns. ", more));
  const grave = first.some((w) => w.kind.startsWith("no_better_than") || w.kind === "leak" || w.kind === "too_good");
  return h("section", { class: `verdict ${grave ? "poor" : "fair"}` }, h("h3", {}, "Before you use this model"),
    h("ul", {}, first.map((w) => h("li", {}, sentences(w.words)))), more ? p(more) : null);
}

const tooGood = 0.999;

/** The few numbers that say most, in words. */
function cards(c: Context): Node[] {
  const { performance, model } = c.report;
  const where = performance.aside ? "rows held out from training" : "these rows";
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
    if (cover) list.push(card(percent(cover.v), `of outcomes lie in their 90 % prediction interval, on ${where}.`));
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
