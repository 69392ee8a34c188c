// Looks at reports, of tables and of batches, in a real browser: node browser.mjs CHROMIUM DIRECTORY REPORT.html…
// Every page is drawn in two widths, light and dark, kept as a picture in DIRECTORY, and held to be free of errors, of
// refused styles and scripts, of requests, of sideways scrolling and of serious faults that axe finds. Then a reader
// goes through the rows of a table by keyboard.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import { faults, launch, sideways } from "./chromium.ts";

const [executablePath, directory, ...reports] = process.argv.slice(2);
const pagesOfTable = ["summary", "predicts", "trust", "columns", "effects", "rows", "pairs", "games", "data", "provenance"];
const pagesOfBatch = ["done", "trust", "columns", "provenance"];
const ofBatch = (report: string) => readFileSync(report, "utf8").includes('<script type="application/json" id="batch">');
interface Document { interval: string; games: { rows: number[]; mean: string } | null; rows: { numbers: number[] }; players: { name: string }[]; model: { imported: { rows: number } | null } }
const documentOf = (report: string) => JSON.parse(/id="report">(.*?)<\/script>/s.exec(readFileSync(report, "utf8"))?.[1] ?? "") as Document;
const hasGames = (report: string) => documentOf(report).games !== null;
const noIntervals = (report: string) => documentOf(report).interval === "none";
const pagesOf = (report: string) => (ofBatch(report) ? pagesOfBatch : pagesOfTable.filter((id) => id !== "games" || hasGames(report)));
const mostBytes = 2_000_000, mostToOpen = 2000;

/** Opens a report and notes all that goes wrong in it. */
async function open(browser: Browser, report: string, width: number, scheme: "light" | "dark"): Promise<{ page: Page; wrong: string[]; took: number }> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, offline: true });
  const page = await context.newPage();
  const wrong: string[] = [];
  page.on("console", (m) => wrong.push(`console: ${m.text()}`));
  page.on("pageerror", (e) => wrong.push(`error: ${e.message}`));
  page.on("request", (r) => { if (!r.url().startsWith("file:")) wrong.push(`request: ${r.url()}`); });
  const start = Date.now();
  await page.goto(`file://${resolve(report)}`);
  await page.waitForSelector(ofBatch(report) ? "#page-done .cards" : "#page-summary .brief");
  return { page, wrong, took: Date.now() - start };
}

const show = async (page: Page, id: string) => {
  await page.click(`nav a[href="#${id}"]`);
  await page.waitForSelector(`#page-${id}.shown h2`);
  if (id === "rows") await page.waitForSelector("article.row svg");
};

/** The first page has three sentences and each warning once; what needs statistics is behind a fold. */
async function begin(browser: Browser, report: string): Promise<void> {
  const { page, wrong } = await open(browser, report, 1280, "light");
  const { title, verdict, warnings } = await page.evaluate(() => JSON.parse(document.getElementById("report")?.textContent ?? "") as { title: string; verdict: string[]; warnings: { words: string }[] });
  assert.equal(await page.textContent("h1"), title);
  const plain = (text: string | null) => (text ?? "").replaceAll("\u00a0", " ");
  const sentences = await page.$$eval(".brief p", (list) => list.map((e) => e.textContent));
  assert.equal(sentences.length, 3);
  sentences.forEach((text, i) => assert.ok(plain(text).endsWith(verdict[i]), `${text}: ${verdict[i]}`));
  await page.waitForSelector("html[data-ready=all]");
  const told = (await page.$$eval(".verdict li", (list) => list.map((e) => e.textContent))).map(plain);
  assert.deepEqual([...told].sort(), warnings.map((w) => w.words).sort());
  await show(page, "predicts");
  const words = await page.innerText("main");
  assert.doesNotMatch(words, /nats|log odds of|log loss|100 % is perfect/i);
  assert.deepEqual(wrong, []);
  await page.context().close();
}

async function look(browser: Browser, report: string): Promise<void> {
  const name = basename(report, ".html"), ids = pagesOf(report);
  const times: number[] = [];
  for (const width of [1280, 390]) {
    for (const scheme of ["light", "dark"] as const) {
      const { page, wrong, took } = await open(browser, report, width, scheme);
      times.push(took);
      if ((width === 390) !== (scheme === "dark") && (await page.getByLabel("Class to explain").count())) {
        await page.context().close();
        continue; // of several classes, two looks are enough
      }
      for (const id of ids) {
        await show(page, id);
        await page.mouse.move(0, 0);
        await page.screenshot({ path: join(directory, `${name}-${id}-${width}-${scheme}.png`), fullPage: true });
        const wide = await sideways(page);
        assert.ok(wide <= 0, `${name}, ${id}, ${width}: ${wide} pixels too wide`);
        for (const picture of await page.$$(`#page-${id} figure`)) {
          const words = await picture.innerText();
          assert.match(words, /How to read it: .+\nWhat it does not say: .+/s, `${name}, ${id}: a picture without words: ${words}`);
        }
        if (width === 390 && scheme === "dark") continue; // its layout and its colours were looked at apart
        const found = await faults(page, ["header", "nav", ".page.shown"]);
        for (const v of found) console.log(`  axe, ${name}, ${id}, ${width}, ${scheme}: ${v.impact} ${v.id}: ${v.nodes[0].target.join(" ")}`);
        assert.deepEqual(found.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => `${v.id}: ${v.nodes[0].failureSummary}`), [], `${name}, ${id}`);
      }
      assert.deepEqual(wrong, [], `${name}, ${width}, ${scheme}`);
      console.log(`${name}, ${width}, ${scheme}: ${ids.length} pages, opened in ${took} ms`);
      await page.context().close();
    }
  }
  // The least of several: a pause of the machine is not the report's.
  assert.ok(Math.min(...times) <= mostToOpen, `${name} took ${times.join(", ")} ms to open`);
}

const ranks = (page: Page) => page.$$eval(".ranks tbody tr", (lines) => lines.map((line) => line.querySelectorAll("th, td")[1].textContent));
const found = (page: Page) => page.textContent("#page-rows [role=status]");

/** Goes through the rows without a mouse: searches, sorts, opens one, moves the slider. */
async function walk(browser: Browser, report: string): Promise<void> {
  const name = basename(report, ".html");
  const { page, wrong } = await open(browser, report, 1280, "light");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Skip to the page");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "main");

  await page.focus('nav a[href="#rows"]');
  await page.keyboard.press("Enter");
  await page.waitForSelector("article.row svg");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Single rows");
  assert.match(await page.title(), /^Single rows/);

  const first = await page.textContent(".rows tbody tr:first-child th");
  await page.getByLabel("Search rows").focus();
  await page.keyboard.type(`row > ${parseInt(first ?? "0")}`);
  assert.match((await found(page)) ?? "", /^\d+ of 1,000 rows found\.$/);
  assert.notEqual(await page.textContent(".rows tbody tr:first-child th"), first);
  await page.getByLabel("Search rows").fill("");
  assert.equal(await found(page), "1,000 rows.");

  await page.focus(".rows thead th:nth-child(3) button");
  await page.keyboard.press("Enter");
  assert.equal(await page.getAttribute(".rows thead th:nth-child(3)", "aria-sort"), "descending");

  await page.focus(".rows tbody tr:nth-child(1) button");
  await page.keyboard.press("ArrowDown");
  const row = parseInt((await page.evaluate(() => document.activeElement?.textContent)) ?? "");
  await page.keyboard.press("Enter");
  await page.waitForFunction((n) => document.activeElement?.textContent === `Row ${n}`, row);
  assert.equal(await page.evaluate(() => location.hash), `#rows/${row}`);

  if (noIntervals(report)) {
    assert.equal(await page.locator("input.z").count(), 0, "a slider for intervals that are not known");
    assert.match((await page.textContent("article.row")) ?? "", /uncertainty of these attributions is not known/);
  } else {
    const changed = await slide(page);
    console.log(`${name}: row ${changed.row}: ranks changed from ${changed.before.slice(0, 4).join("; ")} to ${changed.after.slice(0, 4).join("; ")}`);
    await page.focus("#page-rows select");
    await page.selectOption("#page-rows select", "most");
    assert.match((await page.textContent(".ranks caption")) ?? "", /the most they may add/);
  }
  assert.deepEqual(wrong, []);
  await page.context().close();
}

/** Where no uncertainty is known, no page claims any: neither ± nor sure nor an interval of an attribution, and no training that psi did not do. */
async function unknown(browser: Browser, report: string): Promise<void> {
  if (!noIntervals(report)) return;
  const { page, wrong } = await open(browser, report, 1280, "light");
  await page.waitForSelector("html[data-ready=all]");
  for (const id of pagesOf(report)) {
    await show(page, id);
    const words = (await page.textContent(`#page-${id}`)) ?? "";
    for (const claim of [/±/, /\bsure\b/i, /NaN|undefined|null\b/, /doubt:|by doubt|by spread|held out from training|Training settings|Interval width/]) {
      assert.doesNotMatch(words, claim, `${basename(report)}, ${id}`);
    }
  }
  assert.match((await page.textContent("#page-summary")) ?? "", /It is (an import of [\d,]+ trees? of \w+|a mean of \d+ models)/);
  assert.deepEqual(wrong, []);
  console.log(`${basename(report)}: no page claims an uncertainty that is not known`);
  await page.context().close();
}

/** The page of two games has a row for each that was compared, begins with the one that differs most, and shows another. */
async function compare(browser: Browser, report: string): Promise<void> {
  const { games, rows } = documentOf(report);
  if (!games) return;
  const { page, wrong } = await open(browser, report, 1280, "light");
  await show(page, "games");
  const choice = page.getByLabel("Row", { exact: true });
  assert.equal(await choice.locator("option").count(), games.rows.length);
  const title = () => page.textContent("#page-games figure h3");
  assert.match((await choice.locator("option").first().textContent()) ?? "", /which differs most$/);
  const first = await title();
  await choice.selectOption({ index: 1 });
  const other = await title();
  assert.notEqual(other, first);
  const shown = Number(/^Row (\d+) /.exec(other ?? "")?.[1]);
  assert.ok(games.rows.some((at) => rows.numbers[at] === shown), `${other} was not compared`);
  for (const line of await page.$$eval("#page-games figure:first-of-type tbody tr", (all) => all.slice(0, 1).map((l) => [...l.children].map((c) => c.textContent ?? "")))) {
    const [here, there, difference] = line.slice(1).map((text) => Number(text.replace("−", "-").replaceAll(",", "")));
    assert.ok(Math.abs(there - here - difference) <= 0.02 * Math.max(1, Math.abs(there), Math.abs(here)), `${line}: the difference is wrong`);
  }
  assert.deepEqual(wrong, []);
  console.log(`${basename(report)}: ${first}; ${games.rows.length} rows in two games`);
  await page.context().close();
}

interface Decisions { at: Record<string, number | null>[]; first: number }

/** Moves the threshold of a report on two classes: at each the page shows what the document has of it, which is what psi evaluate counts. */
async function decide(browser: Browser, report: string): Promise<void> {
  const { page, wrong } = await open(browser, report, 1280, "light");
  const decisions = await page.evaluate(() => JSON.parse(document.getElementById("report")?.textContent ?? "").performance.decisions as Decisions | null);
  if (decisions) {
    await show(page, "predicts");
    const slider = page.locator("input.threshold");
    const digits = (text: string) => text.replace(/[^0-9.]/g, "");
    const shown = async () => (await page.$$eval(".beside td", (cells) => cells.map((cell) => cell.textContent ?? ""))).map((text) => Number(digits(text)));
    const check = async (at: number) => {
      const d = decisions.at[at];
      assert.equal(await slider.getAttribute("aria-valuetext"), String(d.threshold));
      assert.deepEqual(await shown(), [d.true_positives, d.false_negatives, d.false_positives, d.true_negatives], `at ${d.threshold}`);
      const cards = await page.$$eval("figure .card .big", (list) => list.map((card) => card.textContent ?? ""));
      for (const [i, name] of ["precision", "recall", "lift"].entries()) {
        const v = d[name];
        if (v === null) assert.equal(cards[i], "–");
        else assert.ok(Math.abs(Number(digits(cards[i])) - (name === "lift" ? v : 100 * v)) <= (name === "lift" ? 0.05 * v : 0.5), `${name} ${v} is shown as ${cards[i]}`);
      }
    };
    await check(decisions.first);
    await slider.focus();
    for (const at of [0, Math.floor(decisions.at.length / 2), decisions.at.length - 1]) {
      await slider.fill(String(at));
      await check(at);
    }
    await page.keyboard.press("ArrowLeft");
    await check(decisions.at.length - 2);
    console.log(`${basename(report)}: ${decisions.at.length} thresholds`);
  }
  assert.deepEqual(wrong, []);
  await page.context().close();
}

/** Moves the slider of some rows from one end to the other, by way of what most rows have some sure columns at, until ranks change. */
async function slide(page: Page): Promise<{ row: string; before: (string | null)[]; after: (string | null)[] }> {
  const lines = await page.$$(".rows tbody button.open");
  for (const line of lines) {
    await line.press("Enter");
    await page.waitForFunction((t) => document.activeElement?.textContent === `Row ${parseInt(t ?? "")}`, await line.textContent());
    await page.focus("input.z");
    await page.keyboard.press("Home");
    const start = await page.textContent("article.row");
    for (const z of ["0.5", "1", "1.5", "2", "3"]) {
      const before = await ranks(page);
      await page.locator("input.z").fill(z);
      const after = await ranks(page);
      const told = (await page.textContent("article.row [role=status]")) ?? "";
      assert.match(told, new RegExp(`^At z = ${Number(z).toFixed(2)}, \\d+ of \\d+ columns? (is|are) sure`));
      assert.notEqual(await page.textContent("article.row"), start);
      assert.deepEqual([...after].sort(), [...before].sort());
      if (JSON.stringify(before) !== JSON.stringify(after)) {
        assert.match(told, /\d+ ranks? changed/);
        return { row: (await page.textContent("article.row h3")) ?? "", before, after };
      }
    }
  }
  throw new Error("no row changes its ranks with z");
}

/** On paper all pages come one after another. */
async function print(browser: Browser, report: string): Promise<void> {
  const { page } = await open(browser, report, 1280, "dark");
  const file = await page.pdf({ path: join(directory, `${basename(report, ".html")}.pdf`), format: "A4", margin: { top: "15mm", bottom: "15mm", left: "15mm", right: "15mm" } });
  await page.emulateMedia({ media: "print" });
  for (const id of pagesOf(report)) assert.ok(await page.isVisible(`#page-${id} h2`), `${id} is not printed`);
  assert.ok(!(await page.isVisible("nav")), "navigation is printed");
  for (const fold of await page.$$(".page > details")) assert.ok(await fold.evaluate((d) => (d as HTMLDetailsElement).open), "a fold is printed shut");
  console.log(`${basename(report)}: printed, ${(file.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? []).length} sheets`);
  await page.context().close();
}

/** Another class changes what is explained. */
async function classes(browser: Browser, report: string): Promise<void> {
  const { page, wrong } = await open(browser, report, 1280, "light");
  const choice = page.getByLabel("Class to explain");
  if (await choice.count()) {
    await show(page, "columns");
    const before = await page.textContent("#page-columns");
    await choice.selectOption({ index: 1 });
    assert.notEqual(await page.textContent("#page-columns"), before);
    const name = await choice.evaluate((e) => (e as HTMLSelectElement).selectedOptions[0].textContent ?? "");
    assert.ok((await page.textContent("#page-columns"))?.includes(name), `${name} is not named`);
    assert.deepEqual(wrong, []);
    console.log(`${basename(report)}: ${name} explained in place of the first class`);
  }
  await page.context().close();
}

async function check(browser: Browser, report: string): Promise<void> {
  const size = readFileSync(report).length;
  console.log(`${basename(report)}: ${size} bytes`);
  assert.ok(size <= mostBytes, `${report} has ${size} bytes`);
  if (!ofBatch(report)) await begin(browser, report);
  await look(browser, report);
  if (!ofBatch(report)) {
    await walk(browser, report);
    await unknown(browser, report);
    await compare(browser, report);
    await decide(browser, report);
  }
  await classes(browser, report);
  await print(browser, report);
}

mkdirSync(directory, { recursive: true });
const browser = await launch(executablePath);
try {
  const queue = reports.values();
  const worker = async () => { for (const report of queue) await check(browser, report); };
  await Promise.all([worker(), worker()]);
} finally {
  await browser.close();
}
