import type { Context, Shown } from "../context.ts";
import type { Model } from "../document.ts";
import { details, h, p, table } from "../dom.ts";
import { formula, measure, ofDoubt, ofSpread } from "../interval.ts";
import { count, number, thousands } from "../words.ts";

export type Fact = [name: string, value: string];

/** Where all of it comes from, and what the words mean. */
export function provenance(c: Context): Node[] {
  const { model, data } = c.report;
  return [
    ...sources(model, [
      ["Table of this report", `${data.name}, ${count(data.rows, "row")}`],
      ["Explained", `${data.explained < data.rows ? `${count(data.explained, "row")} drawn at random (seed ${data.seed})` : `all ${count(data.rows, "row")}`}; ${thousands(data.carried)} of them shown one by one, ${thousands(data.paired)} used for pairs`],
      ["Intervals", formula(c.report)],
    ]),
    glossary(c, [
      ["z", "How wide intervals are: as likely as ± z standard deviations of a normal distribution. z = 1.96 gives intervals of 95 %."],
      ["Acting together", "What two columns add by coming together, beyond what each adds alone: their Shapley interaction index."],
    ]),
    game(),
  ];
}

/** What is known of a model, and more facts. */
export function sources(model: Model, more: Fact[]): Node[] {
  const from = model.provenance;
  const facts: Fact[] = [
    ["Model", model.name], ["Its digest", model.digest], ["Predicts", `${model.target} (${model.task})`],
    ["Head", model.head === "exact" ? "exact: attributions are the model's Shapley values by construction" : "learned: attributions are trained to come near the model's Shapley values"],
    ["Size", `${count(model.weights, "weight")}${model.members > 1 ? `, mean of ${model.members} networks` : ""}`],
    ["Trained on", `${count(from.training_rows, "row")}, ${thousands(from.validation_rows)} more kept aside (${from.validation})`],
    ["Digest of the training data", from.data], ["Seed of the training", String(from.seed)],
    ["Trained with", [
      `psi ${from.psi}`, ...(from.revision ? [`revision ${from.revision}`] : []), from.backend, ...(from.cpu ? [from.cpu] : []),
      ...(from.threads ? [count(from.threads, "thread")] : []), `effort ${from.effort ?? "normal"}`, ...(from.time_budget ? [`within ${from.time_budget}`] : []),
      ...(from.share && Math.round(100 * from.share) < 100 ? [`${Math.round(100 * from.share)} % of its steps`] : []),
    ].join(", ")],
    ...(model.recalibrations ?? []).map((r): Fact => ["Recalibrated", `on ${count(r.rows, "row")}: attributions are multiplied by ${number(r.factor, 3)}`]),
    ...(model.weight ? [["Rows count by", model.weight] as Fact] : []),
    ...more,
  ];
  return [
    h("dl", { class: "facts" }, facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    details("Settings of the training", table("Settings of the training", ["Setting", "Value"], Object.entries(model.settings).map(([key, v]) => [key, String(v)]))),
  ];
}

/** The words that are used, in their order. */
export function glossary(c: Shown, more: Fact[]): Node {
  const words: Fact[] = [
    ["Attribution", "What a column added to a prediction, or took from it. It is the column's Shapley value: what knowing the column changes, averaged over all orders in which the columns of the row could have become known."],
    ["Base", "Where every prediction starts: what the model says when it knows nothing of a row. Base and attributions add up to the prediction."],
    ["Importance", "The mean size of a column's attributions, whichever way they go."],
    ...(c.bags > 0 ? [["Doubt", `How sure the number of an attribution is, written ±. ${ofDoubt(c.share, c.bags)}`] as Fact] : []),
    ["Spread", `A standard deviation: ${ofSpread(c.classes)}`],
    ["Interval", `An attribution and its ${measure(c)} to either side.`],
    ["Sure", `A column is sure to raise or to lower a prediction if its interval, by ${measure(c)}, does not hold 0.`],
    ...(c.scale === "logit" ? [["Log odds", "The logarithm of p / (1 − p). 0 is even odds, and adding 1 multiplies the odds by 2.7."] as Fact] : []),
    ...more,
    ["Missing", "A missing cell is not known, and has no attribution; the model predicts from what is there."],
  ];
  return h("section", { class: "block" }, h("h3", {}, "Words used here"), h("dl", { class: "words" },
    words.flatMap(([name, meaning]) => [h("dt", {}, name), h("dd", {}, meaning)])));
}

/** Which of the many games these are the Shapley values of. */
export function game(): Node {
  return h("section", { class: "block" }, h("h3", {}, "Which Shapley values these are"),
    p("They are those of what is known: a column is credited for what knowing it tells, about itself and about columns that go with it. So columns that say the same share the credit. Other programs compute Shapley values of another game, in which unknown columns are drawn at random whatever the others are; those are different numbers. Neither is about causes."));
}
