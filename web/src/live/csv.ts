/** A table as text. */
export interface Sheet {
  headers: string[];
  rows: string[][];
}

export const mostRows = 100_000;

/** Reads cells parted by commas, semicolons or tabs; those in quotes may hold any of these, line breaks, and quotes written
 * twice. Nothing is guessed: what does not fit is refused with its line. */
export function sheet(text: string): Sheet {
  const source = text.replace(/^\ufeff/, "");
  const lines = records(source, separator(source));
  const [names, ...rows] = lines.map((l) => l.cells);
  if (names === undefined) throw new Error("The table has no header line.");
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new Error(twice ? `Two columns are named ${twice}.` : "Two columns have no name.");
  if (rows.length === 0) throw new Error("The table has a header line, but no row below it.");
  if (rows.length > mostRows) throw new Error(`There are more than ${mostRows} rows. Open a part of the table.`);
  const bad = lines.find((l) => l.cells.length !== names.length);
  if (bad) throw new Error(`Line ${bad.line} has ${bad.cells.length} cells, but the header has ${names.length}.`);
  return { headers: names, rows };
}

/** What parts the names of the first line. */
function separator(source: string): string {
  let quoted = false;
  const counts = new Map<string, number>([[",", 0], [";", 0], ["\t", 0]]);
  for (const c of source) {
    if (c === '"') quoted = !quoted;
    else if (!quoted && (c === "\n" || c === "\r")) break;
    else if (!quoted && counts.has(c)) counts.set(c, (counts.get(c) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0][0];
}

interface Line {
  line: number;
  cells: string[];
}

function records(source: string, by: string): Line[] {
  const lines: Line[] = [];
  let at = 0, line = 1, cells: string[] = [], began = 1;
  const end = () => {
    if (cells.length > 1 || cells[0].trim() !== "") lines.push({ line: began, cells });
    cells = [];
  };
  while (at < source.length) {
    if (cells.length === 0) began = line;
    if (source[at] === '"') {
      let cell = "";
      for (at++; ; at++) {
        const close = source.indexOf('"', at);
        if (close < 0) throw new Error(`Line ${began} opens a quote that is never closed.`);
        cell += source.slice(at, close);
        at = close + 1;
        if (source[at] !== '"') break;
        cell += '"';
      }
      line += cell.split("\n").length - 1;
      cells.push(cell);
      if (at < source.length && source[at] !== by && source[at] !== "\n" && source[at] !== "\r") throw new Error(`Line ${line} has text after a closing quote.`);
    } else {
      const from = at;
      while (at < source.length && source[at] !== by && source[at] !== "\n" && source[at] !== "\r") at++;
      cells.push(source.slice(from, at));
    }
    if (source[at] === by) {
      at++;
      if (at === source.length) cells.push("");
      else if (source[at] === "\n" || source[at] === "\r") cells.push("");
      else continue;
    }
    if (source[at] === "\r") at++;
    if (source[at] === "\n") at++;
    line++;
    end();
  }
  return lines;
}
