/** Elements without a template language. */

import { kept } from "./words.ts";

type Child = Node | string | null | false;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, string | number | boolean | ((e: Event) => void)> = {}, ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children.flat()) if (child !== null && child !== false) element.append(child);
  return element;
}

export function p(...children: (Child | Child[])[]): HTMLParagraphElement {
  return h("p", {}, ...children);
}

/** Words from elsewhere, with numbers and units kept together, and flags such as --effort best too. */
export function sentences(text: string): (Node | string)[] {
  return kept(text).split(/(--[a-z][^\s).,;]*(?: [^\s).,;]+)?)/).map((part, i) => (i % 2 ? h("code", {}, part) : part));
}

let ids = 0;

/** An id that no other element has. */
export function fresh(prefix: string): string {
  return `${prefix}-${++ids}`;
}

/** A table with headers that a screen reader tells. The first cell of a line is its header; numbers are set right. A wide
 * one becomes a list on a narrow screen, which would take its roles away if they were not spelled out. */
export function table(caption: string, headers: string[], lines: (string | Node)[][], numeric: boolean[] = [], wide = headers.length > 3): HTMLElement {
  const align = (i: number) => (numeric[i] ? { class: "number" } : {});
  const header = (cell: string | Node, i: number) => h("th", { scope: "row", role: "rowheader", ...align(i) }, cell);
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", { role: "table", ...(wide ? { class: "stack" } : {}) },
      h("caption", {}, caption),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, headers.map((text, i) => h("th", { scope: "col", role: "columnheader", ...align(i) }, text)))),
      h("tbody", { role: "rowgroup" }, lines.map((cells) => h("tr", { role: "row" }, cells.map((cell, i) =>
        i === 0 ? header(cell, i) : h("td", { role: "cell", "data-label": headers[i], ...align(i) }, cell)))))));
}

/** A choice with a label. */
export function select(label: string, options: { value: string; text: string }[], chosen: string, change: (value: string) => void): HTMLElement {
  const id = fresh("select");
  const box = h("select", { id, change: () => change(box.value) }, options.map((o) => h("option", { value: o.value, selected: o.value === chosen }, o.text)));
  return h("div", { class: "control" }, h("label", { for: id }, label), box);
}

export function details(summary: string, ...children: Child[]): HTMLElement {
  return h("details", {}, h("summary", {}, summary), children);
}
