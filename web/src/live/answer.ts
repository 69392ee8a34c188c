import * as Plot from "@observablehq/plot";
import { type Attribution, margin, probability, ranked, sure } from "../attribution.ts";
import { draw, figure, labelRoom, sign } from "../chart.ts";
import { h, table } from "../dom.ts";
import { meaning, measure, noIntervals } from "../interval.ts";
import { clipped, times, logs, range, response } from "../response.ts";
import { within } from "../share.ts";
import { type Choices, named, sum, type Told, unit } from "../subject.ts";
import { chance, decimalsFor, level, number, shorten, signed } from "../words.ts";
import { top } from "./cells.ts";
import type { Asked } from "./server.ts";

/** A row with its explanation. */
export interface Answered {
  told: Told;
  explained: Asked;
}

/** Writes the attributions of both rows with the same number of decimals: enough for the largest, and for most of the
 * intervals not to look like 0. */
export function writer(both: Answered[]): (v: number) => string {
  const all = both.flatMap((b) => b.explained.attributions.filter((a) => a.observed));
  const largest = Math.max(...all.map((a) => Math.abs(a.mean)), 0);
  const margins = all.map((a) => 1.96 * (a.doubt ?? a.spread ?? 0)).sort((a, b) => a - b);
  const usual = margins[margins.length >> 1] ?? 0;
  return decimalsFor(usual > 0 ? Math.min(largest, Math.max(largest / 1000, 100 * usual)) : largest);
}

/** The number that a reader looks at first. */
export function headline(a: Answered): { what: string; value: number; text: string } {
  const { told, explained } = a;
  if (!told.classes) {
    const value = response(told, explained.prediction);
    return { what: `Predicted ${told.target}`, value, text: number(value) };
  }
  const p = explained.probability ?? NaN;
  return { what: `Probability of ${told.outputName}`, value: p, text: chance(p) };
}

/** How one row's headline stands to the other's: which way it lies, and by how much. Probabilities near 0 and 1 differ in
 * log odds. */
export function difference(now: Answered, other: Answered): { way: number; words: string } {
  const identity = now.told.classes === null;
  const byChance = headline(now).value - headline(other).value, byScore = now.explained.prediction - other.explained.prediction;
  const near = !identity && Math.abs(byChance) < 0.0005;
  const by = near ? byScore : byChance;
  const size = identity ? number(Math.abs(by), 3) : near ? `${number(Math.abs(by), 2)} in ${now.told.scale === "logit" ? "log odds" : "score"}` : Math.abs(by).toFixed(3);
  if (Math.abs(by) < 1e-9) return { way: 0, words: `the same as ${other.told.what}` };
  return { way: Math.sign(by), words: `${size} ${by > 0 ? "above" : "below"} ${other.told.what}` };
}

/** The prediction of a row with its interval. */
export function card(c: Choices, a: Answered, other: Answered | null): HTMLElement {
  const { told, explained: e } = a;
  const head = headline(a);
  const known = !Number.isNaN(e.rangeStd), reach = known ? c.z * e.rangeStd : 0;
  const [low, high] = told.classes ? [e.prediction - reach, e.prediction + reach] : range(told, e, c.z);
  const write = decimalsFor(Math.max(Math.abs(e.prediction), Math.abs(e.base), reach));
  const chanceAt = (score: number) => probability(e.base + e.slope * (score - e.base));
  const share = level(within(c.z));
  const lines = told.classes === null ?
    [...(c.z > 0 && known ? [`${share} of outcomes are expected from ${number(low)} to ${number(high)}`] : []),
      ...(clipped(told, e.prediction) ? [`the sum is ${number(e.prediction)}, but ${told.target} is never negative`] : []),
      logs(told.scale) ? `${times(e.prediction - e.base)} the base of ${number(response(told, e.base))}` : `from a base of ${number(e.base)}`] :
    [`${told.scale === "logit" ? "log odds" : told.scale === "share" ? "sum" : "score"} ${write(e.prediction)}${c.z > 0 && known ? `; ${share} by spread: ${write(low)} to ${write(high)}` : ""}`,
      told.scale !== "logit" ? `most probable class: ${e.likeliest}` : c.z > 0 && known ? `as probabilities ${chance(chanceAt(low))} to ${chance(chanceAt(high))}` : "",
      `from a base of ${write(e.base)}${told.scale === "logit" ? ` (probability ${chance(probability(e.base))})` : ""}`];
  if (e.hiddenStd > 0.05 * e.predictionStd) lines.push("unknown cells make this interval wider");
  const moved = other ? difference(a, other) : null;
  return h("section", {
    class: "card", "data-row": told.what, "data-prediction": e.prediction, "data-prediction-std": given(e.predictionStd), "data-hidden-std": given(e.hiddenStd),
    "data-base": e.base, "data-lower": known ? low : "", "data-upper": known ? high : "", "data-probability": e.probability ?? "",
    ...(told.scale === "logit" && known ? { "data-probability-lower": chanceAt(low), "data-probability-upper": chanceAt(high) } : {}),
  },
    h("h3", {}, told.what.charAt(0).toUpperCase() + told.what.slice(1)),
    h("p", {}, head.what), h("p", { class: "big" }, head.text),
    moved ? h("p", { class: `moved ${moved.way > 0 ? "up" : moved.way < 0 ? "down" : ""}` }, `${moved.way > 0 ? "▲ " : moved.way < 0 ? "▼ " : ""}${moved.words}`) : null,
    h("ul", { class: "plain" }, lines.filter((line) => line).map((line) => h("li", {}, line))));
}

const given = (v: number) => (Number.isNaN(v) ? "" : v);

const most = 16; // players that a picture has room for

/** Both rows' attributions beside each other. */
export function sideBySide(c: Choices, now: Answered, other: Answered, write: (v: number) => string): Node {
  const size = (a: Attribution) => Math.max(Math.abs(a.mean), Math.abs(other.explained.attributions[a.player].mean));
  const all = now.explained.attributions.filter((a) => a.observed || other.explained.attributions[a.player].observed).sort((a, b) => size(b) - size(a));
  const shown = all.slice(0, most);
  const label = (d: number) => named(now.told, now.explained.attributions[d]);
  const room = labelRoom(shown.map((a) => label(a.player)), c.width);
  const mark = (a: Attribution) => ({ ...a, low: a.mean - margin(a, c), high: a.mean + margin(a, c) });
  const mine = shown.filter((a) => a.observed).map(mark);
  const theirs = shown.map((a) => other.explained.attributions[a.player]).filter((a) => a.observed).map(mark);
  const title = "Attributions in both rows";
  return figure({
    title,
    read: `Right of 0 a column raises ${sum(now.told)}, left of 0 it lowers it. Full dots are ${now.told.what}, rings ${other.told.what}. ${meaning("The line through a dot", c)}${c.unknown ? "" : " Where a line crosses 0, the column may raise or lower it, and its dot is pale."}`,
    not: "What would happen if somebody changed the world accordingly: it shows only how the model treats the two rows. A column that did not change can have another attribution, because columns interact.",
    legend: [{ colour: "up", text: `raises, ${now.told.what}` }, { colour: "down", text: `lowers, ${now.told.what}` }, { colour: "ring", text: other.told.what }],
    picture: draw({
      width: c.width, height: 50 + 32 * shown.length, marginLeft: room.margin, marginTop: 6, marginRight: 16,
      x: { label: `attribution, in ${unit(now.told)}`, grid: true, nice: true, ticks: Math.max(3, Math.floor(c.width / 110)) },
      y: { label: null, type: "band", domain: shown.map((a) => a.player), tickFormat: (d: number) => shorten(label(d), room.most), tickSize: 0 },
      color: { type: "identity" },
      marks: [Plot.ruleX([0], { stroke: "var(--muted)" }),
        Plot.ruleY(theirs, { x1: "low", x2: "high", y: "player", stroke: "var(--missing)", dy: 5 }),
        Plot.dot(theirs, { x: "mean", y: "player", r: 4, stroke: "var(--muted)", fill: "var(--bg)", dy: 5 }),
        Plot.ruleY(mine, { x1: "low", x2: "high", y: "player", stroke: (a: Attribution) => sign(a.mean), strokeWidth: 1.5, strokeOpacity: (a: Attribution) => (sure(a, c) ? 1 : 0.5), dy: -4 }),
        Plot.dot(mine, { x: "mean", y: "player", r: 5, fill: (a: Attribution) => sign(a.mean), fillOpacity: (a: Attribution) => (sure(a, c) ? 1 : 0.35), dy: -4 })],
    }, `${title}: ${shown.slice(0, 5).map((a) => `${now.told.name(a.player)} ${signed(write(a.mean))}, in ${other.told.what} ${signed(write(other.explained.attributions[a.player].mean))}`).join("; ")}.`),
  });
}

/** All numbers of both rows. The attributes have all digits. */
export function numbers(c: Choices, now: Answered, other: Answered, write: (v: number) => string): HTMLElement {
  const seen = ranked(now.explained.attributions, c, c.order);
  const order = [...seen, ...now.explained.attributions.filter((a) => !a.observed)];
  const interval = (a: Attribution) => `${write(a.mean - margin(a, c))} to ${write(a.mean + margin(a, c))}`;
  const so = (a: Attribution) => (sure(a, c) ? (a.mean < 0 ? "▼ sure to lower" : "▲ sure to raise") : "not sure");
  const brief = (p: number | null | undefined) => chance(p ?? NaN).replace("under", "<").replace("over", ">");
  const there = (a: Attribution) => (a.observed ? signed(write(a.mean)) : "unknown");
  const spread = c.order === "most" && c.bags > 0; // which that order is by
  const plain = (a: Attribution) => (a.mean < 0 ? "▼ lowers" : a.mean > 0 ? "▲ raises" : "no effect");
  const lines = order.map((a) => {
    const b = other.explained.attributions[a.player];
    if (c.unknown) return [shorten(named(now.told, a), 34), a.observed ? signed(write(a.mean)) : "none", a.observed ? plain(a) : "no effect", there(b), signed(write(a.mean - b.mean))];
    return a.observed ?
      [shorten(named(now.told, a), 34), signed(write(a.mean)), interval(a), brief(a.chances?.positive), brief(a.chances?.top), so(a), ...(spread ? [write(c.z * (a.spread ?? 0))] : []), there(b), signed(write(a.mean - b.mean))] :
      [`${now.told.name(a.player)} = unknown`, "none", "–", "–", "–", "no effect", ...(spread ? ["–"] : []), there(b), signed(write(a.mean - b.mean))];
  });
  const shown = c.unknown ? table(`Attributions of ${now.told.what}, by size, in ${unit(now.told)}`, ["Column", "Attribution", "Direction", "Other row", "Change"], lines, [false, true, false, true, true], true) : table(`Attributions of ${now.told.what}, by ${c.order === "sure" ? "sure size" : "the most they may add"}, in ${unit(now.told)}`,
    ["Column", "Attribution", c.z > 0 ? `${level(within(c.z))} interval` : "Interval", "P(raises)", `P(top ${top})`, "Conclusion", ...(spread ? ["± spread"] : []), "Other row", "Change"],
    lines, [false, true, true, true, true, false, true, true, ...(spread ? [true] : [])], true);
  shown.querySelectorAll("tbody tr").forEach((line, i) => {
    const a = order[i];
    for (const [of, row] of [["", now], ["other-", other]] as const) {
      const it = row.explained.attributions[a.player];
      for (const [what, v] of Object.entries({
        mean: it.mean, std: it.spread ?? "", "model-std": it.doubt ?? "", lower: c.unknown && it.observed ? "" : it.mean - margin(it, c), upper: c.unknown && it.observed ? "" : it.mean + margin(it, c), observed: it.observed,
        "p-positive": it.chances?.positive ?? "", "p-top": it.chances?.top ?? "",
      })) line.setAttribute(`data-${of}${what}`, String(v));
    }
    line.setAttribute("data-player", now.told.name(a.player));
  });
  return h("section", { class: "block numbers" }, h("h3", {}, "The numbers"), shown,
    h("p", { class: "note" }, c.unknown ? `${noIntervals} The other row is ${other.told.what}.` : `P(raises): the probability that the column raises ${sum(now.told)} rather than lowers it. P(top ${top}): the probability that it is among the ${top} largest of the row. Intervals and both probabilities use the ${measure(c)}; the probabilities do not depend on z.${spread ? " Spread: how much the column's contribution varies among rows like this one." : ""} The other row is ${other.told.what}.`));
}
