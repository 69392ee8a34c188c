import { filter, type Searchable } from "../filter.ts";
import type { Context } from "../context.ts";
import { fresh, h, p } from "../dom.ts";
import { chance, count, decimalsFor, number, shorten, thousands } from "../words.ts";
import { detail } from "./row.ts";

const perPage = 20;

/** Single rows: a list to search and sort, and one row in full. */
export function rows(c: Context): Node[] {
  const opened = h("div", { class: "opened" });
  const list = h("div", {});
  const open = (row: number, focus: boolean) => {
    c.row = row;
    history.replaceState(null, "", `#rows/${c.report.rows.numbers[row]}`);
    detail(c, row).then((node) => {
      opened.replaceChildren(node);
      if (focus) opened.querySelector<HTMLElement>("h3")?.focus();
    });
    for (const line of list.querySelectorAll("tr[data-row]")) line.toggleAttribute("aria-current", line.getAttribute("data-row") === String(row));
  };
  listing(c, list, open);
  detail(c, c.row).then((node) => opened.replaceChildren(node));
  const { data } = c.report;
  return [
    p(`Why the model predicts what it predicts for a row. ${data.carried < data.rows ? `This page has ${thousands(data.carried)} rows drawn at random from ${thousands(data.rows)}; psi explain shows all of them.` : ""}`),
    list, opened,
  ];
}

/** What the list shows of a row, and searches in it. */
interface Field {
  name: string;
  numeric: boolean;
  text: (row: number) => string;
  value: (row: number) => number | null;
  shown: boolean;
}

function fields(c: Context): Field[] {
  const { report, rows: all } = c;
  const { model } = report;
  const first = new Set(c.importances().slice(0, c.width >= 500 ? 4 : model.task === "multiclass" ? 0 : 1).map((i) => all.column(i.player)));
  const numeric = (name: string, value: (row: number) => number | null, text: (v: number) => string, shown = true): Field =>
    ({ name, numeric: true, value, shown, text: (row) => { const v = value(row); return v === null ? "–" : text(v); } });
  const list: Field[] = [numeric("row", (row) => report.rows.numbers[row], String)];
  const write = decimalsFor(Math.max(...report.rows.numbers.map((_, row) => Math.abs(all.prediction(row, 0)))) / 10);
  const label = (k: number | null) => (k === null ? "–" : model.classes?.[k] ?? "");
  if (model.classes) {
    list.push({ name: "prediction", numeric: false, shown: c.width >= 500 || model.task !== "binary", text: (row) => label(all.label(row)), value: () => null });
    list.push(numeric("probability", (row) => all.probability(row, c.output), chance));
  } else {
    list.push(numeric("prediction", (row) => c.said(row), write));
  }
  if (report.data.labelled > 0) {
    list.push(model.classes ? { name: "actual", numeric: false, shown: true, text: (row) => label(all.truth(row)), value: () => null } :
      numeric("actual", (row) => all.truth(row), (v) => number(v)));
    if (!model.classes) list.push(numeric("error", (row) => { const t = all.truth(row); return t === null ? null : c.said(row) - t; }, write, c.width >= 500));
  }
  report.columns.forEach((column, i) => {
    const labels = column.labels !== null;
    list.push({
      name: column.name, numeric: !labels, shown: first.has(i), text: (row) => all.text(row, i) ?? "missing",
      value: (row) => (labels ? null : all.value(row, i)),
    });
  });
  return list;
}

/** The list with its search field, headers that sort, and pages. */
function listing(c: Context, place: HTMLElement, open: (row: number, focus: boolean) => void): void {
  const all = fields(c);
  const shown = all.filter((f) => f.shown);
  const searchable: Searchable = { names: all.map((f) => f.name), text: (row, i) => all[i].text(row), value: (row, i) => all[i].value(row) };
  const search = fresh("search"), hint = fresh("hint");
  const example = all.find((f) => f.numeric && !["row", "probability", "prediction", "actual", "error"].includes(f.name));
  const box = h("input", { id: search, type: "search", value: c.query, "aria-describedby": hint, autocomplete: "off", spellcheck: "false" });
  const live = h("p", { class: "note", role: "status" });
  const body = h("tbody", {});
  const pages = h("div", { class: "pages" });
  const headers = shown.map((f) => h("th", { scope: "col", ...(f.numeric ? { class: "number" } : {}) },
    h("button", { type: "button", class: "sort", click: () => { c.sort = { by: f.name, down: c.sort.by === f.name ? !c.sort.down : f.name !== "row" && f.numeric }; c.first = 0; refresh(); } }, f.name, h("span", { class: "arrow", "aria-hidden": "true" }))));

  const found = (): number[] => {
    const holds = filter(c.query, searchable);
    const rows = c.report.rows.numbers.map((_, row) => row).filter(holds);
    const by = all.find((f) => f.name === c.sort.by) ?? all[0];
    const way = c.sort.down ? -1 : 1;
    return rows.sort((a, b) => {
      if (!by.numeric) return way * by.text(a).localeCompare(by.text(b));
      const [x, y] = [by.value(a), by.value(b)];
      return x === null || y === null ? Number(x === null) - Number(y === null) : way * (x - y);
    });
  };
  const refresh = () => {
    const rows = found();
    c.first = Math.min(c.first, Math.max(0, Math.floor((rows.length - 1) / perPage) * perPage));
    shown.forEach((f, i) => {
      if (f.name === c.sort.by) headers[i].setAttribute("aria-sort", c.sort.down ? "descending" : "ascending");
      else headers[i].removeAttribute("aria-sort");
    });
    body.replaceChildren(...rows.slice(c.first, c.first + perPage).map((row) => h("tr", { "data-row": row, "aria-current": row === c.row },
      shown.map((f, i) => i === 0 ?
        h("th", { scope: "row", class: "number" }, h("button", { type: "button", class: "open", click: () => open(row, true) }, f.text(row), h("span", { class: "hidden" }, ", open"))) :
        h("td", f.numeric ? { class: "number" } : {}, shorten(f.text(row), 26))))));
    live.textContent = rows.length === c.rows.length ? `${count(rows.length, "row")}.` : `${thousands(rows.length)} of ${count(c.rows.length, "row")} found.`;
    const turn = (text: string, to: number) => h("button", { type: "button", disabled: to < 0 || to >= rows.length || to === c.first, click: () => { c.first = to; refresh(); } }, text);
    pages.replaceChildren(turn("Previous", c.first - perPage), h("span", {}, rows.length ? `${c.first + 1} to ${Math.min(rows.length, c.first + perPage)} of ${thousands(rows.length)}` : "none"), turn("Next", c.first + perPage));
  };
  box.addEventListener("input", () => { c.query = box.value; c.first = 0; refresh(); });
  // The arrow keys go from row to row.
  body.addEventListener("keydown", (e) => {
    const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    const buttons = [...body.querySelectorAll<HTMLElement>("button.open")];
    const next = buttons[buttons.indexOf(document.activeElement as HTMLElement) + step];
    if (step && next) { e.preventDefault(); next.focus(); }
  });
  place.replaceChildren(
    h("div", { class: "control" }, h("label", { for: search }, "Search rows"), box),
    h("p", { class: "note", id: hint }, `Type any word of a row, or conditions separated by commas, such as ${example ? `${example.name} > ${example.text(0)}` : "row > 10"}. Click a header to sort, and a row number to open the row.`),
    live,
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Rows" }, h("table", { class: "rows" }, h("caption", { class: "hidden" }, "Rows"), h("thead", {}, h("tr", {}, headers)), body)),
    pages);
  refresh();
}
