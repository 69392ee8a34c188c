import * as Plot from "@observablehq/plot";
import { draw, figure, heat, labelRoom, placeAmong, ramp, series, some, swarm } from "../chart.ts";
import type { Context, Shown } from "../context.ts";
import { h, p, table } from "../dom.ts";
import { count, decimalsFor, list, number, percent, shorten, thousands } from "../words.ts";
import { loss } from "./loss.ts";

export const most = 15; // columns that a picture has room for

/** Which columns matter. */
export function columns(c: Context): Node[] {
  const { data } = c.report;
  const first = c.importances().slice(0, 3).map((i) => c.name(i.player));
  return [
    p(`${list(first)} ${first.length > 1 ? "move" : "moves"} ${c.sum} most. `,
      `The figures below are computed from ${count(data.explained, "row")}${data.explained < data.rows ? ` drawn at random from ${thousands(data.rows)}` : ""}.`),
    bars(c), ...loss(c, most), dots(c), ...(c.report.by ? [cohorts(c)] : []),
  ];
}

export const notCause = "What causes the outcome. It shows what the model uses: changing a column in the real world need not have this effect.";

function bars(c: Context): Node {
  const all = c.importances();
  const shown = all.slice(0, most);
  const room = labelRoom(shown.map((i) => c.name(i.player)), c.width);
  const title = "How much each column moves predictions";
  const write = decimalsFor(Math.max(...all.map((i) => i.mean)));
  return figure({
    title,
    read: `The longer a bar, the more the column moves ${c.sum}, up or down, on average. The thin line covers the middle 80 % of rows: where it is long, the column matters much for some rows and little for others.`,
    not: notCause,
    picture: draw({
      width: c.width, height: 50 + 26 * shown.length, marginLeft: room.margin, marginTop: 6, marginRight: 48,
      x: { label: c.width < 500 ? `mean size, in ${c.unit}` : `mean size of the attribution, in ${c.unit}`, grid: true, zero: true, ticks: Math.max(3, Math.floor(c.width / 110)) },
      y: { label: null, domain: shown.map((i) => i.player), tickFormat: (d: number) => shorten(c.name(d), room.most), tickSize: 0 },
      marks: [Plot.barX(shown, { x: "mean", y: "player", fill: "var(--down)", insetTop: 3, insetBottom: 3 }),
        Plot.ruleY(shown.filter((i) => i.observed > 0), { x1: "low", x2: "high", y: "player", stroke: "var(--ink)" }),
        Plot.text(shown, { x: (i: (typeof shown)[number]) => Math.max(i.mean, i.high), y: "player", text: (i: (typeof shown)[number]) => write(i.mean), textAnchor: "start", dx: 6, fill: "var(--ink)" }),
        Plot.ruleX([0])],
    }, `${title}: ${shown.length} bars. ${shown.slice(0, 5).map((i) => `${c.name(i.player)} ${number(i.mean, 3)}`).join(", ")}.`),
    numbers: table(title, ["Column", `Mean size, in ${c.unit}`, "Middle 80 % of rows", ...(c.unknown ? [] : ["Share of the spread"]), "Rows with a value"],
      all.map((i) => [c.name(i.player), number(i.mean, 3), i.observed ? `${number(i.low, 2)} to ${number(i.high, 2)}` : "–", ...(c.unknown ? [] : [percent(i.spread)]), thousands(i.observed)]), [false, true, true, true, true]),
  });
}

/** A dot for each row and column. */
function dots(c: Context): Node {
  const shown = c.importances().slice(0, most);
  const rows = some(c.rows.length, c.width < 500 ? 200 : 400);
  const room = labelRoom(shown.map((i) => c.name(i.player)), c.width);
  const points: { x: number; y: number; fill: string }[] = [];
  shown.forEach((im, line) => {
    const column = c.rows.column(im.player);
    const ordered = column !== null && c.report.columns[column].labels === null;
    const seen = rows.filter((r) => c.rows.attribution(r, c.output, im.player).observed);
    const place = ordered ? placeAmong(seen.map((r) => c.rows.value(r, column as number)).filter((v): v is number => v !== null)) : null;
    const means = seen.map((r) => c.rows.attribution(r, c.output, im.player).mean);
    const aside = means.length ? swarm(means, Math.floor(c.width / 8), 0.075, 0.4) : [];
    seen.forEach((r, i) => {
      const v = ordered ? c.rows.value(r, column as number) : null;
      points.push({ x: means[i], y: line + aside[i], fill: place && v !== null ? ramp(place(v)) : "var(--missing)" });
    });
  });
  const title = "Attributions row by row";
  return figure({
    title,
    read: `Each dot is a row: right of 0 the column raises ${c.sum}, left of 0 it lowers it. The colour is the value of the column in that row. Where one colour is on one side, the column acts in one direction.`,
    not: "Which other columns play a part: rows far out differ in this column and perhaps in others too. Nothing here is a cause.",
    legend: [{ colour: "low", text: "low value" }, { colour: "middle", text: "middle" }, { colour: "high", text: "high value" }, { colour: "missing", text: "a label, neither low nor high" }],
    picture: draw({
      width: c.width, height: 56 + 34 * shown.length, marginLeft: room.margin, marginTop: 6,
      x: { label: `attribution, in ${c.unit}`, grid: true, ticks: Math.max(3, Math.floor(c.width / 110)) },
      y: { label: null, domain: [shown.length - 0.4, -0.6], ticks: shown.map((_, i) => i), tickFormat: (i: number) => shorten(c.name(shown[i].player), room.most), tickSize: 0 },
      color: { type: "identity" },
      marks: [Plot.ruleX([0], { stroke: "var(--muted)" }), Plot.dot(points, { x: "x", y: "y", r: 2, fill: "fill", fillOpacity: 0.8 })],
    }, `${title}: attributions of ${count(rows.length, "row")} to ${c.sum}, by column.`),
  });
}

const mostBars = 6; // groups of rows whose bars are told apart

/** Importances between the values of a column. */
function cohorts(c: Context): Node {
  const by = c.report.by as NonNullable<typeof c.report.by>;
  const players = c.importances().slice(0, 10).map((i) => i.player);
  const size = (g: number, d: number) => by.cohorts[g].mean[c.output][d];
  const groups = by.cohorts.map((_, g) => g);
  const title = `Importance by ${by.column}`;
  const gap = (d: number) => Math.max(...groups.map((g) => size(g, d))) - Math.min(...groups.map((g) => size(g, d)));
  const differing = by.cohorts.length > 1 ? ` The groups differ most in ${c.name([...players].sort((a, b) => gap(b) - gap(a))[0])}.` : "";
  const bars = by.cohorts.length <= mostBars;
  return figure({
    title,
    read: (bars ? `Compare the bars of one column: they show for which rows it moves ${c.sum} more.` :
      `The stronger the colour, the more the column of that line moves ${c.sum} in rows with that ${by.column}. The strongest is a mean size of ${number(Math.max(...groups.flatMap((g) => players.map((d) => size(g, d)))), 3)}, in ${c.unit}.`) + differing,
    not: `Whether the model treats the groups equally. A column may matter more in one group because its values differ more there.`,
    ...(bars ? { legend: by.cohorts.map((cohort, g) => ({ colour: `series-${g}`, text: `${cohort.name} (${count(cohort.rows, "row")})` })) } : {}),
    picture: bars ? beside(c, title, players, (d) => c.name(d), groups.map((g) => (d: number) => size(g, d))) :
      matrix(c, title, by.column, players, by.cohorts.map((cohort) => cohort.name), size),
    numbers: table(title, [by.column, "Rows", ...players.map((d) => c.name(d))],
      by.cohorts.map((cohort, g) => [cohort.name, thousands(cohort.rows), ...players.map((d) => number(size(g, d), 3))]), [false, true, ...players.map(() => true)]),
    ...(by.left > 0 ? { controls: [h("p", {}, `${count(by.left, "row")} of those explained belong to none of these groups.`)] } : {}),
  });
}

/** Mean sizes of players down, groups of rows across. */
function matrix(c: Context, title: string, column: string, players: number[], groups: string[], size: (group: number, player: number) => number): Node {
  const room = labelRoom(players.map((d) => c.name(d)), c.width);
  const cells = players.flatMap((player) => groups.map((_, g) => ({ player, g, size: size(g, player) })));
  const largest = Math.max(...cells.map((d) => d.size), Number.MIN_VALUE);
  const widest = Math.max(...groups.map((name) => [...name].length));
  const every = Math.ceil((groups.length * Math.min(90, 8 + 7 * widest)) / (c.width - room.margin - 20));
  return draw({
    width: c.width, height: 56 + 26 * players.length, marginLeft: room.margin, marginTop: 6, marginRight: 20,
    x: { type: "band", label: column, domain: groups.map((_, g) => g), ticks: groups.flatMap((_, g) => (g % every === 0 ? [g] : [])), tickFormat: (g: number) => shorten(groups[g], 12), tickSize: 0 },
    y: { label: null, domain: players, tickFormat: (d: number) => shorten(c.name(d), room.most), tickSize: 0 },
    color: { type: "identity" },
    marks: [Plot.cell(cells, { x: "g", y: "player", fill: (d: (typeof cells)[number]) => heat(d.size / largest), inset: 0.5 })],
  }, `${title}: ${groups.length} groups.`);
}

/** Mean sizes of players in some groups of rows, the groups beside each other. Of the first group, a thin line goes so far to either side. */
export function beside(c: Shown, title: string, players: number[], name: (player: number) => string, groups: ((player: number) => number)[], aside?: (player: number) => number): Node {
  const bars = players.flatMap((player) => groups.map((mean, g) => ({ player, g, mean: mean(player) })));
  const lines = aside ? players.map((player) => ({ player, g: 0, low: Math.max(0, groups[0](player) - aside(player)), high: groups[0](player) + aside(player) })) : [];
  const room = labelRoom(players.map(name), c.width);
  return draw({
    width: c.width, height: 50 + players.length * (14 + 9 * groups.length), marginLeft: room.margin, marginTop: 6,
    x: { label: c.width < 500 ? `mean size, in ${c.unit}` : `mean size of the attribution, in ${c.unit}`, grid: true, ticks: Math.max(3, Math.floor(c.width / 110)) },
    fy: { label: null, domain: players, tickFormat: (d: number) => shorten(name(d), room.most), padding: 0.25, axis: "left" },
    y: { axis: null, domain: groups.map((_, g) => g) },
    color: { type: "identity" },
    marks: [Plot.barX(bars, { fy: "player", y: "g", x: "mean", fill: (b: (typeof bars)[number]) => series(b.g) }),
      Plot.ruleY(lines, { fy: "player", y: "g", x1: "low", x2: "high", stroke: "var(--ink)" }), Plot.ruleX([0])],
  }, `${title}: ${groups.length} groups.`);
}
