import * as Plot from "@observablehq/plot";
import { draw, figure } from "../chart.ts";
import type { Context } from "../context.ts";
import type { Decision } from "../document.ts";
import { fresh, h, p, table } from "../dom.ts";
import { count, number, percent, thousands } from "../words.ts";

/** What becomes of calling rows positive from a probability up, which the reader chooses. */
export function decisions(c: Context): Node[] {
  const { decisions: all } = c.report.performance;
  if (!all) return [];
  const positive = c.outputName;
  const title = `Choosing a threshold for ${positive}`;
  const id = fresh("threshold"), output = h("output", { for: id });
  const slider = h("input", { id, type: "range", class: "threshold", min: 0, max: all.at.length - 1, step: 1, value: all.first });
  const live = h("p", { role: "status", class: "lead" }), result = h("div", {});
  const refresh = () => {
    const d = all.at[Number(slider.value)];
    slider.setAttribute("aria-valuetext", String(d.threshold));
    output.textContent = `${d.threshold} or more`;
    live.textContent = inWords(d, positive);
    result.replaceChildren(cards(d, positive), h("div", { class: "beside" }, curve(c, all.at, d), matrix(d, positive)));
  };
  slider.addEventListener("input", refresh);
  refresh();
  return [figure({
    title,
    read: "Move the threshold. A lower threshold selects more rows: it finds more of those that are sought, and more false positives. The curve has a point for each threshold; the large dot is the chosen one. The dashed line is what random selection reaches.",
    not: `Which threshold is best. That depends on the cost of a false positive and of a missed row. On training rows all of this looks better than it is.`,
    controls: [h("div", { class: "control wide" }, h("label", { for: id }, "Select rows with a probability of"), slider, output)],
    picture: h("div", {}, live, result),
    numbers: table(`${title}, by threshold`, ["Threshold", "Selected", "Precision", "Recall", "Lift", "F1"],
      all.at.filter((_, i) => i % 5 === all.first % 5).map((d) => [String(d.threshold), rows(d.true_positives + d.false_positives), share(d.precision), share(d.recall), times(d.lift), share(d.f1)]), [true, true, true, true, true, true]),
  })];
}

const share = (v: number | null) => (v === null ? "–" : percent(v));
export const times = (v: number | null) => (v === null ? "–" : `× ${number(v, 2)}`);

/** A sum of weights, which is a count if all rows count alike. */
const rows = (v: number) => (Number.isInteger(v) ? thousands(v) : number(v));

/** The decision in a sentence or two. */
export function inWords(d: Decision, positive: string): string {
  const called = d.true_positives + d.false_positives;
  if (called === 0) return `No row is predicted ${positive}: none has a probability of ${d.threshold}.`;
  return `${called === 1 ? "1 row is" : `${rows(called)} rows are`} predicted ${positive}, ${percent(d.called ?? 0)} of all. ${rows(d.true_positives)} of them are ${positive}; ${rows(d.false_negatives)} other ${positive} rows are missed.`;
}

function cards(d: Decision, positive: string): Node {
  const card = (value: string, words: string) => h("div", { class: "card" }, h("p", { class: "big" }, value), p(words));
  return h("div", { class: "cards" },
    card(share(d.precision), `of the rows predicted ${positive} are ${positive} (precision).`),
    card(share(d.recall), `of the rows that are ${positive} are found (recall).`),
    card(times(d.lift), `as many ${positive} as among rows drawn at random (lift).`));
}

/** The confusion matrix. */
function matrix(d: Decision, positive: string): Node {
  return table(`Rows at a threshold of ${d.threshold}`, ["Observed", `predicted ${positive}`, "not predicted"],
    [[positive, rows(d.true_positives), rows(d.false_negatives)], ["other", rows(d.false_positives), rows(d.true_negatives)]], [false, true, true]);
}

/** Precision over recall. */
function curve(c: Context, all: Decision[], chosen: Decision): Node {
  const known = (d: Decision) => d.precision !== null && d.recall !== null;
  const base = (chosen.true_positives + chosen.false_negatives) / (chosen.true_positives + chosen.false_negatives + chosen.false_positives + chosen.true_negatives);
  const size = Math.min(c.width, 440);
  return draw({
    width: size, height: size * 0.7, marginLeft: 50, grid: true,
    x: { label: "recall", domain: [0, 1], tickFormat: (v: number) => percent(v), ticks: 5 },
    y: { label: "precision", domain: [0, Math.max(base, ...all.map((d) => d.precision ?? 0))], nice: true, tickFormat: (v: number) => percent(v), ticks: 5 },
    marks: [Plot.ruleY([base], { stroke: "var(--muted)", strokeDasharray: "4 3" }),
      Plot.line(all.filter(known), { x: "recall", y: "precision", stroke: "var(--down)", strokeWidth: 1.8 }),
      Plot.dot([chosen].filter(known), { x: "recall", y: "precision", r: 6, fill: "var(--up)", stroke: "var(--bg)" })],
  }, `Precision and recall at ${count(all.length, "threshold")}; at ${chosen.threshold} a precision of ${share(chosen.precision)} and a recall of ${share(chosen.recall)}.`);
}
