import "./style.css";
import { Context } from "./context.ts";
import type { Report } from "./document.ts";
import { h, select } from "./dom.ts";
import { StoredRows } from "./explainer.ts";
import { Live } from "./live/page.ts";
import type { Places } from "./live/server.ts";
import { columns } from "./pages/columns.ts";
import { data } from "./pages/data.ts";
import { effects } from "./pages/effects.ts";
import { pairs } from "./pages/pairs.ts";
import { predicts } from "./pages/predicts.ts";
import { provenance } from "./pages/provenance.ts";
import { rows } from "./pages/rows.ts";
import { trust } from "./pages/trust.ts";
import { count } from "./words.ts";

interface Page {
  id: string;
  title: string;
  render: (c: Context) => (Node | string)[];
}

const pages: Page[] = [
  { id: "predicts", title: "What it predicts, and how well", render: predicts },
  { id: "trust", title: "How far to trust it", render: trust },
  { id: "columns", title: "Which columns matter", render: columns },
  { id: "effects", title: "How each column acts", render: effects },
  { id: "rows", title: "Single rows", render: rows },
  { id: "pairs", title: "Columns acting together", render: pairs },
  { id: "data", title: "What was in the data", render: data },
  { id: "provenance", title: "Where it comes from", render: provenance },
];

/** The viewer: a page at a time on a screen, all of them one after another on paper. */
class Viewer {
  private readonly context: Context;
  private readonly sections = new Map<string, HTMLElement>();
  private readonly links = new Map<string, HTMLElement>();
  private readonly stale = new Set(pages.map((page) => page.id));
  private readonly main = h("main", { id: "main", tabindex: -1 });

  constructor(private readonly report: Report) {
    const stored = new StoredRows(report);
    this.context = new Context(report, stored, stored);
    document.body.prepend(
      h("a", { href: "#main", class: "skip", click: (e) => { e.preventDefault(); this.main.focus(); } }, "Skip to the page"),
      this.header(), h("div", { class: "frame" }, this.navigation(), this.main));
    for (const page of pages) {
      const section = h("section", { class: "page", id: `page-${page.id}`, "aria-labelledby": `title-${page.id}` });
      this.sections.set(page.id, section);
      this.main.append(section);
    }
    this.measure();
    addEventListener("hashchange", () => this.route(true));
    addEventListener("beforeprint", () => this.renderAll());
    new ResizeObserver(() => this.resized()).observe(this.main);
    this.route(false);
    this.rest();
  }

  private header(): HTMLElement {
    const { model, data, outputs } = this.report;
    return h("header", {},
      h("div", { class: "title" }, h("h1", {}, `Report on ${model.target}`),
        h("p", {}, `${model.name}, ${count(data.rows, "row")} of ${data.name}`)),
      outputs.length > 1 ? select("Class to explain", outputs.map((name, k) => ({ value: String(k), text: name })), "0", (value) => {
        this.context.output = Number(value);
        this.context.pair = 0;
        this.renew();
      }) : null);
  }

  private navigation(): HTMLElement {
    return h("nav", { "aria-label": "Pages" }, h("ul", {}, pages.map((page) => {
      const link = h("a", { href: `#${page.id}`, click: (e) => this.follow(e, page) }, page.title);
      this.links.set(page.id, link);
      return h("li", {}, link);
    })));
  }

  /** A frame without an address of its own, as notebooks have it, takes links for those of the page around it. */
  private follow(event: Event, page: Page): void {
    if (location.protocol !== "about:") return;
    event.preventDefault();
    location.hash = page.id;
  }

  private current(): Page {
    const [id] = location.hash.slice(1).split("/");
    return pages.find((page) => page.id === id) ?? pages[0];
  }

  /** Shows the page of the address; a reader who went there finds the focus on its title. */
  private route(focus: boolean): void {
    const page = this.current();
    const [, number] = location.hash.slice(1).split("/");
    if (page.id === "rows" && number !== undefined) {
      const row = this.report.rows.numbers.indexOf(Number(number));
      if (row >= 0 && row !== this.context.row) {
        this.context.row = row;
        this.stale.add("rows");
      }
    }
    for (const [id, section] of this.sections) section.classList.toggle("shown", id === page.id);
    for (const [id, link] of this.links) {
      if (id === page.id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${page.title} – Report on ${this.report.model.target}`;
    this.render(page);
    if (focus) {
      scrollTo(0, 0);
      this.sections.get(page.id)?.querySelector<HTMLElement>("h2")?.focus({ preventScroll: true });
    }
  }

  private render(page: Page): void {
    if (!this.stale.delete(page.id)) return;
    this.sections.get(page.id)?.replaceChildren(h("h2", { id: `title-${page.id}`, tabindex: -1 }, page.title), ...page.render(this.context));
  }

  private renderAll(): void {
    for (const page of pages) this.render(page);
  }

  /** Draws the pages that nobody has asked for yet while nothing else is to be done. */
  private rest(): void {
    const next = pages.find((page) => this.stale.has(page.id));
    if (!next) {
      document.documentElement.dataset.ready = "all";
      return;
    }
    const wait = window.requestIdleCallback ?? ((f: () => void) => setTimeout(f, 50));
    wait(() => {
      this.render(next);
      this.rest();
    });
  }

  private renew(): void {
    for (const page of pages) this.stale.add(page.id);
    delete document.documentElement.dataset.ready;
    this.render(this.current());
    this.rest();
  }

  private measure(): boolean {
    const style = getComputedStyle(this.main);
    const width = Math.floor(this.main.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - figurePadding(this.main.clientWidth));
    if (Math.abs(width - this.context.width) < 8 || width < 100) return false;
    this.context.width = width;
    return true;
  }

  private timer = 0;

  private resized(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      if (!matchMedia("print").matches && this.measure()) this.renew();
    }, 150);
  }
}

/** What a figure leaves of its width, as style.css has it. */
function figurePadding(width: number): number {
  return width < 600 ? 26 : 42;
}

const source = document.getElementById("report");
if (source) new Viewer(JSON.parse(source.textContent ?? "") as Report);
const live = document.getElementById("live");
if (live) new Live(JSON.parse(live.textContent ?? "") as Places);
