import { att, type Attribution, margin, probability, ranked, sure } from "../attribution.ts";
import type { Context } from "../context.ts";
import { h, table } from "../dom.ts";
import type { Explained } from "../explainer.ts";
import { measure } from "../interval.ts";
import { changed, controls, inWords, waterfall } from "../one.ts";
import { clipped, range, response, times } from "../response.ts";
import { within } from "../share.ts";
import type { Told } from "../subject.ts";
import { chance, decimalsFor, level, number, shorten, signed } from "../words.ts";

/** One row in full: its prediction, the slider, the waterfall, reasons in words, and the ranks. */
export async function detail(c: Context, row: number): Promise<Node> {
  const e = await c.explainer.explain(row, c.output);
  const write = decimalsFor(Math.max(...e.attributions.map((a) => Math.abs(a.mean)), 0));
  const told: Told = { ...c.subject, what: `row ${c.report.rows.numbers[row]}`, name: (d) => c.name(d), cell: (d) => c.rows.cell(row, d) };
  const picture = h("div", {}), words = h("div", {}), ranks = h("div", {});
  const live = h("p", { class: "note", role: "status" });
  let before = ranked(e.attributions, c, c.order);
  const refresh = (tell: boolean) => {
    const now = ranked(e.attributions, c, c.order);
    picture.replaceChildren(waterfall(c, told, e, now, write));
    words.replaceChildren(inWords(c, told, e, write));
    ranks.replaceChildren(rankTable(c, row, now, write));
    if (tell) live.textContent = changed(c, told, before, now);
    before = now;
  };
  refresh(false);
  return h("article", { class: "row" },
    h("h3", { tabindex: -1 }, `Row ${c.report.rows.numbers[row]}`),
    h("p", { class: "lead" }, verdict(c, row, e)),
    controls(c, () => refresh(true)), live, picture, words, ranks);
}

/** The prediction of the row, on both scales, and the observed outcome. */
function verdict(c: Context, row: number, e: Explained): string {
  const { report } = c;
  const { model } = report;
  const truth = c.rows.truth(row);
  const ends = range(c, e, 1.96);
  const held = c.classes || Number.isNaN(e.predictionStd) ? "" : ` (95 % interval ${number(ends[0])} to ${number(ends[1])})`;
  const came = truth === null ? "" : model.classes ? ` The observed outcome is ${model.classes[truth]}.` : ` The observed outcome is ${number(truth)}.`;
  const hidden = e.hiddenStd > 0.05 * e.predictionStd && e.hiddenStd > 0 ? " Missing cells make it less certain." : "";
  switch (report.scale) {
    case "logit":
      return `Probability of ${c.outputName}: ${chance(e.probability ?? NaN)}, from a base of ${chance(probability(e.base))}.${came}${hidden}`;
    case "share":
    case "score":
      return `Probability of ${c.outputName}: ${chance(e.probability ?? NaN)}; the most probable class is ${e.likeliest}.${came}${hidden}`;
    case "log-mean":
    case "log":
      return `Predicted ${model.target}: ${number(response(c, e.prediction))}${held}, ${times(e.prediction - e.base)} the base of ${number(response(c, e.base))}. Sizes below are logs of factors.${came}${hidden}`;
    default:
      return `Predicted ${model.target}: ${number(response(c, e.prediction))}${held}, from a base of ${number(e.base)}.${clipped(c, e.prediction) ? ` The sum is ${number(e.prediction)}, but ${model.target} is never negative.` : ""}${came}${hidden}`;
  }
}

function rankTable(c: Context, row: number, order: Attribution[], write: (v: number) => string): Node {
  if (c.unknown) {
    return h("section", { class: "block ranks" }, h("h4", {}, "Ranking"), table(`Columns of row ${c.report.rows.numbers[row]} by size`, ["Rank", "Column", "Attribution", "Direction"],
      order.map((a, i) => [String(i + 1), `${c.name(a.player)} = ${shorten(c.rows.cell(row, a.player), 24)}`, signed(write(a.mean)), a.mean < 0 ? "▼ lowers it" : a.mean > 0 ? "▲ raises it" : "no effect"]), [true, false, true], false));
  }
  const by = measure(c), share = c.z > 0 ? `${level(within(c.z))} intervals by ${by}` : "without intervals";
  const number = `row ${c.report.rows.numbers[row]}`;
  if (c.width < 500) {
    const written = (a: Attribution) => `${signed(write(a.mean))} ± ${write(margin(a, c))}`;
    return h("section", { class: "block ranks" }, h("h4", {}, "Ranking"), table(`Columns of ${number}, in order, ${share}; brackets mark columns that are not sure`, ["Rank", "Column", "Attribution"],
      order.map((a, i) => [String(i + 1), c.name(a.player), sure(a, c) ? written(a) : `(${written(a)})`]), [true, false, true]));
  }
  const doubt = c.bags > 0;
  return h("section", { class: "block ranks" }, h("h4", {}, "Ranking"),
    table(`Columns of ${number} by ${c.order === "sure" ? "sure size" : "the most they may add"}, ${share}`,
      ["Rank", "Column", "Attribution", ...(doubt ? ["± doubt"] : []), "± spread", c.order === "sure" ? "Sure size" : "May add", "Conclusion"],
      order.map((a, i) => [String(i + 1), `${c.name(a.player)} = ${shorten(c.rows.cell(row, a.player), 24)}`, signed(write(a.mean)), ...(doubt ? [write(margin(a, c))] : []), write(c.z * (a.spread ?? 0)),
        c.order === "sure" && !sure(a, c) ? "–" : write(att(a, c, c.order)), sure(a, c) ? (a.mean < 0 ? "▼ lowers it" : "▲ raises it") : "not sure"]), [true, false, true, ...(doubt ? [true] : []), true, true]));
}
