import type { Attribution, Widths } from "../attribution.ts";
import { margin, sure } from "../attribution.ts";
import { fresh, h } from "../dom.ts";
import { moment, signed } from "../words.ts";
import { type Cell, remark, type Row, seconds, typicalRow, written } from "./cells.ts";
import type { Column, Description } from "./description.ts";

/** The cells of a row, to be changed. */
export class Fields {
  readonly element: HTMLElement;
  private readonly fields: Field[];
  private readonly badges: HTMLElement[];

  constructor(model: Description, row: Row, origin: Row, changed: () => void) {
    const typical = typicalRow(model);
    this.fields = model.columns.map((column, i) => new Field(column, row[i], origin[i], typical[i].text, changed));
    const of = (name: string) => this.fields[model.columns.findIndex((c) => c.name === name)];
    this.badges = model.players.map(() => h("span", { class: "badge" }));
    const players = model.players.map((player, d) => {
      const cells = player.columns.map((name) => of(name).element);
      if (player.columns.length === 1) {
        cells[0].querySelector(".head")?.append(this.badges[d]);
        return h("div", { class: "player", "data-name": player.columns[0].toLowerCase() }, cells);
      }
      return h("fieldset", { class: "player group", "data-name": [player.name, ...player.columns].join(" ").toLowerCase() }, h("legend", {}, player.name, " ", this.badges[d]), cells);
    });
    this.element = h("div", { class: "fields" }, model.columns.length > 20 ? finder(players) : null, players);
  }

  /** Shows what the cells hold. */
  renew(): void {
    for (const field of this.fields) field.renew();
  }

  /** Says beside each player what it did. */
  mark(attributions: readonly Attribution[], widths: Widths & { unknown?: boolean }, write: (v: number) => string): void {
    for (const a of attributions) {
      const badge = this.badges[a.player];
      badge.className = `badge ${!a.observed ? "" : !sure(a, widths) ? "unsure" : a.mean < 0 ? "lowers" : "raises"}`;
      badge.textContent = a.observed ? `${signed(write(a.mean))}${widths.unknown ? "" : ` ± ${write(margin(a, widths))}`}` : "unknown";
    }
  }

  /** Says beside the cells what is wrong with them. */
  wrong(faults: ReadonlyMap<number, string>): void {
    this.fields.forEach((field, i) => field.wrong(faults.get(i) ?? ""));
  }
}

/** A search among many columns. */
function finder(players: HTMLElement[]): HTMLElement {
  const id = fresh("find");
  const box = h("input", { id, type: "search", autocomplete: "off", spellcheck: "false" });
  box.addEventListener("input", () => {
    const words = box.value.trim().toLowerCase();
    for (const player of players) player.hidden = !(player.dataset.name ?? "").includes(words);
  });
  return h("div", { class: "control" }, h("label", { for: id }, "Find a column"), box);
}

const another = "\u0000another";

/** One cell. */
class Field {
  readonly element: HTMLElement;
  private readonly note = h("p", { class: "note", id: fresh("note") });
  private readonly fault = h("p", { class: "fault", id: fresh("fault"), role: "alert" });
  private readonly back = h("button", { type: "button", class: "back", click: () => this.putBack() });
  private readonly box: HTMLInputElement;
  private readonly inputs: (HTMLInputElement | HTMLSelectElement)[];
  private readonly show: () => void;

  constructor(private readonly column: Column, private readonly cell: Cell, private readonly origin: Cell, private readonly typical: string, private readonly changed: () => void) {
    const id = fresh("cell");
    const { inputs, show } = this.column.kind === "category" || this.column.kind === "boolean" ? this.choice(id) : this.quantity(id);
    this.inputs = inputs;
    this.show = show;
    this.box = h("input", { type: "checkbox", "aria-label": `${column.name} is unknown` });
    this.box.addEventListener("change", () => {
      this.cell.unknown = this.box.checked;
      if (!this.box.checked && this.cell.text === "" && !this.column.gap) this.cell.text = this.typical;
      this.renew();
      this.changed();
    });
    this.element = h("div", { class: "field", "data-column": column.name },
      h("div", { class: "head" }, h("label", { for: id }, column.name)),
      h("div", { class: "inputs" }, inputs, h("label", { class: "unknown" }, this.box, "unknown")),
      this.note, this.fault, this.back);
    for (const input of inputs) input.setAttribute("aria-describedby", `${this.note.id} ${this.fault.id}`);
    this.renew();
  }

  wrong(text: string): void {
    if (this.fault.textContent !== text) this.fault.textContent = text;
    for (const input of this.inputs) {
      if (text) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
  }

  private set(text: string): void {
    this.cell.text = text;
    this.renew();
    this.changed();
  }

  private putBack(): void {
    Object.assign(this.cell, this.origin);
    this.renew();
    this.changed();
    (this.box.checked ? this.box : this.inputs[0]).focus();
  }

  /** Shows what the cell holds. */
  renew(): void {
    const { cell, origin } = this;
    this.box.checked = cell.unknown;
    for (const input of this.inputs) input.disabled = cell.unknown;
    this.show();
    const said = remark(this.column, cell);
    if (this.note.textContent !== said) this.note.textContent = said;
    const differs = cell.unknown !== origin.unknown || (!cell.unknown && cell.text !== origin.text);
    this.back.hidden = !differs;
    this.element.classList.toggle("changed", differs);
    const was = origin.unknown ? "unknown" : origin.text || "missing";
    this.back.textContent = `Reset to ${was}`;
    this.back.setAttribute("aria-label", `Reset to ${was}, ${this.column.name}`);
  }

  /** A number or a time: what is written, and a slider over what training saw. */
  private quantity(id: string): { inputs: HTMLInputElement[]; show: () => void } {
    const { column } = this;
    const time = column.kind === "time";
    const text = h("input", { id, type: "text", class: column.kind, inputmode: time ? "text" : "decimal", autocomplete: "off", spellcheck: "false", placeholder: column.gap ? "missing" : "" });
    text.addEventListener("input", () => this.set(text.value));
    const value = () => (time ? seconds(this.cell.text) : this.cell.text.trim() === "" ? null : Number(this.cell.text));
    const fill = () => { if (text.value !== this.cell.text) text.value = this.cell.text; };
    if (column.low === null || column.high === null || !(column.high > column.low)) return { inputs: [text], show: fill };
    const { low, high } = column;
    const step = stepOf(column, high - low);
    const slider = h("input", { type: "range", min: tidy(Math.floor(low / step) * step), max: tidy(Math.ceil(high / step) * step), step, "aria-label": `${column.name}, from ${written(column, column.low)} to ${written(column, column.high)}` });
    slider.addEventListener("input", () => {
      const v = Math.min(high, Math.max(low, tidy(Number(slider.value))));
      this.set(time ? moment(v) : String(v));
    });
    return {
      inputs: [text, slider],
      show: () => {
        fill();
        const v = value();
        if (v !== null && Number.isFinite(v) && slider !== document.activeElement) slider.value = String(v);
        slider.setAttribute("aria-valuetext", this.cell.text || "missing");
      },
    };
  }

  /** A label, or true and false. */
  private choice(id: string): { inputs: (HTMLInputElement | HTMLSelectElement)[]; show: () => void } {
    const { column } = this;
    const labels = column.labels ?? ["true", "false"];
    const options = [...(column.gap ? [{ value: "", text: "(missing)" }] : []), ...labels.map((l) => ({ value: l, text: l })), ...(column.labels ? [{ value: another, text: "another label …" }] : [])];
    const box = h("select", { id }, options.map((o) => h("option", { value: o.value }, o.text)));
    const free = h("input", { type: "text", "aria-label": `${column.name}, another label`, autocomplete: "off", spellcheck: "false", hidden: true });
    let writing = false;
    box.addEventListener("change", () => {
      writing = box.value === another;
      if (!writing) { this.set(box.value); return; }
      this.renew();
      free.focus();
    });
    free.addEventListener("input", () => this.set(free.value));
    return {
      inputs: column.labels ? [box, free] : [box],
      show: () => {
        const known = column.kind === "boolean" ? truth(this.cell.text) : this.cell.text;
        const listed = labels.includes(known) || (known === "" && (column.gap || this.cell.unknown));
        if (listed && writing && free !== document.activeElement && box.value !== another) writing = false;
        const other = writing || (!listed && column.labels !== null);
        free.hidden = !other;
        box.value = other ? another : known;
        if (other && free.value !== this.cell.text && free !== document.activeElement) free.value = this.cell.text;
      },
    };
  }
}

function truth(text: string): string {
  const word = text.trim().toLowerCase();
  return ["yes", "t", "true"].includes(word) ? "true" : ["no", "f", "false"].includes(word) ? "false" : "";
}

/** A number without the last digits that adding up steps leaves. */
const tidy = (v: number) => Number(v.toPrecision(12));

/** A step that some hundred of make the whole way: a power of ten, or of time a minute, an hour or a day. */
export function stepOf(column: Column, way: number): number {
  if (column.kind === "time") return [86400, 3600, 60].find((s) => way / s >= 30) ?? 1;
  const step = 10 ** Math.floor(Math.log10(way / 100));
  return column.whole ? Math.max(1, step) : step;
}
