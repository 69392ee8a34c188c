import type { Explained, Explainer } from "../explainer.ts";
import type { Description, Explanation, Fault } from "./description.ts";

/** What a server refuses, in its words. */
export class Refusal extends Error {
  constructor(message: string, readonly column: string | null = null) {
    super(message);
  }
}

/** A server that wants to know who asks. */
export class Stranger extends Error {}

/** Where a server answers, relative to the page. */
export interface Places {
  models: string;
  explain: string;
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The server that the page comes from. The token stays in memory. */
export class Server {
  token = "";

  constructor(private readonly places: Places, private readonly waiting: (seconds: number) => void, private readonly fetch: Fetch = (url, init) => globalThis.fetch(url, init)) {}

  async models(): Promise<Description[]> {
    return ((await this.get(this.places.models, {})) as { models: Description[] }).models;
  }

  async explain(model: Description, body: string, signal: AbortSignal | null): Promise<Explanation> {
    const query = new URLSearchParams({ model: model.name, ...(model.version ? { version: model.version } : {}) });
    return (await this.get(`${this.places.explain}?${query}`, { method: "POST", body, signal })) as Explanation;
  }

  /** Asks, and asks again when the server says that it is too busy. */
  private async get(url: string, init: RequestInit): Promise<unknown> {
    const headers: Record<string, string> = { Accept: "application/json" };
    if (init.body) headers["Content-Type"] = "application/json";
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    for (;;) {
      let response: Response;
      try {
        response = await this.fetch(url, { ...init, headers, cache: "no-store", redirect: "error" });
      } catch (error) {
        if (init.signal?.aborted) throw error;
        throw new Refusal("The server cannot be reached. Is it still running?");
      }
      if (response.ok) return response.json();
      const again = response.headers.get("Retry-After");
      if (response.status === 429 || (response.status === 503 && again !== null)) {
        const seconds = retryAfter(again, Date.now());
        this.waiting(seconds);
        await pause(seconds, init.signal ?? null);
        continue;
      }
      throw await refused(response);
    }
  }
}

/** Seconds to wait, which the header gives as such or as a date; at least a moment, at most a minute. */
export function retryAfter(header: string | null, now: number): number {
  const seconds = header === null ? 1 : /^\d+$/.test(header.trim()) ? Number(header) : (Date.parse(header) - now) / 1000;
  return Number.isFinite(seconds) ? Math.min(60, Math.max(0.2, seconds)) : 1;
}

function pause(seconds: number, signal: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason as Error); }, { once: true });
  });
}

async function refused(response: Response): Promise<Error> {
  if (response.status === 401) return new Stranger();
  try {
    const fault = (await response.json()) as Partial<Fault>;
    if (fault.message) return new Refusal([fault.message, fault.remedy].filter(Boolean).map((text) => sentence(text as string)).join(" "), fault.column ?? null);
  } catch { /* the answer was not in the server's own words */ }
  return new Refusal(response.status === 403 ? "You do not have permission to use this model." : `The server returned ${response.status} ${response.statusText}.`.replace(" .", "."));
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).replace(/\.?$/, ".");
}

const mostKept = 32; // answers

/** What a server says of one output of one row. */
export interface Asked extends Explained {
  slope: number; // κ: the probability is that of base + κ·(prediction − base)
  bags: number; // trainings that tell the doubt of attributions; 0 if it is not known
  unknown: boolean; // attributions have no intervals
}

/** The rows a reader makes up, explained by a server. A row that was asked of before is not asked of again. */
export class AskedRows implements Explainer {
  private readonly answers = new Map<string, Explanation>();
  rows: string[] = []; // what is asked of each

  constructor(private readonly server: Server, readonly model: Description) {}

  async explain(row: number, output: number, signal: AbortSignal | null = null): Promise<Asked> {
    const body = this.rows[row];
    let answer = this.answers.get(body);
    if (!answer) {
      answer = await this.server.explain(this.model, body, signal);
      if (this.answers.size >= mostKept) this.answers.delete(this.answers.keys().next().value as string);
      this.answers.set(body, answer);
    }
    const name = this.model.outputs[output];
    const found = answer.rows[0].outputs.find((o) => o.output === name);
    if (!found) throw new Refusal(`The server does not explain ${name}.`);
    return {
      base: found.base, prediction: found.prediction, predictionStd: found.prediction_std ?? NaN, rangeStd: found.range_std ?? found.prediction_std ?? NaN, hiddenStd: found.hidden_std ?? NaN, probability: found.probability,
      likeliest: likeliest(answer), slope: answer.rows[0].probability_slope ?? 1, bags: answer.interval === "doubt" ? answer.bags : 0, unknown: answer.interval === "none",
      attributions: this.model.players.map((p, player) => {
        const a = found.attributions.find((one) => one.player === p.name);
        if (!a) throw new Refusal(`The server does not explain ${p.name}.`, null);
        return { player, observed: a.observed, mean: a.mean, spread: a.std, doubt: a.model_std, chances: { positive: a.p_positive, top: a.p_top } };
      }),
    };
  }
}

/** The class with the largest probability among several. */
function likeliest(answer: Explanation): string {
  return [...answer.rows[0].outputs].sort((a, b) => (b.probability ?? 0) - (a.probability ?? 0))[0].output;
}
