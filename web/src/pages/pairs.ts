import * as Plot from "@observablehq/plot";
import { draw, figure, heat, labelRoom, onHeat, placeAmong, ramp } from "../chart.ts";
import type { Context } from "../context.ts";
import { h, p, select, table } from "../dom.ts";
import { floats } from "../packed.ts";
import { axis } from "../values.ts";
import { count, number, shorten } from "../words.ts";

/** Interactions. */
export function pairs(c: Context): Node[] {
  const { pairs: all, data } = c.report;
  const list = all.outputs?.[c.output];
  if (!list) return [p(all.absent)];
  const [first] = list;
  const detail = h("div", {});
  const shown = list.filter((pair) => pair.values !== "");
  const show = () => detail.replaceChildren(together(c, shown[Math.min(c.pair, shown.length - 1)]));
  show();
  return [
    p(`Two columns interact when the effect of one depends on the other. The strongest pair is ${c.name(first.a)} and ${c.name(first.b)}. `,
      `This is computed from ${count(data.paired, "row")} drawn at random.`),
    map(c, list),
    h("div", { class: "controls" }, select("Pair", shown.map((pair, i) => ({ value: String(i), text: `${c.name(pair.a)} and ${c.name(pair.b)}` })), String(c.pair), (value) => {
      c.pair = Number(value);
      show();
    })),
    detail,
  ];
}

type Pair = { a: number; b: number; size: number; mean: number; values: string };

function map(c: Context, list: Pair[]): Node {
  const players = (c.report.pairs.players ?? []).slice(0, c.width < 500 ? 10 : 15);
  const largest = Math.max(...list.map((d) => d.size), Number.MIN_VALUE);
  const cells = list.filter((d) => players.includes(d.a) && players.includes(d.b)).flatMap((d) => [{ x: d.a, y: d.b, size: d.size }, { x: d.b, y: d.a, size: d.size }]);
  const names = players.map((d) => c.name(d));
  const room = labelRoom(names, c.width);
  const title = "Which pairs interact";
  const step = (c.width - room.margin - 20) / players.length;
  return figure({
    title,
    read: `The stronger the colour of a cell, the more the effect of one column on ${c.sum} depends on the other.${step > 34 ? ` The number is the mean size of the interaction, in ${c.unit}.` : ""}`,
    not: "Whether the two columns cause each other. Columns with the same information have a strong cell too, because the second adds little once the first is known. The table below says which pairs can replace each other.",
    picture: draw({
      width: c.width, height: 104 + Math.min(34, Math.max(24, step)) * players.length, marginLeft: room.margin, marginBottom: 92, marginTop: 6, marginRight: 20,
      x: { label: null, domain: players, tickFormat: (d: number) => shorten(c.name(d), 14), tickRotate: -40, tickSize: 0 },
      y: { label: null, domain: players, tickFormat: (d: number) => shorten(c.name(d), room.most), tickSize: 0 },
      color: { type: "identity" },
      marks: [Plot.cell(players.map((d) => ({ x: d, y: d })), { x: "x", y: "y", fill: "var(--faint)", fillOpacity: 0.4, inset: 0.5 }),
        Plot.cell(cells, { x: "x", y: "y", fill: (d: (typeof cells)[number]) => heat(d.size / largest), inset: 0.5 }),
        ...(step > 34 ? [Plot.text(cells, { x: "x", y: "y", text: (d: (typeof cells)[number]) => number(d.size, 2), fontSize: 10, fill: (d: (typeof cells)[number]) => onHeat(d.size / largest) })] : [])],
    }, `${title}: ${list.slice(0, 3).map((d) => `${c.name(d.a)} and ${c.name(d.b)} ${number(d.size, 2)}`).join(", ")}.`),
    numbers: table(`${title}: the strongest`, ["Pair", `Mean size, in ${c.unit}`, "Mean", "On average"],
      list.slice(0, 20).map((d) => [`${c.name(d.a)} and ${c.name(d.b)}`, number(d.size, 2), number(d.mean, 2), d.mean > 0 ? "worth more together than apart" : "each can replace the other"]), [false, true, true]),
  });
}

/** How the effect of one column of a pair depends on the other. */
function together(c: Context, pair: Pair): Node {
  const rows = c.report.pairs.rows ?? [];
  const values = floats(pair.values);
  // Across goes the one with numbers; the other gives the colour.
  const ordered = (d: number) => {
    const column = c.rows.column(d);
    return column !== null && c.report.columns[column].labels === null;
  };
  const [across, colour] = !ordered(pair.a) && ordered(pair.b) ? [pair.b, pair.a] : [pair.a, pair.b];
  const title = `${c.name(pair.a)} and ${c.name(pair.b)} together`;
  const [x, by] = [c.rows.column(across), c.rows.column(colour)];
  if (x === null || by === null) return p(`${title}: a group of columns has no single value to draw.`);
  const points = rows.map((row, i) => ({ x: c.rows.value(row, x), by: c.rows.value(row, by), y: values[i], label: c.rows.text(row, by) })).filter((d) => d.x !== null && d.by !== null);
  const commonest = [...new Set(points.map((d) => d.label))].map((label) => ({ label, n: points.filter((d) => d.label === label).length })).sort((a, b) => b.n - a.n).slice(0, 5).map((d) => d.label);
  const place = placeAmong(points.map((d) => d.by as number));
  const fill = (d: (typeof points)[number]) => {
    if (ordered(colour)) return ramp(place(d.by as number));
    const at = commonest.indexOf(d.label);
    return at < 0 ? "var(--missing)" : `var(--series-${at})`;
  };
  const labels = c.report.rows.cells[x].labels;
  const time = c.report.columns[x].kind === "time";
  const room = labels ? labelRoom(labels, c.width) : null;
  return figure({
    title,
    read: `Each dot is a row. Its ${labels ? "position from left to right" : "height"} is what ${c.name(pair.a)} and ${c.name(pair.b)} together add to ${c.sum}, beyond what each adds alone. The colour is ${c.name(colour)}. Where colours separate, the effect of ${c.name(across)} depends on ${c.name(colour)}.`,
    not: "What each of the two does by itself. It is about this model, not about causes.",
    legend: ordered(colour) ? [{ colour: "low", text: `low ${c.name(colour)}` }, { colour: "middle", text: "middle" }, { colour: "high", text: "high" }] :
      [...commonest.map((label, i) => ({ colour: `series-${i}`, text: label ?? "" })), ...(commonest.length < new Set(points.map((d) => d.label)).size ? [{ colour: "missing", text: "other labels" }] : [])],
    picture: draw(labels ? {
      width: c.width, marginTop: 8, height: 60 + 26 * Math.min(labels.length, 14), marginLeft: room?.margin ?? 60, color: { type: "identity" },
      x: { label: `interaction, in ${c.unit}`, grid: true, ticks: 5 }, y: { label: null, type: "point", domain: labels.map((_, k) => k).slice(0, 14), tickFormat: (k: number) => shorten(labels[k], room?.most ?? 12), tickSize: 0 },
      marks: [Plot.ruleX([0], { stroke: "var(--muted)" }), ...[-5, 0, 5].map((dy, lane) => Plot.dot(points.filter((d, i) => (d.x as number) < 14 && i % 3 === lane), { x: "y", y: "x", dy, r: 2.2, fill, fillOpacity: 0.75 }))],
    } : {
      width: c.width, height: 300, marginLeft: 62, grid: true, color: { type: "identity" }, x: { label: c.name(across), ...axis(c.report.columns[x].kind, points.map((d) => d.x as number), c.width - 82) }, y: { label: `interaction, in ${c.unit}`, ticks: 5 },
      marks: [Plot.ruleY([0], { stroke: "var(--muted)" }), Plot.dot(points, { x: (d: (typeof points)[number]) => (time ? new Date(1000 * (d.x as number)) : d.x), y: "y", r: 2.4, fill, fillOpacity: 0.75 })],
    }, `${title}, ${count(points.length, "row")}.`),
  });
}
