/** What a filter asks of: names it may use, and the texts and numbers of a row. */
export interface Searchable {
  names: string[];
  text(row: number, name: number): string;
  value(row: number, name: number): number | null; // null if it is no number
}

type Condition = (row: number) => boolean;

const comparison = /^\s*(.+?)\s*(>=|<=|!=|=|>|<)\s*(.*?)\s*$/;

/** Reads conditions parted by commas, all of which must hold: a comparison such as age > 50 or town = Bonn where the name
 * is known, else words that some cell of the row must hold. */
export function filter(query: string, rows: Searchable): Condition {
  const conditions = query.split(",").filter((part) => part.trim() !== "").map((part) => condition(part, rows));
  return (row) => conditions.every((holds) => holds(row));
}

function condition(part: string, rows: Searchable): Condition {
  const found = comparison.exec(part);
  const name = found ? rows.names.findIndex((n) => n.toLowerCase() === found[1].toLowerCase()) : -1;
  if (!found || name < 0) {
    const words = part.trim().toLowerCase();
    return (row) => rows.names.some((_, i) => rows.text(row, i).toLowerCase().includes(words));
  }
  const [, , sign, wanted] = found;
  const same = (row: number) => rows.text(row, name).toLowerCase() === wanted.toLowerCase();
  const limit = Number(wanted);
  if (wanted !== "" && !Number.isNaN(limit)) {
    const compare: Record<string, (v: number) => boolean> = {
      ">": (v) => v > limit, "<": (v) => v < limit, ">=": (v) => v >= limit, "<=": (v) => v <= limit, "=": (v) => v === limit, "!=": (v) => v !== limit,
    };
    return (row) => {
      const v = rows.value(row, name);
      return v === null ? sign === "=" ? same(row) : sign === "!=" && !same(row) : compare[sign](v);
    };
  }
  const texts: Record<string, (text: string) => boolean> = { // times are written so that their order is that of texts
    ">": (text) => text > wanted, "<": (text) => text < wanted, ">=": (text) => text >= wanted, "<=": (text) => text <= wanted,
  };
  return (row) => (sign === "!=" ? !same(row) : sign === "=" ? same(row) : texts[sign](rows.text(row, name)));
}
