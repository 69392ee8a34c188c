import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { att, type Attribution, margin, ranked, reasons, rest, steps } from "../src/attribution.ts";
import { placeAmong, swarm } from "../src/chart.ts";
import { filter } from "../src/filter.ts";
import { attributions, bits, floats } from "../src/packed.ts";
import { inWords } from "../src/pages/decisions.ts";
import { means } from "../src/pages/effects.ts";
import { apart } from "../src/pages/games.ts";
import { power, told } from "../src/pages/loss.ts";
import { parted } from "../src/pages/summary.ts";
import { formula, meaning } from "../src/interval.ts";
import { reachOf, within } from "../src/share.ts";
import { axis, fewValues, ticks } from "../src/values.ts";
import { cell, chance, count, day, decimalsFor, factor, level, moment, number, oddsFactor, percent, shorten, signed, tenths, thousands } from "../src/words.ts";
import { clipped, range, response, times } from "../src/response.ts";

const of = (mean: number, spread: number, player: number, observed = true, doubt: number | null = null): Attribution => ({ mean, spread, doubt, player, observed });
const spread = (z: number) => ({ z, reach: z });

test("reasons are those of package explain", () => {
  const cases = JSON.parse(readFileSync("test/reasons.json", "utf8")) as { z: number; bags: number; reach: number; mean: string; std: string; model_std: string; observed: string; players: number; most: number; reasons: number[] }[];
  assert.ok(cases.length >= 80 && cases.filter((c) => c.bags > 0).length >= 40);
  for (const c of cases) {
    const mean = attributions(c.mean), std = attributions(c.std), doubt = attributions(c.model_std), observed = bits(c.observed);
    const list = [...mean].map((m, d) => of(m, std[d], d, observed(d), c.bags ? doubt[d] : null));
    assert.equal(list.length, c.players);
    assert.deepEqual(reasons(list, { z: c.z, reach: reachOf(c.z, c.bags) }, c.most).map((a) => a.player), c.reasons);
  }
});

test("ranks follow att(z), and intervals change them", () => {
  const list = [of(3, 2, 0), of(-2, 0.1, 1), of(1, 0, 2), of(9, 9, 3, false)];
  assert.deepEqual(ranked(list, spread(0), "sure").map((a) => a.player), [0, 1, 2]);
  assert.deepEqual(ranked(list, spread(1.5), "sure").map((a) => a.player), [1, 2, 0]); // 1.85, 1, 0
  assert.deepEqual(ranked(list, spread(0), "most").map((a) => a.player), [0, 2, 1]);
  assert.equal(att(list[1], spread(2), "most"), -2 + 2 * 0.1);
  assert.equal(att(list[1], spread(2), "sure"), 2 - 2 * 0.1);
});

test("what is sure goes by doubt, and the ranking of the paper by spread", () => {
  const list = [of(3, 9, 0, true, 0.5), of(4, 0, 1, true, 2)], w = { z: 1, reach: 3 };
  assert.deepEqual(list.map((a) => margin(a, w)), [1.5, 6]);
  assert.deepEqual(ranked(list, w, "sure").map((a) => a.player), [0, 1]); // 1.5, −2
  const unsure = [of(0.1, 0, 2, true, 0.1), of(-2, 0, 3, true, 3)];
  assert.deepEqual(ranked([...unsure, ...list], w, "sure").map((a) => a.player), [0, 1, 3, 2]); // those that are not sure by size
  assert.deepEqual(reasons(list, w, 5).map((a) => a.player), [0]);
  assert.deepEqual(list.map((a) => att(a, w, "most")), [12, 4]);
});

test("steps lead from the base to the prediction", () => {
  const way = steps(10, [of(3, 1, 0), of(-5, 1, 1)]);
  assert.deepEqual(way.map((s) => [s.from, s.to]), [[10, 13], [13, 8]]);
  assert.deepEqual(rest([of(3, 3, 0), of(-5, 4, 1)]), { mean: -2, spread: 5, doubt: null });
  assert.deepEqual(rest([of(3, 3, 0, true, 6), of(-5, 4, 1, true, 8)]), { mean: -2, spread: 5, doubt: 10 });
});

test("intervals hold what they should", () => {
  for (const [z, share] of [[0, 0], [0.6744897501960817, 0.5], [1, 0.6826894921370859], [1.959963984540054, 0.95], [3, 0.9973002039367398]]) {
    assert.ok(Math.abs(within(z) - share) < 1e-12, `${z}: ${within(z)}`);
  }
});

// Quantiles of Student's t at 0.975 and 0.995 from printed tables, by degrees of freedom.
test("intervals by doubt reach as far as Student's t", () => {
  for (const [freedom, at975, at995] of [[1, 12.7062, 63.6567], [2, 4.30265, 9.92484], [3, 3.18245, 5.84091], [4, 2.77645, 4.60409], [7, 2.36462, 3.49948], [10, 2.22814, 3.16927], [15, 2.13145, 2.94671], [30, 2.04227, 2.75]]) {
    for (const [z, want] of [[1.959963984540054, at975], [2.5758293035489004, at995]]) {
      const got = reachOf(z, freedom + 1);
      assert.ok(Math.abs(got - want) < 2e-5 * want, `${freedom} degrees of freedom, z = ${z}: ${got}, not ${want}`);
    }
  }
  assert.equal(reachOf(1.96, 0), 1.96);
  assert.equal(reachOf(0, 8), 0);
  const cases = JSON.parse(readFileSync("test/reasons.json", "utf8")) as { z: number; bags: number; reach: number }[];
  for (const c of cases) assert.ok(Math.abs(reachOf(c.z, c.bags) - c.reach) < 1e-8 * c.reach, `${c.bags} bags, z = ${c.z}: ${reachOf(c.z, c.bags)}, not ${c.reach}`);
});

test("doubt and spread are never mixed", () => {
  const words = (bags: number) => meaning("±", { z: 1.959963984540054, reach: 2, bags, classes: false });
  assert.match(words(8), /the doubt\. The mean over trainings on other samples .* in about 95\u00a0% of cases, estimated from 8 such trainings/);
  assert.doesNotMatch(words(8), /spread|varies/);
  assert.match(words(0), /the spread, ± 1\.96 .* varies among rows like this one/);
  assert.doesNotMatch(words(0), /doubt/);
});

test("packed numbers come back", () => {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat32(0, 1.5, true);
  view.setFloat32(4, -0.25, true);
  const text = (from: number[]) => btoa(String.fromCharCode(...from));
  const all = [...new Uint8Array(view.buffer)];
  assert.deepEqual([...floats(text(all))], [1.5, -0.25]);
  assert.deepEqual([...attributions(text([...all.slice(1, 4), ...all.slice(5, 8)]))], [1.5, -0.25]);
  assert.equal(floats("").length, 0);
  const odd = bits(text([0b1001, 0b10]));
  assert.deepEqual([0, 1, 2, 3, 8, 9].map(odd), [true, false, false, true, false, true]);
});

test("filters", () => {
  const rows = [{ age: 40, town: "Bonn" }, { age: 50, town: "Köln" }, { age: null, town: "Bonn am Rhein" }];
  const holds = (query: string) => {
    const f = filter(query, {
      names: ["age", "town"], text: (r, i) => (i === 0 ? String(rows[r].age ?? "missing") : rows[r].town), value: (r, i) => (i === 0 ? rows[r].age : null),
    });
    return rows.map((_, r) => r).filter(f);
  };
  assert.deepEqual(holds(""), [0, 1, 2]);
  assert.deepEqual(holds("bonn"), [0, 2]);
  assert.deepEqual(holds("town = bonn"), [0]);
  assert.deepEqual(holds("town != Bonn"), [1, 2]);
  assert.deepEqual(holds("age > 40"), [1]);
  assert.deepEqual(holds("AGE >= 40, town=Köln"), [1]);
  assert.deepEqual(holds("age = missing"), [2]);
  assert.deepEqual(holds("height > 3"), []);
  assert.deepEqual(holds("town > C"), [1]);
});

test("numbers in words", () => {
  assert.equal(day("2026-01-09"), "9\u00a0January\u00a02026");
  assert.deepEqual([0.8703, 0.99999, 1, -0.0001, -0.25].map(tenths), ["87.0\u00a0%", "over 99.9\u00a0%", "100.0\u00a0%", "0.0\u00a0%", "−25.0\u00a0%"]);
  assert.deepEqual([0, 1, 5].map(factor), ["1.00", "2.72", "148"]);
  assert.equal(number(206077.3), "206,077");
  assert.equal(number(-0.00123456, 3), "−0.00123");
  assert.equal(number(2012), "2012");
  assert.equal(number(1.5e12), "1.50e+12");
  assert.equal(cell(-122.23), "-122.23");
  assert.equal(cell(0.123456789), "0.123457");
  assert.equal(count(1, "row"), "1 row");
  assert.equal(count(48842, "row"), "48,842 rows");
  assert.equal(thousands(1234567), "1,234,567");
  assert.equal(percent(0.00001), "under 0.1\u00a0%");
  assert.equal(percent(-0.0001), "0\u00a0%");
  assert.equal(percent(-0.31), "−31.0\u00a0%");
  assert.equal(percent(1), "100\u00a0%");
  assert.equal(percent(0.756), "76\u00a0%");
  assert.equal(level(0.9500042), "95\u00a0%");
  assert.equal(level(0.9973), "99.7\u00a0%");
  assert.equal(chance(0.9999), "over 0.999");
  assert.equal(decimalsFor(1.37)(-0.5), "−0.50");
  assert.equal(decimalsFor(167504)(-25535.4), "−25,535");
  assert.equal(signed(decimalsFor(1)(0.001)), "0.00");
  assert.equal(signed("0.20"), "+0.20");
  assert.equal(oddsFactor(Math.log(2)), "odds × 2.00");
  assert.equal(oddsFactor(-Math.log(4)), "odds ÷ 4.00");
  assert.equal(shorten("Zürich-West", 7), "Zürich…");
  assert.equal(moment(86400), "1970-01-02");
  assert.equal(moment(86400 + 3600), "1970-01-02 01:00");
});

test("a warning is on the first page or on that of the data, never on both", () => {
  const of = (change: number) => ({ kind: "rare", columns: [0], words: String(change), change });
  const all = [1, 0.5, 0.01, 0.009, 0].map(of);
  assert.deepEqual(parted(all), { first: all.slice(0, 3), lesser: all.slice(3) });
  const many = Array.from({ length: 9 }, () => of(0.2));
  assert.deepEqual([parted(many).first.length, parted(many).lesser.length], [6, 3]);
  assert.deepEqual(parted([]), { first: [], lesser: [] });
});

test("a decision in words", () => {
  const d = { threshold: 0.2, true_positives: 1500, false_positives: 500, false_negatives: 7, true_negatives: 8, precision: 0.75, recall: 0.99, lift: 2, f1: 0.9, called: 0.19, accuracy: 0.5 };
  assert.equal(inWords(d, "yes"), "2,000 rows are predicted yes, 19\u00a0% of all. 1,500 of them are yes; 7 other yes rows are missed.");
  assert.equal(inWords({ ...d, true_positives: 0, false_positives: 0, precision: null }, "yes"), "No row is predicted yes: none has a probability of 0.2.");
});

test("few values stand for themselves, and axes have their marks there", () => {
  const repeated = (values: number, times: number) => Array.from({ length: values * times }, (_, i) => (i * 7) % values);
  assert.deepEqual(fewValues([1, 0, 1, 0]), [0, 1]);
  assert.equal(fewValues(repeated(24, 40))?.length, 24);
  assert.equal(fewValues(repeated(24, 2)), null);
  assert.equal(fewValues(repeated(32, 40)), null);
  assert.equal(fewValues([...Array.from({ length: 20 }, (_, i) => i), ...Array.from({ length: 300 }, () => 0)]), null);
  assert.deepEqual(ticks(repeated(2, 10), 700), [0, 1]);
  assert.deepEqual(ticks([0, 0.5, 3, 0.5], 700), [0, 0.5, 3]);
  assert.equal((ticks(repeated(24, 40), 720) as number[]).length, 24);
  assert.deepEqual(ticks(repeated(24, 40), 280), [0, 3, 6, 9, 12, 15, 18, 21]);
  assert.equal(ticks(repeated(100, 40), 500), 5);
  assert.equal(ticks([4, 4, 4], 500), 5);
  assert.deepEqual(axis("number", [0, 1, 0, -1], 700).ticks, [-1, 0, 1]);
  assert.deepEqual([-1, 0, 0.5].map(axis("number", [0, 1], 700).tickFormat as (v: number) => string), ["−1", "0", "0.5"]);
  const hours = repeated(24, 40).map((x) => ({ x, mean: x % 2, spread: 0, doubt: null }));
  assert.deepEqual(means(hours), Array.from({ length: 24 }, (_, x) => ({ x, mean: x % 2 })));
});

test("places, swarms and means of neighbours", () => {
  const place = placeAmong([1, 2, 2, 3]);
  assert.deepEqual([1, 2, 3].map(place), [0, 0.5, 1]);
  assert.equal(placeAmong([4, 4])(4), 0.5);
  assert.deepEqual(swarm([0, 0, 0, 10], 5, 1, 9), [0, -1, 1, 0].map((v) => v + 0));
  const dots = Array.from({ length: 100 }, (_, i) => ({ x: i % 4, mean: i % 4 === 3 ? 1 : 0, spread: 0, doubt: null }));
  assert.deepEqual(means(dots), [{ x: 0, mean: 0 }, { x: 1, mean: 0 }, { x: 2, mean: 0 }, { x: 3, mean: 1 }]);
  const many = Array.from({ length: 100 }, (_, i) => ({ x: i, mean: i, spread: 0, doubt: null }));
  assert.deepEqual(means(many).map((m) => m.x), Array.from({ length: 20 }, (_, i) => 5 * i + 2));
});

test("importance in loss names the columns that help beyond chance", () => {
  const columns = (...found: boolean[]) => found.map((f, i) => ({ player: "abcdefgh"[i], mean: 1, standard_error: 1, p: 0.5, found: f, rows: 9 }));
  const test = "predictions beyond chance, in a test corrected for the number of columns.";
  const rest = (of: string) => ` There is no such evidence for the other ${of}.`;
  assert.equal(told(columns(false, false)), "No column is shown to improve predictions beyond chance, in a test corrected for the number of columns.");
  assert.equal(told(columns(true)), `The column improves ${test}`);
  assert.equal(told(columns(true, true)), `All 2 columns improve ${test}`);
  assert.equal(told(columns(true, false)), `a improves ${test}${rest("column")}`);
  assert.equal(told(columns(true, true, true, true, true, false, false)), `5 of 7 columns, led by a, b and c, improve ${test}${rest("2 columns")}`);
  assert.deepEqual([0, 2, 99_999, 4.3e9, 4e-5].map(power), [0, 0, 0, 9, -6]);
});

test("predictions of numbers are those of package explain", () => {
  const plain = { scale: "identity" as const, nonNegative: true };
  assert.equal(response(plain, -3), 0);
  assert.ok(clipped(plain, -3) && !clipped(plain, 3) && !clipped({ ...plain, nonNegative: false }, -3));
  assert.deepEqual(range(plain, { prediction: 1, predictionStd: 1, rangeStd: 2 }, 1), [0, 3]);
  // a log-normal number with σ = .741: its mean square distance from the log of its mean is σ² + σ⁴/4
  const sigma = 0.741, std = Math.sqrt(sigma ** 2 + sigma ** 4 / 4), median = 2;
  const [low, high] = range({ scale: "log-mean", nonNegative: true }, { prediction: median + sigma ** 2 / 2, predictionStd: std, rangeStd: sigma }, 1.645);
  assert.ok(Math.abs(Math.log(low) - (median - 1.645 * sigma)) < 1e-9 && Math.abs(Math.log(high) - (median + 1.645 * sigma)) < 1e-9);
  assert.equal(times(Math.log(1.25)), "× 1.25");
});

test("where no uncertainty is known there is no interval, and the largest come first", () => {
  const unknown = (mean: number, player: number): Attribution => ({ mean, spread: null, doubt: null, player, observed: true });
  const list = [unknown(1, 0), unknown(-3, 1), unknown(0, 2), unknown(2, 3)], w = { z: 1.96, reach: 1.96 };
  assert.deepEqual(list.map((a) => margin(a, w)), [0, 0, 0, 0]);
  assert.deepEqual(ranked(list, w, "sure").map((a) => a.player), [1, 3, 0, 2]);
  assert.deepEqual(reasons(list, w, 5).map((a) => a.player), [1, 3, 0]);
  assert.deepEqual(rest(list), { mean: 0, spread: null, doubt: null });
  const words = meaning("±", { ...w, bags: 0, classes: false, unknown: true });
  assert.match(words, /not known/);
  assert.doesNotMatch(words, /±/);
  assert.match(formula({ ...w, bags: 0, unknown: true }), /^none/);
});

test("two games are as far apart as their attributions", () => {
  const pair = (here: number, other: number) => ({ player: 0, here, other });
  assert.equal(apart([]), 0);
  assert.equal(apart([pair(0, 0)]), 0);
  assert.equal(apart([pair(2, 2), pair(-1, -1)]), 0);
  assert.equal(apart([pair(3, 0)]), 1);
  assert.equal(apart([pair(1, -1)]), 1);
  assert.equal(apart([pair(3, 1), pair(-2, -2)]), 0.25);
});

test("an axis of one value has one mark", () => {
  const at = axis("number", [4, 4, 4], 500);
  assert.deepEqual(at.ticks, [4]);
  assert.equal(at.tickFormat?.(4), "4");
});
