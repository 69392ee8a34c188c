import type { Context } from "../context.ts";
import type { Model, Warning } from "../document.ts";
import { h, p, sentences } from "../dom.ts";
import { times } from "./decisions.ts";
import { count, kept, number, percent, thousands } from "../words.ts";

/** The first page, for readers who read no other: a verdict, what to mind, and the few numbers that say most. */
export function summary(c: Context): Node[] {
  const { report } = c;
  const { model, data } = report;
  const heads = ["How well. ", "What drives it. ", "What to watch. "];
  return [
    h("div", { class: "brief" }, report.verdict.map((sentence, i) => h("p", { class: "lead" }, h("strong", {}, heads[i]), kept(sentence)))),
    warnings(c),
    h("div", { class: "cards" }, cards(c)),
    p(`The model in ${model.name} predicts ${c.predicted}, from ${count(report.columns.length, "column")}. It learned from ${count(model.provenance.training_rows, "row")}. `, learnedOn(c), recalibrated(model),
      `This report reads ${count(data.rows, "row")} of ${data.name}`,
      data.labelled === 0 ? `, which do not tell what came true: how well the model predicts them cannot be said.` :
        data.labelled < data.rows ? `; of ${thousands(data.labelled)} of them it is known what came true.` : `.`),
  ];
}

/** The scale of a skewed number, in words. */
function learnedOn(c: Context): string {
  switch (c.scale) {
    case "log-mean": return `Columns multiply its prediction of the mean of ${c.model.target}, because that scatters over a wide range (scale log-mean). `;
    case "log": return `Columns multiply its prediction of the median of ${c.model.target} (scale log): half of the outcomes should lie above it, so predictions add up to less than outcomes do. `;
  }
  return "";
}

function recalibrated(model: Model): string {
  const last = model.recalibrations?.at(-1);
  return last ? `Since then its base and scale were set anew on ${count(last.rows, "row")} (psi recalibrate). ` : "";
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
  const more = lesser.length ? `${count(lesser.length, "small thing")} to keep in mind ${lesser.length === 1 ? "is" : "are"} under “What was in the data”.` : "";
  if (first.length === 0) return h("section", { class: "verdict good" }, h("h3", {}, "Nothing to warn of"), p("No check found a reason to doubt the model or its columns. ", more));
  const grave = first.some((w) => w.kind.startsWith("no_better_than") || w.kind === "leak" || w.kind === "too_good");
  return h("section", { class: `verdict ${grave ? "poor" : "fair"}` }, h("h3", {}, "Before you use this model"),
    h("ul", {}, first.map((w) => h("li", {}, sentences(w.words)))), more ? p(more) : null);
}

const tooGood = 0.999;

/** The few numbers that say most, in words. */
function cards(c: Context): Node[] {
  const { performance, model } = c.report;
  const where = performance.aside ? "rows kept aside in training" : "these rows";
  const known = (name: string) => {
    const at = performance.metrics.findIndex((m) => m.name === name);
    const v = (performance.aside ? performance.metrics[at]?.validation : performance.metrics[at]?.value) ?? null;
    const mean = performance.baselines.find((b) => b.name === "mean")?.values[at] ?? null;
    return v === null ? null : { v, plain: performance.aside ? mean : name === "mae" ? null : performance.plain };
  };
  const card = (value: string, words: string) => h("div", { class: "card" }, h("p", { class: "big" }, value), p(words));
  const doubted = (v: number) => (v >= tooGood ? " So much is rarely true: ask whether a column knows the outcome." : "");
  const list: Node[] = [];
  if (model.task === "regression") {
    const median = c.scale === "log", off = known(median ? "mae" : "rmse"), r2 = known("r2"), cover = known("coverage_90");
    if (off) list.push(card(number(off.v, 3), `${median ? "mean" : "typical"} error in ${model.target}, on ${where}.` + (off.plain !== null ? ` Always saying the mean would be off by ${number(off.plain, 3)}.` : "")));
    if (r2) list.push(card(percent(r2.v), `of the ups and downs are foreseen. Always saying the mean foresees none of them.${doubted(r2.v)}`));
    if (cover) list.push(card(percent(cover.v), "of outcomes lie in the range that should hold 90 % of them."));
    return list;
  }
  const { decisions } = performance;
  const chosen = decisions?.at[decisions.first];
  const right = known("accuracy"), pairs = known("auroc") ?? known("macro_auroc"), gap = known("ece");
  if (chosen && chosen.threshold !== 0.5) { // of a rare class, always saying the other is right nearly always
    list.push(card(times(chosen.lift), `as many ${model.classes?.[1]} as among all rows are in the ${percent(chosen.called ?? 0)} of rows with a probability of ${chosen.threshold} and more.`));
  } else if (right) list.push(card(percent(right.v), `of predictions name the right class, on ${where}.` + (right.plain !== null ? ` Always saying ${performance.plain_guess || "the commonest"} would be right in ${percent(right.plain)}.` : "")));
  if (pairs) list.push(card(percent(pairs.v), (model.task === "binary" ?
    `is how often, of a ${model.classes?.[1]} and a ${model.classes?.[0]}, the first gets the higher probability. Tossing a coin reaches 50 %.` :
    "is how often a row of a class gets a higher probability of it than a row of another. Tossing a coin reaches 50 %.") + doubted(pairs.v)));
  if (gap) list.push(card(`${(100 * gap.v).toFixed(1)} points`, "is how far probabilities are from what comes true, on the average."));
  return list;
}
