import * as Plot from "@observablehq/plot";
import { details, h } from "./dom.ts";

/** A drawing. Plot puts a style element inside, which the page's policy would refuse: ours is in style.css. */
export function draw(options: Plot.PlotOptions, label: string): SVGSVGElement {
  const svg = Plot.plot({
    className: "plot", style: {}, marginBottom: 46, ...(options.y?.label ? { marginTop: 30 } : {}), ...options,
    x: { labelAnchor: "center", labelArrow: "none", labelOffset: 40, ...options.x },
    y: { labelArrow: "none", ...options.y },
  }) as SVGSVGElement;
  for (const style of svg.querySelectorAll("style")) style.remove();
  for (const mark of svg.querySelectorAll("[aria-label], [aria-description]")) { // the picture is told as one
    mark.removeAttribute("aria-label");
    mark.removeAttribute("aria-description");
  }
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  return svg;
}

/** A picture with what every picture has: a title, how to read it, what it does not say, and its numbers as a table. */
export interface Figure {
  title: string;
  read: string;
  not: string;
  picture: Node;
  controls?: Node[];
  legend?: { colour: string; text: string }[];
  numbers?: HTMLElement;
  narrow?: boolean; // the picture leaves room beside it
}

export function figure(f: Figure): HTMLElement {
  return h("figure", f.narrow ? { class: "narrow" } : {},
    h("h3", {}, f.title),
    f.controls ? h("div", { class: "controls" }, f.controls) : null,
    f.legend ? h("ul", { class: "legend" }, f.legend.map((l) => h("li", {}, h("span", { class: `swatch ${l.colour}`, "aria-hidden": "true" }), l.text))) : null,
    h("div", { class: "picture" }, f.picture),
    h("figcaption", {},
      h("p", {}, h("strong", {}, "How to read it: "), f.read),
      h("p", {}, h("strong", {}, "What it does not say: "), f.not)),
    f.numbers ? details("The numbers as a table", f.numbers) : null);
}

/** Room for labels on the left, by the longest of them. */
export function labelRoom(labels: readonly string[], width: number): { margin: number; most: number } {
  const letter = 6.6;
  const longest = Math.max(4, ...labels.map((l) => [...l].length));
  const wanted = letter * longest + 14;
  const margin = Math.min(wanted, (width < 500 ? 0.46 : 0.4) * width);
  return { margin, most: margin === wanted ? longest : Math.floor((margin - 14) / letter) };
}

/** Colours of a value from low to high, and of strength from none to full, in nine steps; see style.css. */
export const ramp = (share: number) => `var(--ramp-${Math.max(0, Math.min(8, Math.floor(9 * share)))})`;
export const heat = (share: number) => `var(--heat-${Math.max(0, Math.min(8, Math.round(8 * share)))})`;
export const onHeat = (share: number) => (Math.round(8 * share) >= 5 ? "var(--on-heat)" : "var(--ink)");
export const sign = (v: number) => (v < 0 ? "var(--down)" : "var(--up)");
export const series = (i: number) => `var(--series-${i % 6})`;

/** Places of a number among others, from 0, the least, to 1, the greatest: the share that is less, of those that differ. */
export function placeAmong(values: readonly number[]): (v: number) => number {
  const sorted = [...values].sort((a, b) => a - b);
  const below = (v: number, orEqual: boolean) => {
    let low = 0, high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] < v || (orEqual && sorted[middle] === v)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return (v) => {
    const less = below(v, false), more = sorted.length - below(v, true);
    return less + more === 0 ? 0.5 : less / (less + more);
  };
}

/** Moves dots that would lie on each other up and down: one lane for each that shares a bin. */
export function swarm(values: readonly number[], bins: number, lane: number, widest: number): number[] {
  const low = Math.min(...values), high = Math.max(...values);
  const taken = new Map<number, number>();
  return values.map((v) => {
    const bin = high > low ? Math.floor((bins * (v - low)) / (high - low)) : 0;
    const n = taken.get(bin) ?? 0;
    taken.set(bin, n + 1);
    const side = Math.ceil(n / 2) * lane * (n % 2 ? -1 : 1);
    return Math.max(-widest, Math.min(widest, side));
  });
}

/** At most so many rows, evenly taken. */
export function some(n: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(n / most));
  const rows: number[] = [];
  for (let row = 0; row < n; row += step) rows.push(row);
  return rows;
}
