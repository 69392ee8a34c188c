import { moment } from "../words.ts";
import type { Column, Description } from "./description.ts";

/** A cell as a reader has it: what is written in it, also while it is marked unknown. An empty text is a missing cell. */
export interface Cell {
  text: string;
  unknown: boolean;
}

/** The cells of a model's columns, in its order. */
export type Row = Cell[];

/** What is sent of a cell, or why it cannot be. */
export type Read = { value: number | string | boolean | null } | { wrong: string };

const usual = ["", "na", "n/a", "nan", "null", "?"];
const truths = [["false", "no", "f"], ["true", "yes", "t"]];
const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** Reads a text as the kind of its column says. */
export function read(column: Column, text: string): Read {
  const word = text.trim();
  if (word === "") return { value: null };
  switch (column.kind) {
    case "category":
      return { value: text };
    case "number": {
      const value = Number(word);
      return decimal.test(word) && Number.isFinite(value) ? { value } : { wrong: `${word} is not a number. Write it with a point, such as 3.5.` };
    }
    case "boolean": {
      const value = truths.findIndex((words) => words.includes(word.toLowerCase()));
      return value < 0 ? { wrong: `${word} is neither true nor false.` } : { value: value === 1 };
    }
    default:
      return seconds(word) === null ? { wrong: `${word} is not a time. Write it as 2026-01-31 or 2026-01-31 12:00.` } : { value: word };
  }
}

/** A time in seconds since 1970; one without a zone is taken as UTC. */
export function seconds(text: string): number | null {
  const iso = text.trim().replace(/^(\d{4})\/(\d{2})\/(\d{2})/, "$1-$2-$3").replace(/^(\d{4}-\d{2}-\d{2}) (?=\d)/, "$1T");
  const zoned = /T.*(Z|[+-]\d{2}:?\d{2})$/.test(iso) || !iso.includes("T") ? iso : `${iso}Z`;
  if (!/^\d{4}-\d{2}-\d{2}/.test(iso)) {
    const at = /^(\d{1,2}[ -][A-Za-z]+[ -]\d{4}|[A-Za-z]+ \d{1,2}, \d{4})$/.test(iso) ? Date.parse(`${iso.replaceAll("-", " ")} UTC`) : NaN;
    return Number.isNaN(at) ? null : at / 1000;
  }
  const at = Date.parse(zoned);
  return Number.isNaN(at) ? null : at / 1000;
}

/** A cell of the description as a reader would write it. */
export function written(column: Column, value: Column["typical"]): string {
  if (value === null) return "";
  return column.kind === "time" ? moment(value as number) : String(value);
}

/** Where to start from without a table. A column of which nothing is known is unknown. */
export function typicalRow(model: Description): Row {
  return model.columns.map((c) => ({ text: written(c, c.typical), unknown: c.typical === null }));
}

/** A line of a table as a row of the model. What the table lacks is unknown; what is missing in it is unknown too, unless the
 * model takes that as a value. */
export function rowOf(model: Description, headers: readonly string[], cells: readonly string[]): Row {
  const missing = new Set([...usual, ...model.missing.map((token) => token.trim().toLowerCase())]);
  return model.columns.map((c) => {
    const at = headers.indexOf(c.name);
    if (at < 0) return { text: "", unknown: true };
    return missing.has(cells[at].trim().toLowerCase()) ? { text: "", unknown: !c.gap } : { text: cells[at], unknown: false };
  });
}

/** The cells of another model's row that this one has too. */
export function carried(row: Row, from: Description, to: Description): Row {
  const typical = typicalRow(to);
  return to.columns.map((c, i) => {
    const at = from.columns.findIndex((other) => other.name === c.name && other.kind === c.kind);
    return at < 0 ? typical[i] : { ...row[at] };
  });
}

/** What a server is asked of a row, and the cells that cannot be asked of. */
export function question(model: Description, row: Row): { body: string; wrong: Map<number, string> } {
  const cells: Record<string, number | string | boolean | null> = Object.create(null) as Record<string, never>;
  const unknown: string[] = [];
  const wrong = new Map<number, string>();
  model.columns.forEach((c, i) => {
    cells[c.name] = null;
    if (row[i].unknown) {
      unknown.push(c.name);
      return;
    }
    const got = read(c, row[i].text);
    if ("wrong" in got) wrong.set(i, got.wrong);
    else cells[c.name] = got.value;
  });
  return { body: JSON.stringify({ rows: [cells], unknown, top }), wrong };
}

/** How many of the largest attributions p_top speaks of. */
export const top = 3;

/** What is to be said of a cell that can be asked of. */
export function remark(column: Column, cell: Cell): string {
  if (cell.unknown) return "";
  if (cell.text.trim() === "") return column.gap ? "Missing: the model treats this as a value of its own." : "Missing: the model treats this as unknown.";
  if (column.kind === "category") {
    if (column.labels === null || column.labels.includes(cell.text)) return "";
    return column.left ? `Not among the ${column.labels.length} labels listed; ${column.left} more are known.` : "This label is absent or very rare in the training data; the model treats it like other rare labels.";
  }
  const value = column.kind === "time" ? seconds(cell.text) : Number(cell.text);
  if (column.kind === "boolean" || value === null || column.low === null || column.high === null || (value >= column.low && value <= column.high)) return "";
  return `Outside the training range: ${written(column, column.low)} to ${written(column, column.high)}.`;
}
