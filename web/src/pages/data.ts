import type { Context } from "../context.ts";
import type { Column } from "../document.ts";
import { h, p, sentences, table } from "../dom.ts";
import { parted } from "./summary.ts";
import { count, moment, number, percent, shorten, thousands } from "../words.ts";

/** What was in the data. */
export function data(c: Context): Node[] {
  const { report } = c;
  return [
    p(`${report.data.name} has ${count(report.data.rows, "row")}. The counts on this page cover all of them. Histograms, medians and associations are from ${count(report.data.explained, "row")}${report.data.explained < report.data.rows ? " drawn at random" : ""}.`),
    warnings(c),
    h("section", { class: "block" }, h("h3", {}, "The columns"),
      h("p", { class: "note" }, h("strong", {}, "How to read it: "), "the small picture is a histogram of the values, low on the left. Labels are in order of frequency, the most common first. The outermost bars include the most extreme 1 % on each side."),
      h("p", { class: "note" }, h("strong", {}, "What it does not say: "), "whether these rows are like the rows that the model will be used on."),
      table("Columns of the table", ["Column", "Kind", "Missing", "Values", "Histogram"], report.columns.map((column) => [
        column.name, kinds[column.kind], column.missing ? percent(column.missing / report.data.rows) : "none", values(column), strip(column)]))),
    alike(c),
  ];
}

const kinds: Record<Column["kind"], string> = { number: "number", category: "labels", boolean: "yes or no", time: "time" };

const heads: Record<string, string> = {
  associated: "Columns with much the same information", missing: "Many missing cells", constant: "Constant columns",
  unknown: "Labels absent or very rare in training", outside: "Values outside the training range", rare: "Rare labels",
};
const importedHeads: Record<string, string> = { ...heads, unknown: "Labels that the trees do not have", outside: "Values outside the range of the rows it was imported with" };

/** The warnings about columns that are not on the first page. */
function warnings(c: Context): Node {
  const { first, lesser } = parted(c.report.warnings);
  const told = first.filter((w) => w.columns.length > 0);
  const elsewhere = told.length ? p(`The most important warnings about columns are on the first page, “Summary”: ${count(told.length, "warning")}.`) : null;
  const groups = Object.entries(c.model.imported ? importedHeads : heads).map(([kind, head]) => ({ head, words: lesser.filter((w) => w.kind === kind).map((w) => w.words) })).filter((g) => g.words.length > 0);
  if (groups.length === 0) return elsewhere ?? h("section", { class: "verdict good" }, h("h3", {}, "No warnings"), p(`No column has many missing cells, is constant, ${c.model.imported ? "has labels or values that were not measured" : "differs from the training data"}, or has much the same information as another.`));
  return h("section", { class: "verdict fair" }, h("h3", {}, `${count(groups.reduce((n, g) => n + g.words.length, 0), "minor warning")}`),
    groups.map((g) => [h("h4", {}, g.head), h("ul", {}, g.words.map((text) => h("li", {}, sentences(text))))]).flat(), elsewhere);
}

function values(column: Column): string {
  if (column.labels) {
    const names = column.labels.slice(0, 3).map((l) => shorten(l.name, 24)).join(", ");
    return column.levels > 3 ? `${thousands(column.levels)} labels: ${names}, …` : names;
  }
  if (column.least === null || column.greatest === null) return "none";
  const write = column.kind === "time" ? moment : (v: number) => number(v, 4);
  return `${write(column.least)} to ${write(column.greatest)}${column.median === null ? "" : `, median ${write(column.median)}`}`;
}

const svg = "http://www.w3.org/2000/svg";

/** A histogram as small as a word. */
function strip(column: Column): Node {
  const heights = column.labels ? column.labels.map((l) => l.rows) : (column.bars ?? []).map((b) => b.rows);
  if (heights.length === 0) return document.createTextNode("");
  const width = 120, height = 28, step = Math.min(12, width / heights.length), most = Math.max(...heights);
  const picture = document.createElementNS(svg, "svg");
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("class", "strip");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", column.labels ? `most common: ${column.labels.slice(0, 3).map((l) => `${l.name} ${thousands(l.rows)}`).join(", ")}` : `histogram of ${column.name}`);
  heights.forEach((rows, i) => {
    const bar = document.createElementNS(svg, "rect");
    const high = rows ? Math.max(1, (height * rows) / most) : 0;
    for (const [name, v] of Object.entries({ x: i * step, y: height - high, width: Math.max(0.5, step - 1), height: high, fill: "var(--down)" })) bar.setAttribute(name, String(v));
    picture.append(bar);
  });
  return picture;
}

function alike(c: Context): Node {
  const { associations, columns } = c.report;
  return h("section", { class: "block" }, h("h3", {}, "Associated columns"),
    associations.length === 0 ? p("No two columns are strongly associated.") : h("div", {},
      p("Associated columns share the credit for the information that both carry. The model splits it, and the split says little about the world. 1 is the strongest association, 0 is none; a minus sign means that one falls as the other rises."),
      table("Associated columns", ["Columns", "Strength", "Measure"], associations.map((a) => [`${columns[a.a].name} and ${columns[a.b].name}`, number(a.value, 2), a.measure]), [false, true])));
}
