// Drives the live page of a running server in a real browser: node page.mjs CHROMIUM DIRECTORY URL PSI MODEL.psi TABLE.csv [TOKEN]
// URL is that of the page. Cells are changed and marked unknown, rows compared, a class chosen, and every number of the page is
// held to what PSI explains of the same rows. The page is looked at in two widths, light and dark, and kept as pictures in
// DIRECTORY. A line on the console, a refusal of the policy or a request to elsewhere fails it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { type Sheet, sheet } from "../src/live/csv.ts";
import type { Column, Description } from "../src/live/description.ts";
import { faults, launch, sideways } from "./chromium.ts";

const [executablePath, directory, url, psi, modelFile, tableFile, token = ""] = process.argv.slice(2);
const name = basename(modelFile, ".psi").split("@")[0];
const work = mkdtempSync(join(tmpdir(), "live-"));
const fewRows = 6;

interface Opened { page: Page; wrong: string[]; asked: string[]; expected: (text: string) => void; model: Description }

/** Opens the page and notes all that goes wrong in it, and all questions. */
async function open(browser: Browser, width: number, scheme: "light" | "dark"): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  const wrong: string[] = [], asked: string[] = [], allowed: string[] = [];
  page.on("console", (m) => { if (!allowed.some((text) => m.text().includes(text))) wrong.push(`console: ${m.text()}`); });
  page.on("pageerror", (e) => wrong.push(`error: ${e.message}`));
  page.on("request", (r) => {
    if (new URL(r.url()).origin !== new URL(url).origin) wrong.push(`request: ${r.url()}`);
    if (r.method() === "POST") asked.push(r.postData() ?? "");
  });
  if (token) allowed.push("status of 401");
  await page.goto(url);
  if (token) {
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
  }
  await page.waitForSelector(".answer figure svg");
  const choice = page.getByLabel("Model", { exact: true });
  if (await choice.count()) await choice.selectOption(name);
  const list = await page.evaluate(async ([at, bearer]) => {
    const response = await fetch(`${at}/models`, bearer ? { headers: { Authorization: `Bearer ${bearer}` } } : {});
    return ((await response.json()) as { models: Description[] }).models;
  }, [new URL(url).pathname, token]);
  const model = list.find((m) => m.name === name);
  assert.ok(model, `${name} is not among ${list.map((m) => m.name).join(", ")}`);
  await settled(page);
  return { page, wrong, asked, expected: (text) => { allowed.push(text); }, model };
}

/** Waits until no answer is awaited. */
async function settled(page: Page): Promise<void> {
  await page.waitForSelector('.answer[aria-busy="false"]');
}

interface Truth {
  probability_slope?: number;
  outputs: { output: string; scale: string; base: number; prediction: number; prediction_std: number | null; range_std?: number | null; hidden_std: number | null; probability: number | null; attributions: Record<string, number | string | boolean | null>[] }[];
}

/** What the program explains of a table. */
function explained(table: Sheet, unknown: string[]): Truth[] {
  const file = join(work, "rows.csv");
  const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
  writeFileSync(file, [table.headers, ...table.rows].map((cells) => cells.map(quoted).join(",")).join("\n") + "\n");
  const flags = unknown.length ? ["--unknown", unknown.map((n) => (/[",]/.test(n) ? quoted(n) : n)).join(",")] : [];
  const text = execFileSync(psi, ["explain", modelFile, file, "--json", ...flags], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return (JSON.parse(text) as { rows: Truth[] }).rows;
}

const close = (got: string | null, want: number | null, what: string) => {
  if (want === null) {
    assert.equal(got, "", what);
    return;
  }
  assert.ok(got !== null && got !== "", `${what} is not there`);
  assert.ok(Math.abs(Number(got) - want) <= 1e-6 * Math.max(1, Math.abs(want)), `${what} is ${got}, not ${want}`);
};

/** A number that is shown agrees with all of its digits. */
const agrees = (shown: string, want: number, what: string) => {
  const text = shown.replace("−", "-").replaceAll(",", "").replace("+", "");
  const decimals = text.split(".")[1]?.length ?? 0;
  assert.ok(Math.abs(Number(text) - want) <= 0.5 * 10 ** -decimals + 1e-6 * Math.max(1, Math.abs(want)), `${what} is shown as ${shown}, not ${want}`);
};

/** Holds all numbers of the page to those of the program, of the edited row and of the one it is compared with. */
async function compare(page: Page, output: string, now: Truth, other: Truth, what: string): Promise<void> {
  await settled(page);
  const cards = await page.$$eval(".card", (all) => all.map((c) => ({ ...(c as HTMLElement).dataset, big: c.querySelector(".big")?.textContent ?? "" })) as Record<string, string>[]);
  assert.equal(cards.length, 2);
  const of = (truth: Truth) => {
    const found = truth.outputs.find((o) => o.output === output);
    assert.ok(found, `${output} is not explained`);
    return found;
  };
  const rows = [of(now), of(other)];
  const slopes = [now, other].map((truth) => truth.probability_slope ?? 1);
  rows.forEach((o, i) => {
    const c = cards[i], label = `${what}: row ${i}`;
    close(c.base, o.base, `${label}, base`);
    close(c.prediction, o.prediction, `${label}, prediction`);
    close(c.predictionStd, o.prediction_std, `${label}, prediction_std`);
    close(c.hiddenStd, o.hidden_std, `${label}, hidden_std`);
    const reach = o.range_std ?? o.prediction_std; // null if it is not known, as of trees of another program
    close(c.lower, reach === null ? null : o.prediction - 1.96 * reach, `${label}, lower end`);
    close(c.upper, reach === null ? null : o.prediction + 1.96 * reach, `${label}, upper end`);
    if (o.probability === null) {
      assert.equal(c.probability, "");
      agrees(c.big, o.prediction, `${label}, prediction`);
    } else {
      close(c.probability, o.probability, `${label}, probability`);
      if (o.scale === "logit" && o.prediction_std !== null) {
        const at = (score: number) => 1 / (1 + Math.exp(-(o.base + slopes[i] * (score - o.base))));
        const bend = 0.05 * (slopes[i] * o.prediction_std) ** 2; // the mean over scores differs from that of the mean by ½·max|σ″| of their variance at most
        assert.ok(Math.abs(at(o.prediction) - o.probability) <= bend + 1e-6, `${label}: the slope ${slopes[i]} does not give the probability`);
        close(c.probabilityLower, at(o.prediction - 1.96 * o.prediction_std), `${label}, lower end as a probability`);
        close(c.probabilityUpper, at(o.prediction + 1.96 * o.prediction_std), `${label}, upper end as a probability`);
      }
      if (!/under|over/.test(c.big)) agrees(c.big, o.probability, `${label}, probability`);
    }
  });
  const lines = await page.$$eval(".numbers tbody tr", (all) => all.map((l) => ({ ...(l as HTMLElement).dataset, cells: [...l.children].map((c) => c.textContent ?? "").join("|") })) as Record<string, string>[]);
  assert.equal(lines.length, rows[0].attributions.length);
  for (const a of rows[0].attributions) {
    const line = lines.find((l) => l.player === a.player), label = `${what}: ${a.player}`;
    assert.ok(line, `${label} is not in the table`);
    const b = rows[1].attributions.find((one) => one.player === a.player) ?? {};
    for (const [attribute, key] of [["mean", "mean"], ["std", "std"], ["modelStd", "model_std"], ["lower", "lower"], ["upper", "upper"], ["pPositive", "p_positive"], ["pTop", "p_top"]] as const) {
      close(line[attribute], a[key] as number, `${label}, ${key}`);
      close(line[`other${attribute.charAt(0).toUpperCase()}${attribute.slice(1)}`], b[key] as number, `${label}, ${key} of the other row`);
    }
    assert.equal(line.observed, String(a.observed), `${label}, observed`);
    const [, mean, interval, , , so] = line.cells.split("|");
    if (a.observed && a.lower === null) {
      agrees(mean, a.mean as number, label);
      assert.doesNotMatch(line.cells, /sure| to |±/, `${label}: an interval that is not known`);
    } else if (a.observed) {
      agrees(mean, a.mean as number, label);
      interval.split(" to ").forEach((end, i) => agrees(end, a[i ? "upper" : "lower"] as number, `${label}, interval`));
      assert.match(so, (a.lower as number) > 0 ? /sure to raise/ : (a.upper as number) < 0 ? /sure to lower/ : /not sure/, label);
    } else assert.equal(mean, "none", label);
  }
}

const field = (page: Page, column: string) => page.locator(`.field[data-column="${CSS(column)}"]`);
const CSS = (text: string) => text.replace(/["\\]/g, "\\$&");

/** Some rows of the user's table, of which the first has all the cells. */
function some(model: Description): Sheet {
  const all = sheet(readFileSync(tableFile, "utf8"));
  const places = model.columns.map((c) => all.headers.indexOf(c.name)).filter((at) => at >= 0);
  const whole = all.rows.filter((r) => places.every((at) => r[at] !== "" && r[at] !== "?"));
  return { headers: all.headers, rows: whole.slice(0, fewRows) };
}

async function take(page: Page, table: Sheet): Promise<void> {
  const file = join(work, "mine.csv");
  writeFileSync(file, [table.headers, ...table.rows].map((cells) => cells.map((c) => `"${c.replaceAll('"', '""')}"`).join(",")).join("\r\n"));
  await page.locator(".sources summary").click();
  await page.getByLabel("CSV file").setInputFiles(file);
  await page.waitForFunction((n) => document.querySelector(".sources summary")?.textContent?.startsWith(`${n} rows opened`), table.rows.length);
}

/** The table with one cell of a row changed. */
const changed = (table: Sheet, row: number, column: string, text: string): Sheet =>
  ({ headers: table.headers, rows: table.rows.map((cells, i) => (i === row ? cells.map((c, k) => (table.headers[k] === column ? text : c)) : cells)) });

/** Changes cells, and holds what the page says to the program. */
async function numbersAgree(browser: Browser): Promise<void> {
  const { page, wrong, asked, model } = await open(browser, 1280, "light");
  const table = some(model), first = model.outputs[0];
  await take(page, table);
  let truth = explained(table, []);
  await compare(page, first, truth[0], truth[0], "as opened");

  const number = model.columns.find((c) => c.kind === "number" && c.low !== null && c.high !== null) as Column;
  const middle = ((number.low as number) + (number.high as number)) / 2;
  const text = String(number.whole ? Math.round(middle) : Number(middle.toPrecision(3)));
  await field(page, number.name).locator("input[type=text]").fill(text);
  let edited = changed(table, 0, number.name, text);
  truth = explained(edited, []);
  await compare(page, first, truth[0], explained(table, [])[0], `${number.name} = ${text}`);
  assert.match((await field(page, number.name).locator(".back").textContent()) ?? "", /^Reset to /);
  console.log(`${name}: ${number.name} = ${text}: all numbers are those of psi explain`);

  // Dragging the slider asks again and again, but only a few times, and ends at the last value.
  const slider = field(page, number.name).locator("input[type=range]");
  await slider.focus();
  const before = asked.length;
  for (let i = 0; i < 12; i++) await page.keyboard.press(i < 8 ? "ArrowRight" : "ArrowLeft", { delay: 15 });
  await settled(page);
  const slid = await field(page, number.name).locator("input[type=text]").inputValue();
  assert.notEqual(slid, text);
  assert.ok(asked.length - before <= 12, `${asked.length - before} questions`);
  edited = changed(edited, 0, number.name, slid);
  await compare(page, first, explained(edited, [])[0], explained(table, [])[0], `${number.name} = ${slid}`);
  console.log(`${name}: slid to ${slid} with ${asked.length - before} questions for 12 steps`);

  const category = model.columns.find((c) => c.kind === "category" && (c.labels?.length ?? 0) > 1);
  if (category) {
    const box = field(page, category.name).locator("select");
    const had = await box.inputValue();
    const label = category.labels?.find((l) => l !== had) as string;
    await box.selectOption(label);
    edited = changed(edited, 0, category.name, label);
    await compare(page, first, explained(edited, [])[0], explained(table, [])[0], `${category.name} = ${label}`);
    await box.selectOption({ label: "another label …" });
    await field(page, category.name).locator("input[type=text]").fill("never seen before");
    await compare(page, first, explained(changed(edited, 0, category.name, "never seen before"), [])[0], explained(table, [])[0], `${category.name} unseen`);
    assert.match((await field(page, category.name).locator(".note").textContent()) ?? "", /absent or very rare|Not among/);
    await box.selectOption(label);
    await settled(page);
  }

  // A missing cell may be a level of its own, which an unknown one is not.
  const gap = model.columns.find((c) => c.gap && c.kind === "category");
  if (gap) {
    const box = field(page, gap.name).locator("select");
    const had = await box.inputValue();
    await box.selectOption({ label: "(missing)" });
    const missing = explained(changed(edited, 0, gap.name, ""), [])[0];
    await compare(page, first, missing, explained(table, [])[0], `${gap.name} missing`);
    assert.ok(missing.outputs[0].attributions.some((a) => a.player === gap.name && a.observed === true));
    await box.selectOption(had);
    await settled(page);
  }

  // Unknown, by keyboard.
  const hidden = (category ?? number).name;
  await field(page, hidden).locator("input[type=checkbox]").focus();
  await page.keyboard.press("Space");
  await compare(page, first, explained(edited, [hidden])[0], explained(table, [])[0], `${hidden} unknown`);
  assert.ok(await field(page, hidden).locator("select, input[type=text]").first().isDisabled());
  assert.match((await page.textContent(".answer figure:last-of-type")) ?? "", /Missing, so without attribution|What it does not say/);
  console.log(`${name}: ${hidden} unknown: all numbers are those of psi explain --unknown`);

  await page.getByLabel("Compare with row").fill("2");
  await page.keyboard.press("Enter");
  await page.waitForSelector('.card[data-row="row 2"]');
  await compare(page, first, explained(edited, [hidden])[0], explained(table, [])[2], "beside row 2");

  if (model.outputs.length > 1) {
    await page.getByLabel("Class to explain").selectOption({ index: 1 });
    await page.waitForFunction((n) => document.querySelector(".card p")?.textContent?.includes(n), model.outputs[1]);
    await compare(page, model.outputs[1], explained(edited, [hidden])[0], explained(table, [])[2], model.outputs[1]);
    await page.getByLabel("Class to explain").selectOption({ index: 0 });
  }

  await page.getByRole("button", { name: "Mark all unknown" }).click();
  const nothing = explained(edited, model.columns.map((c) => c.name))[0];
  await compare(page, first, nothing, explained(table, [])[2], "all unknown");
  assert.match((await page.textContent(".answer")) ?? "", /No column (is sure to raise or to lower|raises or lowers)/);
  await page.getByRole("button", { name: "Reset all cells" }).click();
  await compare(page, first, explained(table, [])[0], explained(table, [])[2], "put back");

  // The announcement comes once, when the reader pauses.
  await page.waitForFunction((n) => document.querySelector("[role=status]")?.textContent?.includes(n), "row 2");
  const kept = await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie.length, location.href.length - location.origin.length - location.pathname.length]);
  assert.deepEqual(kept, [0, 0, 0, 0], "the page keeps something");
  assert.deepEqual(wrong, []);
  await page.context().close();
}

/** What a server refuses is said where it belongs, and waited for, and asked for. */
async function troubles(browser: Browser): Promise<void> {
  const { page, wrong, asked, expected, model } = await open(browser, 1280, "light");
  const number = model.columns.find((c) => c.kind === "number") as Column;
  const box = field(page, number.name).locator("input[type=text]");
  const whole = await box.inputValue();

  const before = asked.length;
  await box.fill("many");
  await page.waitForSelector(".fault:not(:empty)");
  assert.match((await field(page, number.name).locator(".fault").textContent()) ?? "", /many is not a number/);
  assert.equal(await box.getAttribute("aria-invalid"), "true");
  assert.equal(asked.length, before, "what cannot be read is asked of");
  await box.fill(whole);
  await settled(page);
  assert.equal(await field(page, number.name).locator(".fault").textContent(), "");

  const reply = (status: number, body: object, headers: Record<string, string> = {}) => page.route("**/explain*", (route) => route.fulfill({ status, json: body, headers }), { times: 1 });
  const other = model.columns[model.columns.length - 1].name;
  expected("status of 400");
  await reply(400, { schema: "psi.error/v1", message: "the cell is odd", row: 0, column: other, remedy: "write another" });
  await box.fill("1.25");
  await page.waitForFunction(() => [...document.querySelectorAll(".fault")].some((f) => f.textContent === "The cell is odd. Write another."));
  assert.equal(await field(page, other).locator(".fault").textContent(), "The cell is odd. Write another.");

  expected("status of 429");
  await reply(429, {}, { "Retry-After": "1" });
  await box.fill("1.5");
  await page.waitForFunction(() => document.querySelector(".problem")?.textContent?.includes("Retrying in 1 s"));
  await page.waitForFunction(() => document.querySelector(".problem")?.textContent === "");
  await settled(page);

  expected("status of 401");
  await reply(401, {});
  await box.fill("1.75");
  await page.getByLabel("Token").fill("not a secret");
  if (token) await page.getByLabel("Token").fill(token);
  const [sent] = await Promise.all([page.waitForRequest(/explain/), page.keyboard.press("Enter")]);
  assert.equal(sent.headers().authorization, `Bearer ${token || "not a secret"}`);
  await settled(page);
  assert.ok(!page.url().includes("secret"));

  expected("net::ERR_FAILED");
  await page.route("**/explain*", (route) => route.abort(), { times: 1 });
  await box.fill("2.25");
  await page.waitForFunction(() => document.querySelector(".problem")?.textContent?.includes("cannot be reached"));
  await page.getByRole("button", { name: "Try again" }).click();
  await settled(page);
  assert.equal(await page.textContent(".problem"), "");

  await page.locator(".sources summary").click();
  await page.getByLabel("or paste rows with a header line").fill(`${number.name},x\n1,2\n"3`);
  await page.getByRole("button", { name: "Use these rows" }).click();
  await page.waitForFunction(() => document.querySelector(".sources .fault")?.textContent === "Line 3 opens a quote that is never closed.");
  await page.getByLabel("or paste rows with a header line").fill(`${number.name}\t"x"\n${whole}\t"2"\n`);
  await page.getByRole("button", { name: "Use these rows" }).click();
  await page.waitForFunction(() => document.querySelector(".sources summary")?.textContent?.startsWith("1 row opened"));
  await settled(page);
  assert.equal(await page.locator(".field input[type=checkbox]:checked").count(), model.columns.length - 1, "what the table lacks is not unknown");
  assert.deepEqual(wrong, []);
  console.log(`${name}: refusals, waits and strangers are dealt with`);
  await page.context().close();
}

/** Goes over to another version, which is asked of the same row. */
async function versions(browser: Browser): Promise<void> {
  const { page, wrong, model } = await open(browser, 1280, "light");
  const number = model.columns.find((c) => c.kind === "number") as Column;
  await field(page, number.name).locator("input[type=text]").fill("1.5");
  await settled(page);
  const choice = page.getByLabel("Version", { exact: true });
  if (await choice.count()) {
    const last = (await choice.locator("option").last().getAttribute("value")) ?? "";
    const [asked] = await Promise.all([page.waitForRequest((r) => r.method() === "POST"), choice.selectOption(last)]);
    assert.equal(new URL(asked.url()).searchParams.get("version"), last);
    assert.ok(asked.postData()?.includes("1.5"), "the edited cell is lost");
    await settled(page);
    assert.ok((await page.textContent("header"))?.includes(`version ${last}`));
    console.log(`${name}: version ${last} asked of the same row`);
  }
  assert.deepEqual(wrong, []);
  await page.context().close();
}

/** Looks at the page, at a row that was changed. */
async function look(browser: Browser): Promise<void> {
  for (const width of [1280, 390]) {
    for (const scheme of ["light", "dark"] as const) {
      const { page, wrong, model } = await open(browser, width, scheme);
      await take(page, some(model));
      await settled(page);
      const number = model.columns.find((c) => c.kind === "number") as Column;
      await field(page, number.name).locator("input[type=text]").fill("1e6");
      const last = model.columns[model.columns.length - 1].name;
      await field(page, last).locator("input[type=checkbox]").check();
      await settled(page);
      await page.mouse.move(0, 0);
      await page.screenshot({ path: join(directory, `live-${name}-${width}-${scheme}.png`) });
      await page.screenshot({ path: join(directory, `live-${name}-${width}-${scheme}-whole.png`), fullPage: true });
      const wide = await sideways(page);
      assert.ok(wide <= 0, `${width}: ${wide} pixels too wide`);
      const found = await faults(page, ["header", "main"]);
      assert.deepEqual(found.map((v) => `${v.impact} ${v.id}: ${v.nodes[0].target.join(" ")}: ${v.nodes[0].failureSummary}`), [], `axe, ${width}, ${scheme}`);
      for (const picture of await page.$$("figure")) assert.match(await picture.innerText(), /How to read it: .+\nWhat it does not say: .+/s);
      assert.deepEqual(wrong, [], `${width}, ${scheme}`);
      console.log(`${name}, ${width}, ${scheme}: no fault`);
      await page.context().close();
    }
  }
}

mkdirSync(directory, { recursive: true });
const browser = await launch(executablePath);
try {
  await numbersAgree(browser);
  await troubles(browser);
  await versions(browser);
  await look(browser);
} finally {
  await browser.close();
  rmSync(work, { recursive: true });
}
