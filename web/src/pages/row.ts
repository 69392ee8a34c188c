import * as Plot from "@observablehq/plot";
import { att, type Attribution, probability, ranked, reasons, rest, steps, sure, within } from "../attribution.ts";
import { draw, figure, labelRoom, sign } from "../chart.ts";
import type { Context } from "../context.ts";
import type { Explained } from "../explainer.ts";
import { fresh, h, p, select, table } from "../dom.ts";
import { chance, count, decimalsFor, list, number, oddsFactor, percent, shorten, signed } from "../words.ts";

const mostSteps = 14; // of a waterfall
const mostReasons = 5;

/** One row in full: its prediction, the slider, the waterfall, reasons in words, and the ranks. */
export async function detail(c: Context, row: number): Promise<Node> {
  const e = await c.explainer.explain(row, c.output);
  const write = decimalsFor(Math.max(...e.attributions.map((a) => Math.abs(a.mean)), 0));
  const picture = h("div", {}), words = h("div", {}), ranks = h("div", {});
  const live = h("p", { class: "note", role: "status" });
  let before = ranked(e.attributions, c.z, c.order);
  const refresh = (tell: boolean) => {
    const now = ranked(e.attributions, c.z, c.order);
    picture.replaceChildren(waterfall(c, row, e, now, write));
    words.replaceChildren(inWords(c, row, e, write));
    ranks.replaceChildren(rankTable(c, row, now, write));
    if (tell) live.textContent = changed(c, before, now);
    before = now;
  };
  refresh(false);
  return h("article", { class: "row" },
    h("h3", { tabindex: -1 }, `Row ${c.report.rows.numbers[row]}`),
    h("p", { class: "lead" }, verdict(c, row, e, write)),
    controls(c, () => refresh(true)), live, picture, words, ranks);
}

/** What the model says of the row, on both scales, and what came true. */
function verdict(c: Context, row: number, e: Explained, write: (v: number) => string): string {
  const { report } = c;
  const { model } = report;
  const truth = c.rows.truth(row);
  const range = c.classes ? "" : ` (95 % range ${number(e.prediction - 1.96 * e.predictionStd)} to ${number(e.prediction + 1.96 * e.predictionStd)})`;
  const came = truth === null ? "" : model.classes ? ` It turned out ${model.classes[truth]}.` : ` It turned out ${number(truth)}.`;
  const hidden = e.hiddenStd > 0.05 * e.predictionStd && e.hiddenStd > 0 ? " Missing cells make it less sure." : "";
  switch (report.scale) {
    case "logit":
      return `Probability of ${c.outputName}: ${chance(e.probability ?? NaN)}. In log odds ${write(e.prediction)}, from a base of ${write(e.base)} (probability ${chance(probability(e.base))}).${came}${hidden}`;
    case "score":
      return `Probability of ${c.outputName}: ${chance(e.probability ?? NaN)}; the likeliest class is ${model.classes?.[c.rows.label(row)]}. Score ${write(e.prediction)}, from a base of ${write(e.base)}.${came}${hidden}`;
    default:
      return `Predicted ${model.target}: ${number(e.prediction)}${range}, from a base of ${number(e.base)}.${came}${hidden}`;
  }
}

/** The slider and the order. */
function controls(c: Context, refresh: () => void): Node {
  const id = fresh("z"), output = h("output", { for: id });
  const tell = () => { output.textContent = `z = ${c.z.toFixed(2)}${c.z > 0 ? `, intervals of ${percent(within(c.z))}` : ", no doubt granted"}`; };
  const slider = h("input", { id, type: "range", min: 0, max: 3, step: 0.02, value: c.z, class: "z" });
  slider.addEventListener("input", () => {
    c.z = Number(slider.value);
    slider.setAttribute("aria-valuetext", `${c.z.toFixed(2)} standard deviations`);
    tell();
    refresh();
  });
  tell();
  return h("div", { class: "controls" },
    h("div", { class: "control wide" }, h("label", { for: id }, "Doubt granted to each column"), slider, output),
    select("Order by", [{ value: "sure", text: "size that is sure, |mean| − z·std" }, { value: "most", text: "most it may add, mean + z·std" }], c.order, (value) => {
      c.order = value as Context["order"];
      refresh();
    }));
}

/** What moving the slider did to the order, for those who hear it. */
function changed(c: Context, before: Attribution[], now: Attribution[]): string {
  const certain = now.filter((a) => sure(a, c.z)).length;
  const moved = now.filter((a, i) => before[i]?.player !== a.player).length;
  const first = now.slice(0, 3).map((a) => c.name(a.player));
  return `At z = ${c.z.toFixed(2)}, ${certain} of ${count(now.length, "column")} ${certain === 1 ? "is" : "are"} sure to raise or lower it. ${moved ? `${count(moved, "rank")} changed.` : "No rank changed."} First ${first.length > 1 ? "are" : "is"} ${list(first)}.`;
}

function waterfall(c: Context, row: number, e: Explained, order: Attribution[], write: (v: number) => string): Node {
  const some = order.length > mostSteps ? order.slice(0, mostSteps - 1) : order;
  const others = order.slice(some.length);
  const way = steps(e.base, others.length ? [...some, { player: -1, observed: true, ...rest(others) }] : some);
  const name = (d: number) => (d === -1 ? `${others.length} others` : d === start ? "base" : d === end ? "prediction" : `${c.name(d)} = ${c.rows.cell(row, d)}`);
  const start = -2, end = -3;
  const domain = [start, ...way.map((s) => s.player), end];
  const room = labelRoom(domain.map(name), c.width);
  const reach = (s: (typeof way)[number]) => c.z * s.std;
  const xs = [e.base, e.prediction, ...way.flatMap((s) => [s.from, s.to - reach(s), s.to + reach(s)])];
  const beside = 12 + 7 * Math.max(...way.map((s) => signed(write(s.mean)).length), write(e.prediction).length); // pixels for a number
  const low = Math.min(...xs), high = Math.max(...xs), pad = ((high - low || 1) * beside) / Math.max(beside, c.width - room.margin - 12 - 2 * beside);
  const label = (s: (typeof way)[number]) => signed(write(s.mean));
  const up = way.filter((s) => s.mean >= 0), down = way.filter((s) => s.mean < 0);
  const links = way.map((s, i) => ({ x: s.to, y1: s.player, y2: i + 1 < way.length ? way[i + 1].player : end }));
  const title = `From the base to the prediction`;
  const missing = e.attributions.filter((a) => !a.observed).map((a) => c.name(a.player));
  return figure({
    title,
    read: `From the base at the top each column moves ${c.sum} right (orange, it raises it) or left (blue, it lowers it), down to the prediction. Thin lines are ± ${c.z.toFixed(2)} standard deviations; pale bars could as well go the other way.`,
    not: "It says how the model came to this prediction, not what would have to change in the world for another outcome.",
    picture: h("div", {}, draw({
      width: c.width, height: 46 + 25 * domain.length, marginLeft: room.margin, marginTop: 4, marginRight: 12,
      x: { label: c.unit, domain: [low - pad, high + pad], grid: true, ticks: Math.max(3, Math.floor(c.width / 120)) },
      y: { label: null, domain, tickFormat: (d: number) => shorten(name(d), room.most), tickSize: 0 },
      color: { type: "identity" },
      marks: [Plot.link(links, { x1: "x", x2: "x", y1: "y1", y2: "y2", stroke: "var(--muted)", strokeOpacity: 0.5 }),
        Plot.tickX([{ x: e.base, y: start }, { x: e.prediction, y: end }], { x: "x", y: "y", stroke: "var(--ink)", strokeWidth: 2.5 }),
        Plot.text([{ x: e.base, y: start, t: write(e.base) }, { x: e.prediction, y: end, t: write(e.prediction) }], { x: "x", y: "y", text: "t", textAnchor: "start", dx: 6, fontWeight: "bold" }),
        Plot.barX(way, { x1: "from", x2: "to", y: "player", fill: (s: (typeof way)[number]) => sign(s.mean), fillOpacity: (s: (typeof way)[number]) => (s.player < 0 || sure(s, c.z) ? 1 : 0.35), insetTop: 4, insetBottom: 4 }),
        Plot.ruleY(way.filter((s) => reach(s) > 0), { x1: (s: (typeof way)[number]) => s.to - reach(s), x2: (s: (typeof way)[number]) => s.to + reach(s), y: "player", stroke: "var(--ink)" }),
        Plot.text(up, { x: (s: (typeof way)[number]) => s.to + reach(s), y: "player", text: label, textAnchor: "start", dx: 4, fill: "var(--ink)" }),
        Plot.text(down, { x: (s: (typeof way)[number]) => s.to - reach(s), y: "player", text: label, textAnchor: "end", dx: -4, fill: "var(--ink)" })],
    }, `${title}, row ${c.report.rows.numbers[row]}: ${order.slice(0, 5).map((a) => `${c.name(a.player)} ${signed(write(a.mean))}`).join(", ")}.`),
    missing.length ? h("p", { class: "note" }, `Missing, so without attribution: ${list(missing)}.`) : null),
  });
}

/** The sure reasons, as a person would say them. */
function inWords(c: Context, row: number, e: Explained, write: (v: number) => string): Node {
  const certain = reasons(e.attributions, c.z, mostReasons);
  const it = c.classes ? `the chance of ${c.outputName}` : `the predicted ${c.report.model.target}`;
  const sentence = (a: Attribution) => {
    const size = Math.abs(a.mean), reach = c.z * a.std;
    const odds = c.report.scale === "logit" ? `; ${oddsFactor(a.mean)}` : "";
    return h("li", {}, h("strong", {}, `${c.name(a.player)} = ${c.rows.cell(row, a.player)}`),
      ` ${a.mean < 0 ? "lowers" : "raises"} ${it} by ${write(size)} (${write(size - reach)} to ${write(size + reach)}${odds})`);
  };
  const scale = c.report.scale === "identity" ? "" : c.report.scale === "logit" ? " Sizes are in log odds." : " Sizes are in units of the score.";
  return h("section", { class: "block" }, h("h4", {}, "In words"),
    certain.length ? h("ol", {}, certain.map(sentence)) : null,
    p(certain.length === 0 ? `No column is sure to raise or to lower ${it} at this z.` :
      certain.length < mostReasons ? `No other column is sure to raise or to lower it.${scale}` : `These are the ${mostReasons} largest that are sure.${scale}`));
}

function rankTable(c: Context, row: number, order: Attribution[], write: (v: number) => string): Node {
  if (c.width < 500) {
    return h("section", { class: "block ranks" }, h("h4", {}, "Ranks"), table(`Columns of row ${c.report.rows.numbers[row]}, in order, ± ${c.z.toFixed(2)} std; in brackets what is not sure`, ["Rank", "Column", "Attribution"],
      order.map((a, i) => [String(i + 1), c.name(a.player), sure(a, c.z) ? `${signed(write(a.mean))} ± ${write(c.z * a.std)}` : `(${signed(write(a.mean))} ± ${write(c.z * a.std)})`]), [true, false, true]));
  }
  return h("section", { class: "block ranks" }, h("h4", {}, "Ranks"),
    table(`Columns of row ${c.report.rows.numbers[row]} by ${c.order === "sure" ? "the size that is sure" : "the most they may add"}`,
      ["Rank", "Column", "Attribution", `± ${c.z.toFixed(2)} std`, c.order === "sure" ? "Sure size" : "May add", "So it"],
      order.map((a, i) => [String(i + 1), `${c.name(a.player)} = ${shorten(c.rows.cell(row, a.player), 24)}`, signed(write(a.mean)), write(c.z * a.std),
        c.order === "sure" && !sure(a, c.z) ? "–" : write(att(a, c.z, c.order)), sure(a, c.z) ? (a.mean < 0 ? "▼ lowers it" : "▲ raises it") : "may do either"]), [true, false, true, true, true]));
}
