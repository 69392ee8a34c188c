import * as Plot from "@observablehq/plot";
import { draw, figure, labelRoom, series } from "../chart.ts";
import type { Context } from "../context.ts";
import type { Game, Games } from "../document.ts";
import { h, p, select, table } from "../dom.ts";
import { attributions } from "../packed.ts";
import { count, decimalsFor, list, number, percent, shorten, signed } from "../words.ts";
import { beside, most } from "./columns.ts";

/** A column of a row in both games. */
export interface Pair {
  player: number;
  here: number; // in the game of the report
  other: number;
}

/** How far two games are apart in a row: the sum of the differences, as a share of the sizes in both. */
export function apart(pairs: readonly Pair[]): number {
  const sizes = pairs.reduce((sum, d) => sum + Math.abs(d.here) + Math.abs(d.other), 0);
  return sizes > 0 ? pairs.reduce((sum, d) => sum + Math.abs(d.here - d.other), 0) / sizes : 0;
}

/** The rows of both games. */
class Compared {
  readonly here: Game;
  readonly other: Game;
  private readonly means: Float32Array;

  constructor(private readonly c: Context, readonly of: Games) {
    this.here = c.report.game;
    this.other = of.other;
    this.means = attributions(of.mean);
  }

  /** All columns of one of the rows. */
  pairs(at: number): Pair[] {
    const { c, of } = this;
    const first = (at * c.outputs.length + c.output) * c.report.players.length;
    return c.report.players.map((_, player) => ({ player, here: c.rows.attribution(of.rows[at], c.output, player).mean, other: this.means[first + player] }));
  }

  /** The row that differs most. */
  farthest(): number {
    let best = 0, far = -1;
    this.of.rows.forEach((_, at) => {
      const by = apart(this.pairs(at));
      if (by > far) [best, far] = [at, by];
    });
    return best;
  }

  /** Mean sizes over the rows. */
  sizes(): Pair[] {
    const sums = this.c.report.players.map((_, player) => ({ player, here: 0, other: 0 }));
    const n = this.of.rows.length;
    for (let at = 0; at < n; at++) {
      for (const d of this.pairs(at)) {
        sums[d.player].here += Math.abs(d.here) / n;
        sums[d.player].other += Math.abs(d.other) / n;
      }
    }
    return sums.sort((a, b) => Math.max(b.here, b.other) - Math.max(a.here, a.other));
  }
}

/** The same rows with columns left out in two ways. */
export function games(c: Context): Node[] {
  const of = c.report.games;
  if (!of) return [];
  const x = new Compared(c, of);
  const farthest = x.farthest();
  const place = h("div", {});
  const show = () => place.replaceChildren(oneRow(c, x, c.compared < 0 ? farthest : c.compared));
  show();
  const names = of.rows.map((row, at) => ({ value: String(at), text: `row ${c.report.rows.numbers[row]}` }));
  return [
    p(`A Shapley value compares predictions with and without a column. What “without” means is a choice, and it is called the game. This page shows ${count(of.rows.length, "row")} drawn at random, in two games.`),
    h("dl", { class: "words" }, ...[x.here, x.other].flatMap((g) => [h("dt", {}, title(g)), h("dd", {}, `If a column is absent, ${g.absent}.${g.references ? ` There ${g.references === 1 ? "is 1 reference row" : `are ${g.references} reference rows`}${g === x.other ? `, drawn at random from ${c.report.data.name}` : ""}.` : ""}`)])),
    h("div", { class: "controls" }, select("Row", [{ value: "-1", text: `row ${c.report.rows.numbers[of.rows[farthest]]}, which differs most` }, ...names.filter((_, at) => at !== farthest)],
      String(c.compared), (value) => { c.compared = Number(value); show(); })),
    place, overall(c, x), choice(x),
  ];
}

/** The name of a game, as a title. */
function title(g: Game): string {
  return `${g.name[0].toUpperCase()}${g.name.slice(1)}${g.own ? ", the model's own" : ""}`;
}

/** One row in both games. */
function oneRow(c: Context, x: Compared, at: number): Node {
  const row = x.of.rows[at];
  const all = x.pairs(at).sort((a, b) => Math.max(Math.abs(b.here), Math.abs(b.other)) - Math.max(Math.abs(a.here), Math.abs(a.other)));
  const shown = all.slice(0, most), others = all.slice(most);
  const write = decimalsFor(Math.max(...all.map((d) => Math.max(Math.abs(d.here), Math.abs(d.other))), 0));
  const number = c.report.rows.numbers[row];
  const label = (d: number) => `${c.name(d)} = ${c.rows.cell(row, d)}`;
  const room = labelRoom(shown.map((d) => label(d.player)), c.width);
  const aside = c.width < 500 ? 46 : 84; // pixels for the differences
  const bars = shown.flatMap((d) => [{ player: d.player, g: 0, mean: d.here }, { player: d.player, g: 1, mean: d.other }]);
  const caption = `Row ${number} in two games`;
  const moved = [...all].sort((a, b) => Math.abs(b.here - b.other) - Math.abs(a.here - a.other))[0];
  return figure({
    title: caption,
    read: `Compare the two bars of a column. Right of 0 it raises ${c.sum}, left of 0 it lowers it. The number on the right is the difference, the second minus the first. The prediction is the same in both games, but the base is ${write(c.report.base[c.output])} in the first and ${write(x.of.base[c.output])} in the second. The games differ most in ${c.name(moved.player)}: ${signed(write(moved.here))} and ${signed(write(moved.other))}.`,
    not: "Which of the two is right. Both are Shapley values of the same model; they answer different questions.",
    legend: [x.here, x.other].map((g, i) => ({ colour: `series-${i}`, text: g.name })),
    picture: draw({
      width: c.width, height: 68 + 32 * shown.length, marginLeft: room.margin, marginTop: 24, marginRight: aside,
      x: { label: `attribution, in ${c.unit}`, grid: true, nice: true, ticks: Math.max(3, Math.floor(c.width / 110)) },
      fy: { label: null, domain: shown.map((d) => d.player), tickFormat: (d: number) => shorten(label(d), room.most), padding: 0.25, axis: "left" },
      y: { axis: null, domain: [0, 1] },
      color: { type: "identity" },
      marks: [Plot.barX(bars, { fy: "player", y: "g", x: "mean", fill: (b: (typeof bars)[number]) => series(b.g) }), Plot.ruleX([0], { stroke: "var(--muted)" }),
        Plot.text(shown, { fy: "player", frameAnchor: "right", textAnchor: "end", dx: aside - 4, text: (d: Pair) => signed(write(d.other - d.here)), fill: "var(--ink)" }),
        Plot.text([c.width < 500 ? "diff." : "difference"], { fy: () => shown[0].player, frameAnchor: "top-right", textAnchor: "end", dx: aside - 4, dy: -18, fill: "var(--muted)" })],
    }, `${caption}: ${shown.slice(0, 5).map((d) => `${c.name(d.player)} ${signed(write(d.here))} and ${signed(write(d.other))}`).join("; ")}.`),
    numbers: table(`${caption}${others.length ? "; the picture has the first " + shown.length : ""}`, ["Column", sentence(x.here.name), sentence(x.other.name), "Difference"],
      all.map((d) => [label(d.player), signed(write(d.here)), signed(write(d.other)), signed(write(d.other - d.here))]), [false, true, true, true]),
  });
}

const sentence = (name: string) => name[0].toUpperCase() + name.slice(1);

/** Mean sizes of all rows in both games. */
function overall(c: Context, x: Compared): Node {
  const sizes = x.sizes();
  const shown = sizes.slice(0, most);
  const by = new Map(sizes.map((d) => [d.player, d]));
  const caption = `Mean sizes in two games, ${count(x.of.rows.length, "row")}`;
  const first = (of: (d: Pair) => number) => [...sizes].sort((a, b) => of(b) - of(a)).slice(0, 3).map((d) => c.name(d.player));
  const [here, other] = [first((d) => d.here), first((d) => d.other)];
  const same = here.join("\n") === other.join("\n");
  const mean = x.of.rows.reduce((sum, _, at) => sum + apart(x.pairs(at)), 0) / x.of.rows.length;
  return figure({
    title: caption,
    read: `The longer a bar, the more the column moves ${c.sum} in that game. ${same ? `In both games the three largest are ${list(here)}.` : `The three largest are ${list(here)} in the first game, and ${list(other)} in the second.`} On average, the attributions of a row differ by ${percent(mean)} of their sizes.`,
    not: "How the games differ in rows unlike these. Columns with much the same information differ most between games.",
    legend: [x.here, x.other].map((g, i) => ({ colour: `series-${i}`, text: g.name })),
    picture: beside(c, caption, shown.map((d) => d.player), (d) => c.name(d), [(d) => by.get(d)?.here ?? 0, (d) => by.get(d)?.other ?? 0]),
    numbers: table(caption, ["Column", sentence(x.here.name), sentence(x.other.name)], sizes.map((d) => [c.name(d.player), number(d.here, 3), number(d.other, 3)]), [false, true, true]),
  });
}

/** What each game is good for; docs/which-shapley.md has the same table. */
const uses: Record<string, string> = {
  observational: "to learn what a column reveals, about itself and about columns associated with it. Columns with the same information share the credit, even one that the model does not need.",
  "path-dependent": "to compare with TreeSHAP of other programs, without reference rows. It is fast. A column gets credit only if the trees split by it. Branches of absent columns are weighed by training rows, which follows associations between columns in part.",
  "missing-branch": "if the trees learned from rows with missing cells in every column.",
  baseline: "to explain why this row and one other row, such as a typical one, have different predictions.",
  interventional: "to learn which columns the model itself uses. A column that the model ignores gets 0, and so does one in which the row equals all reference rows. It also evaluates rows that may not exist, such as a child with the income of an adult. The result depends on the reference rows.",
};

function choice(x: Compared): Node {
  return h("section", { class: "block" }, h("h3", {}, "When to use which"),
    h("ul", {}, [x.here, x.other].map((g) => h("li", {}, h("strong", {}, sentence(g.name)), ` – ${uses[g.name]}`))),
    p(`The other pages of this report are in the ${x.here.name} game. `, h("code", {}, "psi report --game"), " writes all of it in another. Neither game is about causes."));
}
