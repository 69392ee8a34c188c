import type { Context, Shown } from "../context.ts";
import type { Game, Imported, Model } from "../document.ts";
import { details, h, p, table } from "../dom.ts";
import { formula, measure, ofDoubt, ofSpread } from "../interval.ts";
import { count, number, percent, thousands } from "../words.ts";
import { told } from "./summary.ts";

export type Fact = [name: string, value: string];

/** Sources, and a glossary. */
export function provenance(c: Context): Node[] {
  const { model, data } = c.report;
  return [
    ...sources(model, [
      ["Table of this report", `${data.name}, ${count(data.rows, "row")}`],
      ["Explained", `${data.explained < data.rows ? `${count(data.explained, "row")} drawn at random (seed ${data.seed})` : `all ${count(data.rows, "row")}`}; ${thousands(data.carried)} of them shown one by one, ${thousands(data.paired)} used for pairs`],
      ["Intervals", formula({ ...c.report, unknown: c.unknown })],
    ]),
    glossary(c, [
      ...(c.unknown ? [] : [["z", "Sets the width of intervals: they have the probability of ± z standard deviations of a normal distribution. z = 1.96 gives 95 % intervals."] as Fact]),
      ["Interaction", "What two columns together add, beyond what each adds alone: their Shapley interaction index."],
    ]),
    game(c.report.game.name === "observational" ? null : c.report.game),
  ];
}

/** What is known of a model, and more facts. */
export function sources(model: Model, more: Fact[]): Node[] {
  const from = model.provenance;
  if (model.mixed) return [facts([...mixedFacts(model, model.mixed), ...more])];
  if (model.imported) return [facts([...importedFacts(model, model.imported), ...more])];
  return [
    facts([
    ["Model", model.name], ["Model digest", model.digest], ["Predicts", `${model.target} (${model.task})`],
    ["Head", model.head === "exact" ? "exact: attributions are the model's Shapley values by construction" : "learned: attributions are trained to approximate the model's Shapley values"],
    ["Size", `${count(model.weights, "weight")}${model.members > 1 ? `, mean of ${model.members} networks` : ""}`],
    ["Trained on", `${count(from.training_rows, "row")}, ${thousands(from.validation_rows)} more held out (${from.validation})`],
    ["Training data digest", from.data], ["Training seed", String(from.seed)],
    ["Trained with", [
      `psi ${from.psi}`, ...(from.revision ? [`revision ${from.revision}`] : []), from.backend, ...(from.cpu ? [from.cpu] : []),
      ...(from.threads ? [count(from.threads, "thread")] : []), `effort ${from.effort ?? "normal"}`, ...(from.time_budget ? [`within ${from.time_budget}`] : []),
      ...(from.share && Math.round(100 * from.share) < 100 ? [`${Math.round(100 * from.share)} % of its steps`] : []),
    ].join(", ")],
    ...recalibrations(model),
    ...(model.weight ? [["Rows weighted by", model.weight] as Fact] : []),
    ...more,
    ]),
    details("Training settings", table("Training settings", ["Setting", "Value"], Object.entries(model.settings).map(([key, v]) => [key, String(v)]))),
  ];
}

/** What is known of trees of another program. */
function importedFacts(model: Model, from: Imported): Fact[] {
  return [
    ["Model", model.name], ["Model digest", model.digest], ["Predicts", `${model.target} (${model.task})`],
    ["Trees", `${thousands(from.trees)} of ${from.format}, objective ${from.objective}; ${thousands(from.leaves)} leaves, at most ${count(from.depth, "split")} deep`],
    ["Trained on", "not known: another program trained it"],
    ["Measured on", from.rows ? `${count(from.rows, "row")} that it was imported with` : "nothing: it was imported without rows"],
    ...(model.provenance.data ? [["Digest of these rows", model.provenance.data] as Fact] : []),
    ["Imported with", [`psi ${model.provenance.psi}`, ...(model.provenance.revision ? [`revision ${model.provenance.revision}`] : [])].join(", ")],
    ...recalibrations(model),
  ];
}

/** What is known of a mean of models. */
function mixedFacts(model: Model, members: { share: number; what: string }[]): Fact[] {
  const from = model.provenance;
  return [
    ["Model", model.name], ["Model digest", model.digest], ["Predicts", `${model.target} (${model.task})`],
    ...members.map((m, i): Fact => [`Part ${i + 1}`, `${m.what}, with a share of ${percent(m.share)}`]),
    ["Shares fitted on", `${count(from.validation_rows, "row")} (${from.validation})`], ["Digest of these rows", from.data],
    ["Mixed with", [`psi ${from.psi}`, ...(from.revision ? [`revision ${from.revision}`] : [])].join(", ")],
    ...recalibrations(model),
  ];
}

function recalibrations(model: Model): Fact[] {
  return (model.recalibrations ?? []).map((r): Fact => ["Recalibrated", `on ${count(r.rows, "row")}: attributions are multiplied by ${number(r.factor, 3)}`]);
}

function facts(list: Fact[]): Node {
  return h("dl", { class: "facts" }, list.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** The words that are used, in their order. */
export function glossary(c: Shown, more: Fact[]): Node {
  const words: Fact[] = [
    ["Attribution", "What a column added to a prediction or subtracted from it. It is the column's Shapley value: the change from knowing the column, averaged over all orders in which the columns of the row could become known."],
    ["Base", "Where every prediction starts: what the model predicts without knowing any column of a row. Base and attributions add up to the prediction."],
    ["Importance", "The mean size of a column's attributions, whether they raise or lower the prediction."],
    ...(c.bags > 0 ? [["Doubt", `The uncertainty of an attribution from the choice of training rows (epistemic uncertainty), written ±. ${ofDoubt(c.share, c.bags)}`] as Fact] : []),
    ...(c.unknown ? [] : [["Spread", `A standard deviation: ${ofSpread(c.classes)}`],
    ["Interval", `An attribution plus and minus its ${measure(c)}.`],
    ["Sure", `A column is sure to raise or to lower a prediction if its interval, by ${measure(c)}, does not contain 0.`]] as Fact[]),
    ...(c.scale === "logit" ? [["Log odds", "The logarithm of p / (1 − p). 0 is even odds, and adding 1 multiplies the odds by 2.7."] as Fact] : []),
    ...more,
    c.model.imported ? ["Missing", "A missing cell is a value for these trees, with an attribution of its own."] :
      ["Missing", "A missing cell is not known and has no attribution; the model predicts from the cells that are present."],
  ];
  return h("section", { class: "block" }, h("h3", {}, "Glossary"), h("dl", { class: "words" },
    words.flatMap(([name, meaning]) => [h("dt", {}, name), h("dd", {}, meaning)])));
}

/** Which of the many games these are the Shapley values of; null is the observational one. */
export function game(of: Game | null): Node {
  if (of) return h("section", { class: "block" }, h("h3", {}, "Which Shapley values these are"), p(`${told(of)} Other games give different numbers. None of them is about causes.`));
  return h("section", { class: "block" }, h("h3", {}, "Which Shapley values these are"),
    p("They are observational (conditional) Shapley values: a column gets credit for what knowing it reveals, about itself and about columns associated with it. So columns with the same information share the credit. Some other programs compute interventional Shapley values, which draw unknown columns at random regardless of the others; those are different numbers. Neither is about causes."));
}
