import * as Plot from "@observablehq/plot";
import { probability } from "../attribution.ts";
import { draw, figure, heat, labelRoom, onHeat, some } from "../chart.ts";
import type { Context } from "../context.ts";
import type { Metric } from "../document.ts";
import { details, h, p, table } from "../dom.ts";
import { logs, response, times } from "../response.ts";
import { decisions } from "./decisions.ts";
import { chance, count, number, percent, tenths, shorten, thousands } from "../words.ts";

/** What the model predicts, and how well: pictures first, measures that need statistics behind a fold. */
export function predicts(c: Context): Node[] {
  const { data } = c.report;
  const measured = c.report.performance.metrics.some((m) => m.validation !== null);
  return [
    p(`How predictions of ${c.predicted} compare with observed outcomes`, data.labelled === 0 ? (measured ? ` on ${c.measured}: ${data.name} has no outcomes.` : `: ${data.name} has no outcomes, so it cannot be measured here.`) :
      c.report.performance.baselines.length ? `, and with simple models.` : "."),
    ...pictures(c),
    ...baselines(c),
    ...(measured || data.labelled > 0 ? [details("All metrics, for readers who know statistics", ...figures(c))] : []),
    scales(c),
  ];
}

const names: Record<string, string> = {
  rmse: "Typical error (RMSE)", mae: "Mean error (MAE)", r2: "Variance explained (R²)", nll: "Negative log likelihood",
  coverage_50: "Inside 50 % intervals", coverage_90: "Inside 90 % intervals",
  auroc: "Pairs in the right order (AUROC)", average_precision: "Average precision", log_loss: "Log loss",
  brier: "Squared error of probabilities (Brier)", ece: "Calibration gap (ECE)", accuracy: "Right class (accuracy)",
  macro_auroc: "Pairs in the right order (macro AUROC)",
};

const shares = new Set(["r2", "coverage_50", "coverage_90", "accuracy", "auroc", "macro_auroc"]);

function written(m: Metric, v: number | null): string {
  if (v === null) return "–";
  return shares.has(m.name) ? tenths(v) : number(v, 4);
}

/** Measures that need no statistics to be read. */
const common = new Set(["rmse", "mae", "r2", "auroc", "macro_auroc", "accuracy"]);

/** All measures, of the model and of plain models. */
function figures(c: Context): Node[] {
  const { performance, model } = c.report;
  const unit = (m: Metric) => m.meaning + (m.in_target_units ? `, in units of ${model.target}` : "");
  const here = c.report.data.labelled > 0;
  const stored = performance.metrics.some((m) => m.validation !== null);
  const headers = ["Metric", ...(here ? ["These rows"] : []), ...(stored ? [c.measured[0].toUpperCase() + c.measured.slice(1)] : []), "Meaning"];
  return [
    table("How well the model predicts", headers, performance.metrics.map((m) =>
      [names[m.name] ?? m.name, ...(here ? [written(m, m.value)] : []), ...(stored ? [written(m, m.validation)] : []), unit(m)]), [false, true, here && stored], true),
    ...(here ? [p(h("strong", {}, "Note where the rows come from. "), "On its training rows, any model looks better than it is. ", model.imported ? "psi does not know which rows the trees were trained on." : model.mixed ? "The shares of its parts were fitted on the rows it was mixed with." : "The held-out rows were not used to fit the weights, but they decided when training stopped.")] : []),
    ...(performance.baselines.length ? [beside(c, "All metrics of simple models, on the rows held out from training", () => true)] : []),
  ];
}

/** Some measures of the model and of plain models. */
function beside(c: Context, caption: string, shown: (m: Metric) => boolean): HTMLElement {
  const { metrics, baselines: list } = c.report.performance;
  const lines = metrics.map((m, i) => ({ m, values: list.map((b) => b.values[i]) })).filter((line) => shown(line.m) && line.values.some((v) => v !== null));
  return table(caption, ["Metric", "This model", ...list.map((b) => b.label[0].toUpperCase() + b.label.slice(1))],
    lines.map(({ m, values }) => [names[m.name] ?? m.name, written(m, m.validation), ...values.map((v) => written(m, v))]), [false, true, ...list.map(() => true)]);
}

/** The measures that people know, of plain models too. */
function baselines(c: Context): Node[] {
  if (c.report.performance.baselines.length === 0) return [];
  return [h("section", { class: "block" },
    h("h3", {}, "Comparison with simple models"),
    h("p", { class: "note" }, h("strong", {}, "How to read it: "), "these models were trained on the same rows. If one of them predicts as well, use that one: it is easier to understand. The linear model is a weighted sum of the columns. The additive model is a sum of one curve per column."),
    h("p", { class: "note" }, h("strong", {}, "What it does not say: "), "whether a small difference would hold on other rows."),
    beside(c, "Simple models on the rows held out from training", (m) => common.has(m.name)))];
}

function pictures(c: Context): Node[] {
  switch (c.report.model.task) {
    case "binary":
      return [histogram(c), ...decisions(c)];
    case "multiclass":
      return c.report.performance.confusion ? [confusion(c)] : [];
    default:
      return [c.report.data.labelled > 0 ? scatter(c) : distribution(c)];
  }
}

/** Probabilities of two classes, by observed outcome. */
function histogram(c: Context): Node {
  const { performance, model, data } = c.report;
  const bars = performance.histogram ?? [];
  const [negative, positive] = model.classes ?? ["", ""];
  const parts = bars.flatMap((b) => [
    { ...b, rows: b.unknown, of: 2 }, { ...b, rows: b.negative, of: 1 }, { ...b, rows: b.positive, of: 0 },
  ]);
  const colours = ["var(--up)", "var(--down)", "var(--missing)"];
  const title = `Predicted probabilities of ${positive}`;
  const marks = colours.map((fill, of) => {
    const lower = (b: (typeof bars)[number]) => (of === 2 ? 0 : of === 1 ? b.unknown : b.unknown + b.negative);
    return Plot.rectY(parts.filter((b) => b.of === of && b.rows > 0), { x1: "low", x2: "high", y1: lower, y2: (b: (typeof parts)[number]) => lower(b) + b.rows, fill, inset: 0.5 });
  });
  const legend = [{ colour: "up", text: `observed: ${positive}` }, { colour: "down", text: `observed: ${negative}` }];
  return figure({
    title,
    read: `Each bar counts the rows with about that probability, coloured by observed outcome. A model that separates the two classes has the colours on different sides.`,
    not: `Why a row has its probability: see “Single rows”. A high probability is not a certainty.`,
    legend: data.labelled === 0 ? [{ colour: "missing", text: "outcome not known" }] :
      data.labelled < data.rows ? [...legend, { colour: "missing", text: "outcome not known" }] : legend,
    picture: draw({
      width: c.width, height: 260, marginLeft: 56, x: { label: `probability of ${positive}`, domain: [0, 1] },
      y: { label: "rows", grid: true, tickFormat: (v: number) => thousands(v) }, marks: [...marks, Plot.ruleY([0])],
    }, `${title}: a histogram of ${count(data.rows, "row")}.`),
    numbers: table(title, ["Probability", `Observed: ${positive}`, `Observed: ${negative}`, "Outcome not known"],
      bars.map((b) => [`${b.low.toFixed(2)} to ${b.high.toFixed(2)}`, thousands(b.positive), thousands(b.negative), thousands(b.unknown)]), [false, true, true, true]),
  });
}

/** Predicted and true numbers. */
function scatter(c: Context): Node {
  const { model } = c.report;
  const rows = some(c.rows.length, 1000).filter((r) => c.rows.truth(r) !== null);
  const dots = rows.map((r) => ({ row: c.report.rows.numbers[r], said: c.said(r), true: c.rows.truth(r) as number }));
  const all = dots.flatMap((d) => [d.said, d.true]);
  const domain = [Math.min(...all), Math.max(...all)];
  const title = `Predicted and true ${model.target}`;
  const size = Math.min(c.width, 520);
  return figure({
    title, narrow: true,
    read: "Each dot is a row. On the dashed line the prediction is exact; the farther a dot is from it, the larger the error.",
    not: `How rare kinds of rows are predicted: these are ${count(dots.length, "row")} drawn at random, and may not include them.`,
    picture: draw({
      width: size, height: size * 0.85, marginLeft: 60, grid: true, x: { label: `predicted ${shorten(model.target, 30)}`, domain, ticks: Math.max(3, Math.floor(size / 110)) }, y: { label: `true ${shorten(model.target, 30)}`, domain },
      marks: [Plot.line([[domain[0], domain[0]], [domain[1], domain[1]]], { stroke: "var(--muted)", strokeDasharray: "4 3" }),
        Plot.dot(dots, { x: "said", y: "true", r: 2, fill: "var(--down)", fillOpacity: 0.55 })],
    }, `${title}, ${count(dots.length, "row")}.`),
    numbers: table(`${title}: the twelve largest errors`, ["Row", "Predicted", "True", "Error"],
      [...dots].sort((a, b) => Math.abs(b.said - b.true) - Math.abs(a.said - a.true)).slice(0, 12).map((d) =>
        [String(d.row), number(d.said), number(d.true), number(d.said - d.true, 3)]), [true, true, true, true]),
  });
}

/** Predicted numbers where the outcomes are not known. */
function distribution(c: Context): Node {
  const { model } = c.report;
  const said = some(c.rows.length, 1000).map((r) => c.said(r));
  const title = `Predicted ${model.target}`;
  return figure({
    title,
    read: "Each bar counts the rows with a prediction in that range.",
    not: "Whether the predictions are right: the outcomes are not known.",
    picture: draw({
      width: c.width, height: 240, marginLeft: 50, x: { label: `predicted ${model.target}` }, y: { label: "rows", grid: true },
      marks: [Plot.rectY(said, { ...Plot.binX({ y: "count" }, { x: (v: number) => v }), fill: "var(--down)" }), Plot.ruleY([0])],
    }, `${title}, ${count(said.length, "row")}.`),
  });
}

/** Which classes are taken for which. */
function confusion(c: Context): Node {
  const { classes, counts } = c.report.performance.confusion as { classes: string[]; counts: number[][] };
  const cells = counts.flatMap((line, truth) => {
    const rows = line.reduce((a, b) => a + b, 0);
    return line.map((n, said) => ({ truth, said, n, share: rows ? n / rows : 0 }));
  });
  const title = "Which classes are confused (confusion matrix)";
  const narrow = c.width < 500;
  const size = Math.min(c.width, 150 + 60 * classes.length);
  const room = labelRoom(classes, size);
  return figure({
    title, narrow: classes.length < 9,
    read: "Each line shows the rows of one class: the share of them, in per cent, predicted as each class. A perfect model has 100 along the diagonal from upper left to lower right.",
    not: "How close a wrong prediction was. Only the most probable class of each row is counted.",
    picture: draw({
      width: size, height: 100 + 34 * classes.length, marginLeft: room.margin, marginBottom: 84, marginTop: 6,
      x: { label: "predicted class", labelOffset: 78, tickFormat: (k: number) => shorten(classes[k], narrow ? 8 : 14), tickSize: 0, tickRotate: -35, domain: classes.map((_, k) => k) }, y: { label: null, tickFormat: (k: number) => shorten(classes[k], room.most), tickSize: 0, domain: classes.map((_, k) => k) },
      marks: [Plot.cell(cells, { x: "said", y: "truth", fill: (d: (typeof cells)[number]) => heat(d.share), inset: 0.5 }),
        Plot.text(cells.filter((d) => d.n > 0), { x: "said", y: "truth", text: (d: (typeof cells)[number]) => (d.share < 0.001 ? "< 0.1" : (100 * d.share).toFixed(d.share < 0.1 ? 1 : 0)), fill: (d: (typeof cells)[number]) => onHeat(d.share) })],
      color: { type: "identity" },
    }, title),
    numbers: table(`${title}: rows`, ["True class", ...classes.map((k) => `predicted ${k}`)], counts.map((line, k) => [classes[k], ...line.map(thousands)]), [false, ...classes.map(() => true)]),
  });
}

/** What predictions start from and add up in. */
function scales(c: Context): Node {
  const { report } = c;
  if (report.scale === "identity") {
    return h("section", { class: "block" }, h("h3", {}, "Where every prediction starts"),
      p(`Without knowing any column, the model predicts ${number(report.base[0])}${report.model.imported || report.model.mixed || !report.game.own ? "" : ", the mean of its training rows"}: the base. Each column of a row then adds to it or subtracts from it, and the sum is the prediction.`));
  }
  if (logs(report.scale)) {
    return h("section", { class: "block" }, h("h3", {}, "Two scales: logs and numbers"),
      p(`The model adds up logs, so each column multiplies the predicted ${report.model.target}: adding 0.1 means 11 % more, adding 0.7 twice as much. Without knowing any column, it predicts ${number(response(c, report.base[0]))}: the base. ${report.scale === "log-mean" ? "Predictions are means: their sum over many rows matches the sum of the true numbers." : "Predictions are medians: about half of the true numbers lie above them, so their sum is lower than the sum of the true numbers."}`),
      table("Logs as factors", ["Log", "Factor"], [-2, -1, -0.5, -0.1, 0, 0.1, 0.5, 1, 2].map((v) => [number(v), times(v)]), [true, true]));
  }
  if (report.scale === "logit") {
    const [base] = report.base;
    return details("Two scales: log odds and probability",
      p(`The model adds up log odds and converts the sum to a probability. Log odds of 0 mean a probability of 50 %; adding 1 multiplies the odds by 2.7. Without knowing any column, it starts at log odds of ${number(base, 3)}, a probability of ${percent(probability(base))}: the base${report.model.imported || report.model.mixed || !report.game.own ? "" : `, how common ${c.outputName} is`}.`), ...(report.model.imported ? [] : [p(gaps)]),
      table("Log odds as probabilities", ["Log odds", "Probability"], [-4, -3, -2, -1, 0, 1, 2, 3, 4].map((v) => [number(v), chance(probability(v))]), [true, true]));
  }
  if (report.scale === "share") {
    return h("section", { class: "block" }, h("h3", {}, "Where every prediction starts"),
      p(`Without knowing any column, the model gives ${c.outputName} a probability of ${chance(report.base[c.output])}: the base. Each column of a row then adds to it or subtracts from it, and the sum is the probability.`));
  }
  return details("Two scales: scores and probabilities",
    p("The model adds up a score for each class and converts the scores to probabilities. The higher a score relative to the other classes, the more probable the class. A score that is 1 higher makes a class 2.7 times as probable as the other."), ...(report.model.imported ? [] : [p(gaps)]));
}

const gaps = "In a row with missing cells, the distance from the base is first multiplied by a factor. Training chose it so that the probabilities of such rows are calibrated.";
