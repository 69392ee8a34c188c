import * as Plot from "@observablehq/plot";
import { type Attribution, margin, type Order, reasons, rest, steps, sure } from "./attribution.ts";
import { draw, figure, labelRoom, sign } from "./chart.ts";
import { fresh, h, p, select } from "./dom.ts";
import type { Explained } from "./explainer.ts";
import { meaning, measure, noIntervals } from "./interval.ts";
import { logs } from "./response.ts";
import { within } from "./share.ts";
import { type Choices, named, sum, type Told, unit } from "./subject.ts";
import { count, factor, level, list, oddsFactor, shorten, signed } from "./words.ts";

const mostSteps = 14; // of a waterfall
const mostReasons = 5;

/** The slider and the order. */
export function controls(c: Choices, refresh: () => void): Node {
  if (c.unknown) return h("p", { class: "note" }, `${noIntervals} Columns are in order of size.`);
  const id = fresh("z"), output = h("output", { for: id });
  const told = () => `z = ${c.z.toFixed(2)}, ${c.z > 0 ? `${level(within(c.z))} intervals` : "no intervals"}`;
  const tell = () => { output.textContent = told(); };
  const slider = h("input", { id, type: "range", min: 0, max: 3, step: 0.02, value: c.z, class: "z" });
  slider.addEventListener("input", () => {
    c.z = Number(slider.value);
    slider.setAttribute("aria-valuetext", told());
    tell();
    refresh();
  });
  tell();
  return h("div", { class: "controls" },
    h("div", { class: "control wide" }, h("label", { for: id }, "Interval width"), slider, output),
    select("Order by", [{ value: "sure", text: `sure size (size − ${measure(c)})` }, { value: "most", text: "most it may add (mean + z·spread)" }], c.order, (value) => {
      c.order = value as Order;
      refresh();
    }));
}

/** What moving the slider did to the order, for those who hear it. */
export function changed(c: Choices, t: Told, before: Attribution[], now: Attribution[]): string {
  const certain = now.filter((a) => sure(a, c)).length;
  const moved = now.filter((a, i) => before[i]?.player !== a.player).length;
  const first = now.slice(0, 3).map((a) => t.name(a.player));
  return `At z = ${c.z.toFixed(2)}, ${certain} of ${count(now.length, "column")} ${certain === 1 ? "is" : "are"} sure to raise or lower it. ${moved ? `${count(moved, "rank")} changed.` : "No rank changed."} First ${first.length > 1 ? "are" : "is"} ${list(first)}.`;
}

/** The order by z shows the spread that it is made by. */
const bySpread = (c: Choices) => c.order === "most" || c.bags === 0;

export function waterfall(c: Choices, t: Told, e: Explained, order: Attribution[], write: (v: number) => string): Node {
  const some = order.length > mostSteps ? order.slice(0, mostSteps - 1) : order;
  const others = order.slice(some.length);
  const way = steps(e.base, others.length ? [...some, { player: -1, observed: true, ...rest(others) }] : some);
  const name = (d: number) => (d === -1 ? `${others.length} others` : d === start ? "base" : d === end ? "prediction" : `${t.name(d)} = ${t.cell(d)}`);
  const start = -2, end = -3;
  const domain = [start, ...way.map((s) => s.player), end];
  const room = labelRoom(domain.map(name), c.width);
  const reach = (s: (typeof way)[number]) => (bySpread(c) ? c.z * (s.spread ?? 0) : margin(s, c));
  const xs = [e.base, e.prediction, ...way.flatMap((s) => [s.from, s.to - reach(s), s.to + reach(s)])];
  const beside = 12 + 7 * Math.max(...way.map((s) => signed(write(s.mean)).length), write(e.prediction).length); // pixels for a number
  const low = Math.min(...xs), high = Math.max(...xs), pad = ((high - low || 1) * beside) / Math.max(beside, c.width - room.margin - 12 - 2 * beside);
  const label = (s: (typeof way)[number]) => signed(write(s.mean));
  const up = way.filter((s) => s.mean >= 0), down = way.filter((s) => s.mean < 0);
  const links = way.map((s, i) => ({ x: s.to, y1: s.player, y2: i + 1 < way.length ? way[i + 1].player : end }));
  const title = `From the base to the prediction`;
  const missing = e.attributions.filter((a) => !a.observed).map((a) => t.name(a.player));
  return figure({
    title,
    read: `Start at the base at the top. Each column moves ${sum(t)} right (orange, raises it) or left (blue, lowers it), down to the prediction. ${lines(c)}`,
    not: "What would have to change in the world for another outcome. It shows how the model came to this prediction.",
    picture: h("div", {}, draw({
      width: c.width, height: 46 + 25 * domain.length, marginLeft: room.margin, marginTop: 4, marginRight: 12,
      x: { label: unit(t), domain: [low - pad, high + pad], grid: true, ticks: Math.max(3, Math.floor(c.width / 120)) },
      y: { label: null, domain, tickFormat: (d: number) => shorten(name(d), room.most), tickSize: 0 },
      color: { type: "identity" },
      marks: [Plot.link(links, { x1: "x", x2: "x", y1: "y1", y2: "y2", stroke: "var(--muted)", strokeOpacity: 0.5 }),
        Plot.tickX([{ x: e.base, y: start }, { x: e.prediction, y: end }], { x: "x", y: "y", stroke: "var(--ink)", strokeWidth: 2.5 }),
        Plot.text([{ x: e.base, y: start, t: write(e.base) }, { x: e.prediction, y: end, t: write(e.prediction) }], { x: "x", y: "y", text: "t", textAnchor: "start", dx: 6, fontWeight: "bold" }),
        Plot.barX(way, { x1: "from", x2: "to", y: "player", fill: (s: (typeof way)[number]) => sign(s.mean), fillOpacity: (s: (typeof way)[number]) => (s.player < 0 || sure(s, c) ? 1 : 0.35), insetTop: 4, insetBottom: 4 }),
        Plot.ruleY(way.filter((s) => reach(s) > 0), { x1: (s: (typeof way)[number]) => s.to - reach(s), x2: (s: (typeof way)[number]) => s.to + reach(s), y: "player", stroke: "var(--ink)" }),
        Plot.text(up, { x: (s: (typeof way)[number]) => s.to + reach(s), y: "player", text: label, textAnchor: "start", dx: 4, fill: "var(--ink)" }),
        Plot.text(down, { x: (s: (typeof way)[number]) => s.to - reach(s), y: "player", text: label, textAnchor: "end", dx: -4, fill: "var(--ink)" })],
    }, `${title}, ${t.what}: ${order.slice(0, 5).map((a) => `${t.name(a.player)} ${signed(write(a.mean))}`).join(", ")}.`),
    missing.length ? h("p", { class: "note" }, `Missing, so without attribution: ${list(missing)}.`) : null),
  });
}

/** What the thin lines and the pale bars of a waterfall are. */
function lines(c: Choices): string {
  if (c.unknown) return noIntervals;
  if (c.z === 0) return "At z = 0 no intervals are drawn.";
  const pale = `A bar is pale if its interval by ${measure(c)} contains 0: the column may raise or lower it.`;
  return `${meaning("The thin line at the end of a bar", bySpread(c) ? { z: c.z, reach: c.z, bags: 0, classes: c.classes } : c)} ${pale}`;
}

/** The sure reasons, as a person would say them. */
export function inWords(c: Choices, t: Told, e: Explained, write: (v: number) => string): Node {
  const certain = reasons(e.attributions, c, mostReasons);
  const it = t.classes ? `the chance of ${t.outputName}` : `the predicted ${t.target}`;
  const sentence = (a: Attribution) => {
    const size = Math.abs(a.mean), reach = margin(a, c), does = a.mean < 0 ? "lowers" : "raises";
    const factors = c.unknown ? "" : ` (${factor(size - reach)} to ${factor(size + reach)})`;
    return h("li", {}, h("strong", {}, named(t, a)), t.scale === "logit" ? ` ${does} ${it}: its ${oddsFactor(a.mean).replaceAll(" ", "\u00a0")}${factors}` :
      logs(t.scale) ? ` ${does} ${it}: ${a.mean < 0 ? "÷" : "×"}\u00a0${factor(size)}${factors}` :
        ` ${does} ${it} by ${write(size)}${c.unknown ? "" : ` (${write(size - reach)} to ${write(size + reach)})`}`);
  };
  const brackets = c.z > 0 ? ` In brackets: the ${level(within(c.z))} interval by ${measure(c)}.` : "";
  const scale = t.scale === "score" ? " Sizes are in units of the score." : "";
  return h("section", { class: "block" }, h("h4", {}, "In words"),
    certain.length ? h("ol", {}, certain.map(sentence)) : null,
    p(c.unknown ? (certain.length ? `${certain.length === 1 ? "This is the largest attribution" : `These are the ${certain.length} largest attributions`}.${scale}` : `No column raises or lowers ${it}.`) :
      certain.length === 0 ? `No column is sure to raise or to lower ${it} at this z.` :
      certain.length < mostReasons ? `No other column is sure to raise or to lower it.${brackets}${scale}` : `These are the ${mostReasons} largest that are sure.${brackets}${scale}`));
}
