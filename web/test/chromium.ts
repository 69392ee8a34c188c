// What the tests in a browser share.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export interface Violation { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }

interface Axe { run(where: object, how: object): Promise<{ violations: Violation[] }> }

/** The faults that axe finds in parts of the page; of a picture it sees the whole, not the thousand dots inside. The script is
 * run by the debugger, which the page's policy does not bind. */
export async function faults(page: Page, parts: string[]): Promise<Violation[]> {
  await page.evaluate(axe);
  return page.evaluate(async (include) => (await (window as unknown as { axe: Axe }).axe.run(
    { include: include.map((part) => [part]), exclude: [[".plot > *"]] }, { resultTypes: ["violations"] })).violations, parts);
}

/** How many pixels the page is too wide. */
export function sideways(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}
