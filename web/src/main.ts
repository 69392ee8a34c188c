import "./style.css";
import type { BatchReport } from "./batch/document.ts";
import { Batch } from "./batch/context.ts";
import { batchPages } from "./batch/pages.ts";
import { Context } from "./context.ts";
import type { Report } from "./document.ts";
import { StoredRows } from "./explainer.ts";
import { Live } from "./live/page.ts";
import type { Places } from "./live/server.ts";
import { columns } from "./pages/columns.ts";
import { data } from "./pages/data.ts";
import { effects } from "./pages/effects.ts";
import { games } from "./pages/games.ts";
import { pairs } from "./pages/pairs.ts";
import { predicts } from "./pages/predicts.ts";
import { provenance } from "./pages/provenance.ts";
import { rows } from "./pages/rows.ts";
import { summary } from "./pages/summary.ts";
import { trust } from "./pages/trust.ts";
import { type Page, Viewer } from "./viewer.ts";

const pages: Page<Context>[] = [
  { id: "summary", title: "Summary", render: summary },
  { id: "predicts", title: "What it predicts and how well", render: predicts },
  { id: "trust", title: "How far to trust it", render: trust },
  { id: "columns", title: "Which columns matter", render: columns },
  { id: "effects", title: "How each column acts", render: effects },
  { id: "rows", title: "Single rows", render: rows },
  { id: "pairs", title: "Interactions", render: pairs },
  { id: "games", title: "Two ways to leave out columns", render: games },
  { id: "data", title: "Data", render: data },
  { id: "provenance", title: "Where it comes from", render: provenance },
];

/** The document of a page, if it holds one of that kind. */
function held<T>(kind: string, show: (content: T) => void): void {
  const source = document.getElementById(kind);
  if (source) show(JSON.parse(source.textContent ?? "") as T);
}

held<Report>("report", (report) => {
  const stored = new StoredRows(report);
  new Viewer(new Context(report, stored, stored), pages.filter((page) => page.id !== "games" || report.games));
});
held<BatchReport>("batch", (report) => new Viewer(new Batch(report), batchPages));
held<Places>("live", (places) => new Live(places));
