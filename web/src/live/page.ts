import { type Order, ranked, sure } from "../attribution.ts";
import { fresh, h, p, select } from "../dom.ts";
import { controls, inWords, waterfall } from "../one.ts";
import { reachOf } from "../share.ts";
import type { Choices, Told } from "../subject.ts";
import { count, list, thousands } from "../words.ts";
import { type Answered, card, difference, headline, numbers, sideBySide, writer } from "./answer.ts";
import { carried, question, read, type Row, rowOf, typicalRow } from "./cells.ts";
import { type Sheet, sheet } from "./csv.ts";
import type { Description } from "./description.ts";
import { Fields } from "./fields.ts";
import { Latest } from "./latest.ts";
import { type Asked, AskedRows, type Places, Refusal, Server, Stranger } from "./server.ts";

const mostBytes = 64 << 20; // of a table that is opened
const untilTold = 900; // milliseconds of quiet before a new prediction is announced

/** The live page: a row to change, and what a server makes of it beside another row. */
export class Live implements Choices {
  z = 1.96;
  order: Order = "sure";
  width = 720;

  get bags(): number {
    return this.answered?.[0].bags ?? 0;
  }

  get unknown(): boolean {
    return this.answered?.[0].unknown ?? false;
  }

  get reach(): number {
    return reachOf(this.z, this.bags);
  }

  get classes(): boolean {
    return this.model.classes !== null;
  }

  private readonly server: Server;
  private models: Description[] = [];
  private asked!: AskedRows;
  private output = 0;
  private opened: Sheet | null = null;
  private at = 0; // row of the table that was started from
  private against = 0; // row of the table to compare with
  private origin: Row = [];
  private row: Row = [];
  private fields!: Fields;
  private readonly place = h("div", {}); // of the fields
  private answered: [Asked, Asked] | null = null;

  private readonly beside = h("p", { class: "note" }); // what the numbers beside the cells are
  private readonly header = h("header", {});
  private readonly editor = h("section", { class: "editor", "aria-labelledby": "title-row" });
  private readonly answer = h("section", { class: "answer", "aria-labelledby": "title-answer" });
  private readonly main = h("main", { id: "main", tabindex: -1, class: "live" });
  private readonly problem = h("div", { class: "problem", role: "alert" });
  private readonly status = h("p", { class: "hidden", role: "status" });
  private readonly strip = h("p", { class: "strip-answer", "aria-hidden": "true" });
  private readonly latest = new Latest<{ output: number }, [Asked, Asked]>(
    ({ output }, signal) => Promise.all([this.asked.explain(0, output, signal), this.asked.explain(1, output, signal)]) as Promise<[Asked, Asked]>,
    (_, answer) => { this.answered = answer; this.trouble(null); this.draw(); },
    (_, error) => this.trouble(error));

  constructor(places: Places) {
    this.server = new Server(places, (wait) => this.say(`The server is busy. Retrying in ${Math.ceil(wait)} s.`));
    document.body.prepend(
      h("a", { href: "#main", class: "skip", click: (e) => { e.preventDefault(); this.main.focus(); } }, "Skip to the row"),
      this.header, this.main);
    this.header.append(h("div", { class: "title" }, h("h1", {}, "What if")));
    this.main.append(this.problem, this.status);
    new ResizeObserver(() => { if (this.measure()) this.draw(); }).observe(this.main);
    void this.begin();
  }

  private async begin(): Promise<void> {
    try {
      this.models = await this.server.models();
      if (this.models.length === 0) throw new Refusal("The server has no models.");
      this.trouble(null);
      this.main.append(h("div", { class: "columns" }, this.editor, this.answer));
      this.choose(this.models[0]);
    } catch (error) {
      this.trouble(error, () => void this.begin());
    }
  }

  private get model(): Description {
    return this.asked.model;
  }

  /** Goes over to a model, with what of the row it knows. */
  private choose(model: Description): void {
    const before = this.asked?.model;
    this.latest.cancel();
    this.asked = new AskedRows(this.server, model);
    this.output = Math.max(0, before ? model.outputs.indexOf(before.outputs[this.output]) : 0);
    this.answered = this.parts = null; // whose words are of the other model
    this.head();
    if (this.opened) this.origin = rowOf(model, this.opened.headers, this.opened.rows[this.at]);
    else this.origin = before ? carried(this.origin, before, model) : typicalRow(model);
    this.row = before ? carried(this.row, before, model) : copy(this.origin);
    this.edit();
  }

  private head(): void {
    const { model } = this;
    const names = [...new Set(this.models.map((m) => m.name))];
    const versions = this.models.filter((m) => m.name === model.name);
    document.title = `What if – ${model.target}`;
    this.header.replaceChildren(
      h("div", { class: "title" }, h("h1", {}, `What if: ${model.target}`),
        p(`${model.name}${model.version ? `, version ${model.version}` : ""}. ${model.exact ? "Attributions are the exact Shapley values of the model." : "Attributions come from a learned head and approximate Shapley values."}`)),
      h("div", { class: "controls" },
        names.length > 1 ? select("Model", names.map((n) => ({ value: n, text: n })), model.name, (name) => this.choose(this.models.find((m) => m.name === name) ?? model)) : null,
        versions.length > 1 ? select("Version", versions.map((m) => ({ value: m.version, text: m.version })), model.version, (v) => this.choose(versions.find((m) => m.version === v) ?? model)) : null,
        model.outputs.length > 1 ? select("Class to explain", model.outputs.map((name, k) => ({ value: String(k), text: name })), String(this.output), (k) => { this.output = Number(k); this.ask(); }) : null));
  }

  /** Shows where rows come from, and the row. */
  private edit(): void {
    const all = (change: (i: number) => void) => { this.row.forEach((_, i) => change(i)); this.fields.renew(); this.ask(); };
    this.editor.replaceChildren(
      h("h2", { id: "title-row", tabindex: -1 }, "The row"),
      p(this.whence()), this.sources(), h("div", { class: "controls" }, this.picks(),
        h("button", { type: "button", click: () => all((i) => { Object.assign(this.row[i], this.origin[i]); }) }, "Reset all cells"),
        h("button", { type: "button", click: () => all((i) => { this.row[i].unknown = true; }) }, "Mark all unknown")),
      this.beside, this.place, this.strip);
    this.fill();
  }

  /** Shows the cells of the row, and asks of it. */
  private fill(): void {
    this.fields = new Fields(this.model, this.row, this.origin, () => this.ask());
    this.place.replaceChildren(this.fields.element);
    this.ask();
  }

  private whence(): string {
    if (this.opened) return "Change a cell, or mark it unknown, and see the prediction move.";
    return this.model.kept ? "The row starts with typical values: medians and the most common labels. Change a cell, or mark it unknown, and see the prediction move." :
      "The row starts with numbers near their means and the first label of each column, which may not occur together in a real row. Change a cell, or mark it unknown, and see the prediction move.";
  }

  /** A file or a text to take rows from. */
  private sources(): HTMLElement {
    const file = fresh("file"), text = fresh("text");
    const fault = h("p", { class: "fault", role: "alert" });
    const box = h("textarea", { id: text, rows: 4, spellcheck: "false", placeholder: `${this.model.columns.slice(0, 3).map((c) => c.name).join(",")},…` });
    const take = (content: string) => {
      try {
        this.open(sheet(content));
      } catch (error) {
        fault.textContent = (error as Error).message;
      }
    };
    const input = h("input", { id: file, type: "file", accept: ".csv,.tsv,.txt,text/csv" });
    input.addEventListener("change", () => {
      const [chosen] = input.files ?? [];
      if (!chosen) return;
      if (chosen.size > mostBytes) fault.textContent = "The file is larger than 64 MiB. Open a part of it.";
      else chosen.text().then(take, () => { fault.textContent = "The browser cannot read the file."; });
    });
    return h("details", { class: "sources" }, h("summary", {}, this.opened ? `${count(this.opened.rows.length, "row")} opened. Open other rows` : "Open your own rows"),
      p("The table stays in this browser; the page sends only the rows it explains to the server."),
      h("div", { class: "control" }, h("label", { for: file }, "CSV file"), input),
      h("div", { class: "control" }, h("label", { for: text }, "or paste rows with a header line"), box, h("button", { type: "button", click: () => take(box.value) }, "Use these rows")), fault);
  }

  private open(table: Sheet): void {
    if (!this.model.columns.some((c) => table.headers.includes(c.name))) throw new Error(`None of the columns is a column of the model. It has ${list(this.model.columns.slice(0, 5).map((c) => c.name))}, …`);
    this.opened = table;
    this.at = this.against = 0;
    this.start(0);
    this.edit();
    this.editor.querySelector<HTMLElement>("h2")?.focus();
  }

  private start(row: number): void {
    if (!this.opened) return;
    if (this.against === this.at) this.against = row;
    this.at = row;
    this.origin = rowOf(this.model, this.opened.headers, this.opened.rows[row]);
    this.row = copy(this.origin);
    this.fill();
  }

  /** Which rows of the table to edit and to compare with. */
  private picks(): HTMLElement[] {
    const { opened } = this;
    if (!opened) return [];
    const last = opened.rows.length - 1;
    const pick = (label: string, value: number, change: (row: number) => void) => {
      const id = fresh("pick");
      const box = h("input", { id, type: "number", min: 0, max: last, step: 1, value });
      box.addEventListener("change", () => {
        const row = Number(box.value);
        if (box.value !== "" && Number.isInteger(row) && row >= 0 && row <= last) change(row);
      });
      return { box, control: h("div", { class: "control" }, h("label", { for: id }, label), box) };
    };
    const compared = pick("Compare with row", this.against, (row) => { this.against = row; this.ask(); });
    const started = pick(`Row, 0 to ${thousands(last)}`, this.at, (row) => {
      this.start(row);
      compared.box.value = String(this.against);
    });
    return [started.control, compared.control];
  }

  private get other(): Row {
    return this.against === this.at || !this.opened ? this.origin : rowOf(this.model, this.opened.headers, this.opened.rows[this.against]);
  }

  /** Asks for the row and for the one it is compared with, unless a cell cannot be read. */
  private ask(): void {
    const mine = question(this.model, this.row);
    this.fields.wrong(mine.wrong);
    const theirs = question(this.model, this.other);
    if (mine.wrong.size > 0 || theirs.wrong.size > 0) {
      this.latest.cancel();
      if (mine.wrong.size === 0) this.trouble(new Refusal(`The row to compare with cannot be read: ${[...theirs.wrong.values()][0]}`));
      this.stale(true);
      return;
    }
    this.asked.rows = [mine.body, theirs.body];
    this.stale(true);
    this.latest.put({ output: this.output });
  }

  private stale(is: boolean): void {
    this.answer.setAttribute("aria-busy", String(is));
  }

  /** Says what went wrong, beside the cell if the server names one. */
  private trouble(error: unknown, again: () => void = () => this.ask()): void {
    if (error === null) {
      this.problem.replaceChildren();
      return;
    }
    if (error instanceof Stranger) {
      this.problem.replaceChildren(this.introduce(again));
      return;
    }
    const said = error instanceof Refusal ? error : new Refusal("The page cannot read the server's answer.");
    const column = this.asked ? this.model.columns.findIndex((c) => c.name === said.column) : -1;
    if (column >= 0) {
      this.problem.replaceChildren();
      this.fields.wrong(new Map([[column, said.message]]));
    } else {
      this.problem.replaceChildren(h("p", {}, said.message, " ", h("button", { type: "button", click: again }, "Try again")));
    }
  }

  private say(text: string): void {
    this.problem.replaceChildren(h("p", {}, text));
  }

  /** Asks the reader for a token. It is kept in memory, and gone with the page. */
  private introduce(again: () => void): HTMLElement {
    const id = fresh("token");
    const box = h("input", { id, type: "password", autocomplete: "off", spellcheck: "false" });
    const form = h("form", {}, p(this.server.token ? "The server rejected this token." : "The server requires authentication."),
      h("div", { class: "control" }, h("label", { for: id }, "Token"), box, h("button", { type: "submit" }, "Use it")),
      h("p", { class: "note" }, "The token is kept only in this page, until you close or reload it."));
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.server.token = box.value.trim();
      this.problem.replaceChildren();
      again();
    });
    return form;
  }

  private told(row: Row, what: string): Told {
    const { model } = this;
    const text = (name: string) => {
      const i = model.columns.findIndex((c) => c.name === name);
      const { unknown } = row[i];
      const got = read(model.columns[i], row[i].text);
      return unknown ? "unknown" : "value" in got && got.value !== null ? row[i].text.trim() : "missing";
    };
    return {
      target: model.target, scale: model.scale, nonNegative: model.non_negative, outputName: model.outputs[this.output], classes: model.classes, what,
      name: (d) => model.players[d].name, cell: (d) => model.players[d].columns.map(text).join(", "),
    };
  }

  private parts: { cards: HTMLElement; pictures: HTMLElement } | null = null;

  /** Shows the answer at hand. */
  private draw(): void {
    if (!this.answered) return;
    if (!this.parts) {
      this.parts = { cards: h("div", { class: "cards" }), pictures: h("div", {}) };
      this.answer.replaceChildren(h("h2", { id: "title-answer" }, "Prediction and attributions"), this.parts.cards, controls(this, () => this.draw()), this.parts.pictures);
      this.measure();
    }
    const same = this.against === this.at;
    const edited = same ? "the edited row" : `row ${this.at}${JSON.stringify(this.row) === JSON.stringify(this.origin) ? "" : ", edited"}`;
    const now: Answered = { told: this.told(this.row, edited), explained: this.answered[0] };
    const other: Answered = { told: this.told(this.other, this.opened ? `row ${this.against}` : "the row started from"), explained: this.answered[1] };
    const write = writer([now, other]);
    this.beside.textContent = `Beside each column: what it adds to the prediction or subtracts from it${this.unknown ? "." : ", and its interval, ±. Grey: the interval contains 0."}`;
    this.fields.mark(now.explained.attributions, this, write);
    this.parts.cards.replaceChildren(card(this, now, other), card(this, other, null));
    const order = ranked(now.explained.attributions, this, this.order);
    this.parts.pictures.replaceChildren(sideBySide(this, now, other, write), numbers(this, now, other, write),
      inWords(this, now.told, now.explained, write), waterfall(this, now.told, now.explained, order, write));
    const head = headline(now);
    this.strip.textContent = `${head.what}: ${head.text}, ${difference(now, other).words}`;
    this.stale(this.latest.busy);
    this.announce(now, other);
  }

  private timer = 0;

  /** Tells those who hear the page of the new prediction, once they pause. */
  private announce(now: Answered, other: Answered): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      const certain = ranked(now.explained.attributions, this, "sure").filter((a) => sure(a, this)).slice(0, 3);
      const head = headline(now);
      const text = `${head.what}: ${head.text}, ${difference(now, other).words}. ${certain.length ? `${this.unknown ? "Largest" : "Sure"}: ${list(certain.map((a) => `${now.told.name(a.player)} ${a.mean < 0 ? "lowers" : "raises"} it`))}.` : "No column is sure to raise or lower it."}`;
      if (this.status.textContent !== text) this.status.textContent = text;
    }, untilTold);
  }

  private measure(): boolean {
    const { clientWidth } = this.answer;
    const width = Math.floor(clientWidth - (clientWidth < 600 ? 26 : 42));
    if (Math.abs(width - this.width) < 8 || width < 100) return false;
    this.width = width;
    return true;
  }
}

const copy = (row: Row): Row => row.map((cell) => ({ ...cell }));
