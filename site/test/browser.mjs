// Looks at the site in a real browser: node browser.mjs CHROMIUM PICTURES SITE VERSION, where SITE has a directory for each
// version. Every page is drawn light and dark and at the width of a telephone. It must be free of errors, of requests to
// other hosts, of sideways scrolling and of all faults that axe finds. Then a reader searches and chooses a version.
import assert from "node:assert/strict";
import { createReadStream, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, resolve } from "node:path";

const [executablePath, pictures, site, version] = process.argv.slice(2);
const require = createRequire(new URL("../../web/package.json", import.meta.url)); // which names and locks both
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const types = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png", ".xml": "text/xml" };
const server = createServer((request, response) => {
  let file = join(resolve(site), decodeURIComponent(new URL(request.url, "http://host").pathname).replace(/^\/psi/, ""));
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) file = join(file, "index.html");
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) file = join(resolve(site), version, "404.html");
  response.writeHead(found ? 200 : 404, { "content-type": types[extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}`, home = `${origin}/psi/${version}/`;

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
mkdirSync(pictures, { recursive: true });

/** Opens a window, and notes all that goes wrong in it. */
async function open(scheme, width) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, reducedMotion: "reduce" });
  const page = await context.newPage(), wrong = [];
  page.on("console", (m) => { if (m.type() === "error" || m.type() === "warning") wrong.push(`console: ${m.text()}`); });
  page.on("pageerror", (e) => wrong.push(`error: ${e.stack}`));
  page.on("request", (r) => { if (!r.url().startsWith(`${origin}/`) && !r.url().startsWith("data:")) wrong.push(`request: ${r.url()}`); });
  page.on("response", (r) => { if (r.status() >= 400) wrong.push(`${r.status()}: ${r.url()}`); });
  return { page, wrong };
}

const pages = readdirSync(join(site, version), { recursive: true }).filter((name) => /(^|\/)index\.html$/.test(name)).map((name) => name.replace(/index\.html$/, "")).sort();
const drawn = new Map([["", "home"], ["tutorial/", "tutorial"], ["install/", "install"], ["report/", "report"], ["cli/", "cli"], ["python-api/", "python-api"], ["adr/", "decisions"], ["gallery/", "gallery"]]);
const show = async (page, name) => {
  await page.goto(home + name);
  await page.waitForSelector("html.js .md-version__current"); // the scripts have run
};

/** Goes through all pages, and returns what is wrong with them. */
async function look(scheme, width) {
  const { page, wrong } = await open(scheme, width);
  const faults = [];
  for (const name of pages) {
    await show(page, name);
    if (drawn.has(name)) await page.screenshot({ path: join(pictures, `${drawn.get(name)}-${scheme}-${width}.png`) });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wide > 0) faults.push(`${name}, ${width}: ${wide} pixels too wide`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    for (const v of violations) faults.push(`${name}, ${scheme}, ${width}: axe: ${v.impact} ${v.id}: ${v.nodes.length} of ${v.nodes[0].target.join(" ")}: ${v.nodes[0].failureSummary.replaceAll(/\s+/g, " ")}`);
    faults.push(...wrong.splice(0).map((w) => `${name}, ${scheme}: ${w}`));
  }
  await page.context().close();
  return faults;
}

/** Searches for words, finds a page among the results, and follows it. */
async function search(words, wanted) {
  const { page, wrong } = await open("light", 1280);
  await show(page, "");
  await page.keyboard.press("/");
  await page.keyboard.type(words);
  const results = page.locator(".md-search-result__item > a");
  const first = () => results.evaluateAll((list) => list.slice(0, 5).map((a) => a.href.replace(/[?#].*/, "")));
  let links = [];
  for (let tries = 0; tries < 50 && !links.includes(home + wanted); tries++) { // results come while words are typed
    await page.waitForTimeout(200);
    links = await first();
  }
  assert.ok(links.includes(home + wanted), `"${words}" finds ${links.join(" ") || "nothing"} first, not ${wanted}`);
  await results.nth(links.indexOf(home + wanted)).click();
  await page.waitForURL((url) => url.href.startsWith(home + wanted));
  assert.match((await page.textContent("article")).toLowerCase(), new RegExp(words.split(" ")[0]));
  assert.deepEqual(wrong, []);
  await page.context().close();
  console.log(`search ok: "${words}" leads to ${wanted}`);
}

/** Other versions can be chosen; latest and the bare address lead to the newest; an older one says that it is. */
async function versions() {
  const { page, wrong } = await open("light", 1280);
  const all = JSON.parse(readFileSync(join(site, "versions.json"), "utf8")).map((v) => v.version);
  for (const start of ["", "latest/", "latest/tutorial/"]) {
    await page.goto(`${origin}/psi/${start}`);
    await page.waitForURL(home + start.replace("latest/", ""));
  }
  await page.waitForSelector(".md-version__link");
  assert.deepEqual(await page.$$eval(".md-version__link", (list) => list.map((a) => a.textContent.trim())), all);
  assert.ok(await page.locator("[data-md-component=outdated]").isHidden());
  const older = all.find((v) => v !== version);
  await page.focus(".md-version__current");
  await page.click(`.md-version__link:text-is("${older}")`);
  await page.waitForURL(`${origin}/psi/${older}/tutorial/`);
  await page.locator("[data-md-component=outdated] a").waitFor({ state: "visible" });
  assert.deepEqual(wrong, []);
  await page.context().close();
  console.log(`versions ok: ${all.join(", ")}; latest is ${version}`);
}

/** The palette follows the system until the reader chooses. */
async function palette() {
  const { page, wrong } = await open("dark", 1280);
  await show(page, "");
  const scheme = () => page.getAttribute("body", "data-md-color-scheme");
  assert.equal(await scheme(), "slate");
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForSelector('body[data-md-color-scheme="default"]');
  for (const [label, want] of [["switch to light", "default"], ["switch to dark", "slate"], ["follow the system", "default"]]) {
    await page.click(`label[title*="${label}"]`);
    await page.waitForSelector(`body[data-md-color-scheme="${want}"]`);
  }
  assert.deepEqual(wrong, []);
  await page.context().close();
  console.log("palette ok: system, light, dark");
}

await search("missing values", "missing-cells/");
await search("interventional", "which-shapley/");
await versions();
await palette();
const faults = (await Promise.all([look("light", 1280), look("dark", 1280), look("light", 390)])).flat();
for (const fault of faults) console.log(fault);
console.log(`browser: ${pages.length} pages, light, dark and at 390 pixels; axe violations ${faults.filter((f) => f.includes(": axe: ")).length}, other faults ${faults.filter((f) => !f.includes(": axe: ")).length}`);
await browser.close();
server.close();
process.exitCode = faults.length ? 1 : 0;
