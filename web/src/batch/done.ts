import { h, p, table } from "../dom.ts";
import { verdict } from "../pages/trust.ts";
import { bytes, count, kept, lasting, moment, thousands } from "../words.ts";
import type { Batch } from "./context.ts";
import type { Failure } from "./document.ts";

/** What was explained, what failed, and what to do. */
export function done(c: Batch): Node[] {
  const { run, done: answer, advice } = c.report;
  return [
    p(`The model in ${c.model.name} predicts ${c.predicted}. This report describes the batch that explained the tables of ${run.in}, from its summary.`),
    verdict("Is the batch complete?", answer.level, answer.verdict, answer.words, answer.level === "fair" ? "not all" : undefined),
    h("section", { class: "block" }, h("h3", {}, "What to do"), h("ul", {}, advice.map((text) => h("li", {}, kept(text))))),
    h("div", { class: "cards" }, cards(c)),
    ...failures(c),
  ];
}

function cards(c: Batch): Node[] {
  const { run } = c.report;
  const card = (value: string, words: string) => h("div", { class: "card" }, h("p", { class: "big" }, value), p(words));
  const rate = run.seconds > 0 && run.rows > 0 ? `: ${thousands(run.rows / run.seconds)} rows a second, including waiting time` : "";
  return [
    card(thousands(run.rows), `${run.rows === 1 ? "row" : "rows"} explained. The batch has ${count(run.files, "file")}`),
    card(lasting(run.seconds), `from the plan${run.submitted ? `, on ${moment(Math.floor(Date.parse(run.submitted) / 1000))},` : ""} to the summary${rate}`),
    card(bytes(run.bytes_read), "of input files"),
    card(bytes(run.bytes_written), `of predictions and attributions written${run.out ? ` to ${run.out}` : ""}`),
  ];
}

function failures(c: Batch): Node[] {
  const { run } = c.report;
  const list = run.failures ?? [];
  if (list.length === 0) return [];
  const left = run.failed - list.length;
  return [h("section", { class: "block" }, h("h3", {}, "Failures"),
    table(`${count(run.failed, "unit")} failed`, ["File", "Where", "What is wrong", "What to do", "Attempts"],
      list.map((f) => [f.file, where(f), sentence(f.message), sentence(f.remedy), thousands(f.attempts)]), [false, false, false, false, true]),
    left > 0 ? p(`${count(left, "more failure")} ${left === 1 ? "is" : "are"} in ${run.out || "OUT"}/_psi/failed.`) : null)];
}

/** The part of a file that failed. */
function where(f: Failure): string {
  const groups = f.row_groups ?? [];
  const spans = groups.length === 0 ? "" : groups.length === 1 ? `row group ${groups[0]}` : `row groups ${Math.min(...groups)} to ${Math.max(...groups)}`;
  const parts = [spans, f.row === null ? "" : `row ${thousands(f.row)}`, f.column ? `column ${f.column}` : ""].filter((part) => part);
  return parts.length ? parts.join(", ") : "the whole file";
}

function sentence(text: string): string {
  return text ? text[0].toUpperCase() + text.slice(1) : "–";
}
