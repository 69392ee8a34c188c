import assert from "node:assert/strict";
import test from "node:test";
import { carried, question, read, remark, rowOf, seconds, typicalRow } from "../src/live/cells.ts";
import { sheet } from "../src/live/csv.ts";
import type { Column, Description } from "../src/live/description.ts";
import { stepOf } from "../src/live/fields.ts";
import { Latest } from "../src/live/latest.ts";
import { AskedRows, Refusal, retryAfter, Server, Stranger } from "../src/live/server.ts";

const column = (name: string, kind: Column["kind"], more: Partial<Column> = {}): Column =>
  ({ name, kind, labels: null, left: 0, low: null, high: null, whole: false, gap: false, typical: null, ...more });

const model: Description = {
  name: "m", version: "2", versions: ["2"], task: "binary", scale: "logit", non_negative: false, target: "y", outputs: ["yes"], classes: ["no", "yes"],
  players: [{ name: "who", columns: ["age", "smokes"] }, { name: "town", columns: ["town"] }, { name: "day", columns: ["day"] }],
  columns: [column("age", "number", { low: 17, high: 90, whole: true, typical: 39 }), column("smokes", "boolean", { low: 0, high: 1, typical: true }),
    column("town", "category", { labels: ["Bonn", "Köln"], gap: true, typical: "Bonn" }), column("day", "time", { low: 0, high: 86400 * 365, typical: 86400 })],
  missing: ["-9"], head: "exact", exact: true, digest: "sha256:0", base: [0], kept: false,
};

test("tables are read with care", () => {
  assert.deepEqual(sheet('\ufeffa,b\r\n1,"x, ""y""\nz"\r\n\r\n,\r\n'), { headers: ["a", "b"], rows: [["1", 'x, "y"\nz'], ["", ""]] });
  assert.deepEqual(sheet("a;b\n1,5;2").rows, [["1,5", "2"]]);
  assert.deepEqual(sheet('"a,b"\tc\n1\t2').headers, ["a,b", "c"]);
  assert.deepEqual(sheet("a\n1\n2").rows, [["1"], ["2"]]);
  assert.deepEqual(sheet("a,b\n1,").rows, [["1", ""]]);
  for (const [text, message] of [
    ["", /no header line/], ["a,b", /no row/], ["a,b\n1,2\n3", /Line 3 has 1 cells, but the header has 2/], ["a,a\n1,2", /Two columns are named a/],
    ['a\n"x\n\ny', /Line 2 opens a quote/], ['a,b\n"x\ny"z,1', /Line 3 has text after/], ['a,b\n"x\ny",1\n1', /Line 4 has 1/],
  ] as const) assert.throws(() => sheet(text), message);
});

test("cells are read as their columns say", () => {
  const [age, smokes, town, day] = model.columns;
  assert.deepEqual([" 3.5 ", "-1e3", ".5", ""].map((t) => read(age, t)), [{ value: 3.5 }, { value: -1000 }, { value: 0.5 }, { value: null }]);
  for (const wrong of ["1,5", "0x10", "Infinity", "NaN", "1e999", "12 years"]) assert.ok("wrong" in read(age, wrong), wrong);
  assert.deepEqual(["Yes", "f"].map((t) => read(smokes, t)), [{ value: true }, { value: false }]);
  assert.ok("wrong" in read(smokes, "2"));
  assert.deepEqual(read(town, " Bonn"), { value: " Bonn" });
  assert.ok("wrong" in read(day, "01/02/2006"));
  assert.deepEqual(["1970-01-02", "1970/01/02 01:00", "1970-01-02T01:00:00+01:00", "2 Jan 1970", "soon"].map(seconds), [86400, 90000, 86400, 86400, null]);
});

test("rows of a table become rows of the model", () => {
  const row = rowOf(model, ["town", "age", "x"], ["?", "-9", "1"]);
  assert.deepEqual(row, [{ text: "", unknown: true }, { text: "", unknown: true }, { text: "", unknown: false }, { text: "", unknown: true }]);
  assert.deepEqual(JSON.parse(question(model, row).body), { rows: [{ age: null, smokes: null, town: null, day: null }], unknown: ["age", "smokes", "day"], top: 3 });
  const typical = typicalRow(model);
  assert.deepEqual(JSON.parse(question(model, typical).body), { rows: [{ age: 39, smokes: true, town: "Bonn", day: "1970-01-02" }], unknown: [], top: 3 });
  typical[0] = { text: "old", unknown: false };
  assert.deepEqual([...question(model, typical).wrong.keys()], [0]);
  typical[0].unknown = true; // what is written in an unknown cell does not matter
  assert.equal(question(model, typical).wrong.size, 0);
  const other = { ...model, columns: [model.columns[2], column("age", "category", { typical: "old" })] };
  assert.deepEqual(carried(typical, model, other), [{ text: "Bonn", unknown: false }, { text: "old", unknown: false }]);
});

test("a column called __proto__ is asked of like any other", () => {
  const odd = { ...model, columns: [column("__proto__", "number", { typical: 1 })] };
  assert.equal(question(odd, typicalRow(odd)).body, '{"rows":[{"__proto__":1}],"unknown":[],"top":3}');
});

test("remarks", () => {
  const of = (i: number, text: string) => remark(model.columns[i], { text, unknown: false });
  assert.equal(of(0, "50"), "");
  assert.match(of(0, "91"), /Outside the training range: 17 to 90/);
  assert.match(of(2, "Ulm"), /absent or very rare/);
  assert.match(of(2, ""), /value of its own/);
  assert.match(of(0, ""), /treats this as unknown/);
  assert.match(of(3, "1969-12-31"), /1970-01-01 to 1971-01-01/);
});

test("steps of a slider", () => {
  assert.equal(stepOf(model.columns[0], 73), 1);
  assert.equal(stepOf(column("a", "number"), 73), 0.1);
  assert.equal(stepOf(column("a", "number", { whole: true }), 1e6), 1e4);
  assert.equal(stepOf(model.columns[3], 86400 * 365), 86400);
  assert.equal(stepOf(model.columns[3], 86400), 60);
});

const after = (ms: number) => new Promise<void>((resolve) => { setTimeout(resolve, ms); });

test("of many questions the newest is answered, one at a time", async () => {
  const asked: number[] = [], told: number[] = [], given: number[] = [];
  let most = 0, now = 0;
  const latest = new Latest<number, number>(async (q, signal) => {
    asked.push(q);
    signal.addEventListener("abort", () => given.push(q));
    most = Math.max(most, ++now);
    await after(q === 100 ? 400 : 20);
    now--;
    return q;
  }, (_, a) => told.push(a), () => assert.fail(), 5, 120);
  for (let q = 0; q < 20; q++) {
    latest.put(q);
    await after(5);
  }
  assert.ok(latest.busy);
  await after(120);
  assert.ok(!latest.busy);
  assert.equal(told.at(-1), 19);
  assert.ok(asked.length >= 3 && asked.length < 15 && most === 1, `${asked.length} asked, ${most} at once`);
  assert.deepEqual(given, []);
  latest.put(100);
  await after(30);
  latest.put(101); // which 100 is given up for when it takes too long
  await after(250);
  assert.deepEqual(given, [100]);
  assert.equal(told.at(-1), 101);
  await after(200);
  assert.equal(told.at(-1), 101);
});

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) => new Response(JSON.stringify(body), { status, headers });
const explanation = { interval: "doubt", bags: 8, rows: [{ probability_slope: 0.5, outputs: [{ output: "yes", base: 1, prediction: 2, prediction_std: 3, hidden_std: 0, probability: 0.5,
  attributions: ["day", "who", "town"].map((player, i) => ({ player, observed: true, mean: i, std: 1, model_std: 2, p_positive: 0.5, p_top: 1 })) }] }] };

test("the server is asked again when it is busy, told who asks, and not asked twice", async () => {
  const seen: { url: string; init: RequestInit }[] = [], waits: number[] = [];
  const replies = [answer(429, {}, { "Retry-After": "0" }), answer(200, explanation)];
  const server = new Server({ models: "ui/models", explain: "explain" }, (s) => waits.push(s), (url, init) => { seen.push({ url, init }); return Promise.resolve(replies.shift() as Response); });
  server.token = "secret";
  const rows = new AskedRows(server, model);
  rows.rows = ["{}"];
  const e = await rows.explain(0, 0);
  assert.deepEqual(e.attributions.map((a) => [a.player, a.mean]), [[0, 1], [1, 2], [2, 0]]); // in the order of the model's players
  assert.deepEqual([e.bags, e.slope, e.attributions[0].doubt, e.attributions[0].spread], [8, 0.5, 2, 1]);
  assert.equal(waits.length, 1);
  assert.equal(seen[1].url, "explain?model=m&version=2");
  assert.equal((seen[1].init.headers as Record<string, string>).Authorization, "Bearer secret");
  assert.deepEqual(await rows.explain(0, 0), e);
  assert.equal(seen.length, 2);
});

test("refusals are in the server's words, and name the column", async () => {
  const refuse = async (response: Response) => new Server({ models: "", explain: "" }, () => {}, () => Promise.resolve(response)).models().then(() => assert.fail(), (e: unknown) => e);
  const named = await refuse(answer(400, { schema: "psi.error/v1", message: "\"x\" is no number", column: "age", remedy: "write a number" })) as Refusal;
  assert.deepEqual([named.message, named.column], ['"x" is no number. Write a number.', "age"]);
  assert.ok((await refuse(answer(401, {}))) instanceof Stranger);
  assert.match(((await refuse(answer(403, {}))) as Error).message, /do not have permission/);
  assert.match(((await refuse(new Response("<html>", { status: 502 }))) as Error).message, /502/);
});

test("how long to wait", () => {
  assert.equal(retryAfter("3", 0), 3);
  assert.equal(retryAfter("900", 0), 60);
  assert.equal(retryAfter(null, 0), 1);
  assert.equal(retryAfter("Thu, 01 Jan 1970 00:00:05 GMT", 1000), 4);
  assert.equal(retryAfter("soon", 0), 1);
});
