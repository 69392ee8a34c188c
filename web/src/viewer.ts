import type { Shown } from "./context.ts";
import { h, select } from "./dom.ts";

export interface Page<C> {
  id: string;
  title: string;
  render: (c: C) => (Node | string)[];
}

/** The viewer: a page at a time on a screen, all of them one after another on paper. */
export class Viewer<C extends Shown> {
  private readonly sections = new Map<string, HTMLElement>();
  private readonly links = new Map<string, HTMLElement>();
  private readonly stale = new Set<string>();
  private readonly main = h("main", { id: "main", tabindex: -1 });

  constructor(private readonly context: C, private readonly pages: Page<C>[]) {
    document.body.prepend(
      h("a", { href: "#main", class: "skip", click: (e) => { e.preventDefault(); this.main.focus(); } }, "Skip to the page"),
      this.header(), h("div", { class: "frame" }, this.navigation(), this.main));
    for (const page of pages) {
      this.stale.add(page.id);
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
    const { title, subtitle, outputs } = this.context;
    return h("header", {},
      h("div", { class: "title" }, h("h1", {}, title), h("p", {}, subtitle)),
      outputs.length > 1 ? select("Class to explain", outputs.map((name, k) => ({ value: String(k), text: name })), "0", (value) => {
        this.context.choose(Number(value));
        this.renew();
      }) : null);
  }

  private navigation(): HTMLElement {
    return h("nav", { "aria-label": "Pages" }, h("ul", {}, this.pages.map((page) => {
      const link = h("a", { href: `#${page.id}`, click: (e) => this.follow(e, page) }, page.title);
      this.links.set(page.id, link);
      return h("li", {}, link);
    })));
  }

  /** A frame without an address of its own, as notebooks have it, takes links for those of the page around it. */
  private follow(event: Event, page: Page<C>): void {
    if (location.protocol !== "about:") return;
    event.preventDefault();
    location.hash = page.id;
  }

  private current(): Page<C> {
    const [id] = location.hash.slice(1).split("/");
    return this.pages.find((page) => page.id === id) ?? this.pages[0];
  }

  /** Shows the page of the address; a reader who went there finds the focus on its title. */
  private route(focus: boolean): void {
    const page = this.current();
    const [, place] = location.hash.slice(1).split("/");
    if (place !== undefined && this.context.arrive(page.id, place)) this.stale.add(page.id);
    for (const [id, section] of this.sections) section.classList.toggle("shown", id === page.id);
    for (const [id, link] of this.links) {
      if (id === page.id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${page.title} – ${this.context.title}`;
    this.render(page);
    if (focus) {
      scrollTo(0, 0);
      this.sections.get(page.id)?.querySelector<HTMLElement>("h2")?.focus({ preventScroll: true });
    }
  }

  private render(page: Page<C>): void {
    if (!this.stale.delete(page.id)) return;
    this.sections.get(page.id)?.replaceChildren(h("h2", { id: `title-${page.id}`, tabindex: -1 }, page.title), ...page.render(this.context));
  }

  /** For paper: all pages, with what is behind a fold, but for the numbers of pictures. */
  private renderAll(): void {
    for (const page of this.pages) this.render(page);
    for (const fold of this.main.querySelectorAll<HTMLDetailsElement>(".page > details")) fold.open = true;
  }

  /** Draws the pages that nobody has asked for yet while nothing else is to be done. */
  private rest(): void {
    const next = this.pages.find((page) => this.stale.has(page.id));
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
    for (const page of this.pages) this.stale.add(page.id);
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
