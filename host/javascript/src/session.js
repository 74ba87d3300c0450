// A batch that is fed and pulled: for batches larger than memory, and to see what happens.

import { SettingsError, SubmitError, as } from "./errors.js";
import { addressed } from "./settings.js";
import { Thread } from "./thread.js";

export class Session {
  #thread;
  #ahead;
  #submissions = 0;
  /** What the component told and no loop has taken yet: a loop that is left early loses nothing of it. */
  #told = [];
  #takesMore = true;
  #isClosed = false;

  static async open(given, host) {
    const settings = addressed(given);
    const thread = new Thread(settings.endpoint.baseUrl, host);
    try {
      await thread.call("open", settings).catch(as(SettingsError));
    } catch (error) {
      await thread.end();
      throw error;
    }
    return new Session(thread, settings.limits?.maxInFlight);
  }

  /** Only for `open`. */
  constructor(thread, maxInFlight = 0) {
    this.#thread = thread;
    this.#ahead = Math.max(2 * maxInFlight, LEAST_AHEAD);
  }

  async *analyze(documents) {
    const source = documents[Symbol.asyncIterator]?.() ?? documents[Symbol.iterator]();
    while ((await this.#feed(source)) || this.#told.length > 0 || (await this.#goesOn())) {
      while (this.#told.length > 0) {
        const { what } = this.#told.shift();
        if (what.tag === "outcome") yield what.val;
      }
    }
  }

  outcomes() {
    return this.analyze([]);
  }

  async submit(documents) {
    this.#submissions += 1;
    await this.#thread.call("submit", documents).catch(as(SubmitError));
  }

  async *[Symbol.asyncIterator]() {
    while (this.#told.length > 0 || (await this.#goesOn())) {
      while (this.#told.length > 0) yield this.#told.shift();
    }
  }

  async stop() {
    this.#takesMore = false;
    // Signal handlers outlive sessions.
    if (!this.#isClosed) await this.#thread.call("stop");
  }

  status() {
    return this.#thread.call("status");
  }

  async close() {
    this.#isClosed = true;
    await this.#thread.end();
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  /** Whether there was room for documents, and there were some. */
  async #feed(source) {
    if (!this.#takesMore) return false;
    const { queued } = await this.status();
    const taken = [];
    while (taken.length < this.#ahead - queued) {
      const { value, done } = await source.next();
      if (done) break;
      taken.push(value);
    }
    if (taken.length > 0) await this.#submitOrPutOff(taken);
    return taken.length > 0;
  }

  async #submitOrPutOff(documents) {
    try {
      await this.submit(documents);
    } catch (error) {
      if (error.reason !== "stopped") throw error;
      const postponement = this.#takesMore ? HALTED : STOPPED;
      this.#takesMore = false;
      const verdict = { tag: "postponed", val: { until: undefined, ...postponement } };
      const outcomes = documents.map(({ id }) => ({ id, verdict, attempts: 0, refusals: 0, waited: 0n }));
      this.#told.push(...outcomes.map((val) => ({ at: BigInt(Date.now()), what: { tag: "outcome", val } })));
    }
  }

  /** Pulls for a moment; false when every document has its outcome, and that was told. */
  async #goesOn() {
    const submissions = this.#submissions;
    const { events, isDone } = await this.#thread.call("next", MOMENT_MS);
    for (const event of events) this.#told.push(event);
    // What was submitted meanwhile may have come too late for that look.
    return !isDone || submissions !== this.#submissions;
  }
}

/** While the component waits, its thread hears nothing: so long do `submit`, `stop` and `status` wait at most. */
const MOMENT_MS = 50n;

/** From 64 documents that wait the policy sees that there is more to come; so many do still when others have gone out. */
const LEAST_AHEAD = 128;

const STOPPED = { reason: "stopped", message: "the session was stopped" };
const HALTED = { reason: "halted", message: "a failure that would hit every document came first" };
