import * as Plot from "@observablehq/plot";
import { type Attribution, margin } from "../attribution.ts";
import { draw, figure, labelRoom, sign, some } from "../chart.ts";
import type { Context } from "../context.ts";
import { h, p, select, table } from "../dom.ts";
import { measure, noIntervals } from "../interval.ts";
import { within } from "../share.ts";
import { axis, fewValues } from "../values.ts";
import { cell, count, level, moment, number, shorten, thousands } from "../words.ts";

const small = 8; // columns that are shown beside each other

/** How each column acts. */
export function effects(c: Context): Node[] {
  const players = c.importances().map((i) => i.player);
  const large = h("div", {});
  const show = () => large.replaceChildren(one(c, c.column));
  const choice = select("Column", players.map((d) => ({ value: String(d), text: c.name(d) })), String(c.column), (value) => {
    c.column = Number(value);
    show();
  });
  show();
  const columns = c.width > 620 ? 2 : 1;
  const width = columns === 2 ? Math.floor((c.width - 56) / 2) : c.width;
  return [
    p(`How ${c.sum} changes with the value of a column. Choose a column, or compare the most important ones below.`),
    h("div", { class: "controls" }, choice), large,
    h("h3", {}, `The ${Math.min(small, players.length)} most important, side by side`),
    h("p", { class: "note" }, "Read each like the picture above. None of them says what would happen if somebody changed the value."),
    h("div", { class: columns === 2 ? "pairwise" : "" }, players.slice(0, small).map((d) =>
      h("div", { class: "small" }, h("h4", {}, c.name(d)), picture(c, d, width, 190, 300)))),
  ];
}

function one(c: Context, player: number): Node {
  const title = `Effect of ${c.name(player)}`;
  const column = c.rows.column(player);
  const labelled = column !== null && c.report.columns[column].labels !== null;
  return figure({
    title,
    read: labelled ?
      `Each dot is a row, placed by how much the label adds to ${c.sum} (right) or subtracts from it (left). The vertical line is the mean. Dots of one label differ because the rows differ in other columns.` :
      `Each dot is a row: left to right is the value of ${c.name(player)}, up and down is what it adds to ${c.sum} or subtracts. ${c.unknown ? noIntervals : `Thin lines are ${level(within(c.report.z))} intervals (${measure(c)}).`} ${summed(c, player, column)} Dots above each other differ in other columns.`,
    not: `Whether changing ${c.name(player)} would change the outcome: the model may use it as a sign of something else.`,
    picture: picture(c, player, c.width, 320, 1000),
    ...(column === null ? {} : { numbers: summary(c, player, column) }),
  });
}

/** What the thick marks are. */
function summed(c: Context, player: number, column: number | null): string {
  const few = column !== null && fewValues(dotsOf(c, player, column, c.rows.length).map((d) => d.x));
  return few ? "The large dots are the means of the rows with that value." : "The thick line is the mean of rows with about that value.";
}

type Dot = { x: number } & Pick<Attribution, "mean" | "doubt" | "spread">;

function dotsOf(c: Context, player: number, column: number, most: number): Dot[] {
  return some(c.rows.length, most).flatMap((r) => {
    const a = c.rows.attribution(r, c.output, player);
    const x = c.rows.value(r, column);
    return a.observed && x !== null ? [{ x, mean: a.mean, doubt: a.doubt, spread: a.spread }] : [];
  });
}

function picture(c: Context, player: number, width: number, height: number, most: number): Node {
  const column = c.rows.column(player);
  if (column === null) return p(`${c.name(player)} is a group of columns: it has no single value to draw.`);
  const dots = dotsOf(c, player, column, most);
  if (dots.length === 0) return p(`${c.name(player)} is missing in all rows shown.`);
  const label = `Effect of ${c.name(player)} on ${c.sum}, ${count(dots.length, "row")}.`;
  return c.report.columns[column].labels !== null ? labels(c, column, dots, width, label) : numbers(c, player, column, dots, width, height, label);
}

/** Numbers across, attributions up. */
function numbers(c: Context, player: number, column: number, dots: Dot[], width: number, height: number, label: string): Node {
  const time = c.report.columns[column].kind === "time";
  const line = means(dots);
  const x = (d: { x: number }) => (time ? new Date(1000 * d.x) : d.x);
  return draw({
    width, height, marginLeft: 64, marginRight: 14, grid: true,
    x: { label: shorten(c.name(player), 40), ...axis(c.report.columns[column].kind, dots.map((d) => d.x), width - 78) },
    y: { label: `attribution, in ${c.unit}`, ticks: 5 },
    marks: [Plot.ruleY([0], { stroke: "var(--muted)" }),
      Plot.ruleX(c.unknown ? [] : dots, { x, y1: (d: Dot) => d.mean - margin(d, c.report), y2: (d: Dot) => d.mean + margin(d, c.report), stroke: "var(--down)", strokeOpacity: 0.18 }),
      Plot.dot(dots, { x, y: "mean", r: 1.9, fill: (d: Dot) => sign(d.mean), fillOpacity: 0.6 }),
      ...(fewValues(dots.map((d) => d.x)) ? [Plot.dot(line, { x, y: "mean", r: 4, fill: "var(--ink)", stroke: "var(--bg)" })] : []),
      ...(line.length > 2 ? [Plot.line(line, { x, y: "mean", stroke: "var(--ink)", strokeWidth: 1.8 })] : [])],
    color: { type: "identity" },
  }, label);
}

/** Means of the rows of each value, if the values are few, or else of neighbouring ones, at least so many rows each; rows of one value stay together. */
export function means(dots: Dot[]): { x: number; mean: number }[] {
  const sorted = [...dots].sort((a, b) => a.x - b.x);
  const size = fewValues(dots.map((d) => d.x)) ? 1 : Math.min(Math.ceil(sorted.length / 4), Math.max(5, Math.ceil(sorted.length / 24)));
  const groups: Dot[][] = [];
  for (const d of sorted) {
    const last = groups[groups.length - 1];
    if (last && (last[last.length - 1].x === d.x || last.length < size)) last.push(d);
    else groups.push([d]);
  }
  const mean = (g: Dot[], of: (d: Dot) => number) => g.reduce((sum, d) => sum + of(d), 0) / g.length;
  return groups.map((g) => ({ x: mean(g, (d) => d.x), mean: mean(g, (d) => d.mean) }));
}

/** Labels down, attributions across; the commonest labels, the others together. */
function labels(c: Context, column: number, dots: Dot[], width: number, label: string): Node {
  const names = c.report.rows.cells[column].labels ?? [];
  const groups = byLabel(dots, names).slice(0, 12);
  const room = labelRoom(groups.map((g) => g.name), width);
  const points = groups.flatMap((g) => g.dots.map((d, i) => ({ name: g.code, mean: d.mean, aside: (((i * 7919) % 97) / 97 - 0.5) * 12 })));
  return draw({
    width, height: 46 + 26 * groups.length, marginLeft: room.margin, marginTop: 8,
    x: { label: `attribution, in ${c.unit}`, grid: true, ticks: Math.max(3, Math.floor(width / 110)) },
    y: { label: null, domain: groups.map((g) => g.code), tickFormat: (k: number) => shorten(names[k] ?? "", room.most), tickSize: 0 },
    marks: [Plot.ruleX([0], { stroke: "var(--muted)" }),
      ...lanes.map((dy, lane) => Plot.dot(points.filter((d) => Math.floor((d.aside + 6) / 4) === lane), { x: "mean", y: "name", dy, r: 1.9, fill: (d: Dot) => sign(d.mean), fillOpacity: 0.6 })),
      Plot.tickX(groups, { x: "mean", y: "code", stroke: "var(--ink)", strokeWidth: 2.4, insetTop: 2, insetBottom: 2 })],
    color: { type: "identity" },
  }, label);
}

const lanes = [-5, 0, 5];

function byLabel(dots: Dot[], names: string[]): { code: number; name: string; mean: number; dots: Dot[] }[] {
  const groups = new Map<number, Dot[]>();
  for (const d of dots) groups.set(d.x, [...(groups.get(d.x) ?? []), d]);
  return [...groups].map(([code, list]) => ({ code, name: names[code] ?? "", mean: list.reduce((s, d) => s + d.mean, 0) / list.length, dots: list }))
    .sort((a, b) => b.dots.length - a.dots.length);
}

function summary(c: Context, player: number, column: number): HTMLElement {
  const dots = dotsOf(c, player, column, c.rows.length);
  const title = `Mean effect of ${c.name(player)}`;
  const unit = `Mean attribution, in ${c.unit}`;
  if (c.report.columns[column].labels !== null) {
    return table(title, ["Label", unit, "Rows"], byLabel(dots, c.report.rows.cells[column].labels ?? []).map((g) => [g.name, number(g.mean, 3), thousands(g.dots.length)]), [false, true, true]);
  }
  const write = c.report.columns[column].kind === "time" ? moment : (v: number) => cell(Number(v.toPrecision(5)));
  return table(title, [fewValues(dots.map((d) => d.x)) ? c.name(player) : `About this ${c.name(player)}`, unit], means(dots).map((m) => [write(m.x), number(m.mean, 3)]), [true, true]);
}
