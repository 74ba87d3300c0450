// A batch that is fed and pulled: for batches larger than memory, and to see what happens.

import { SettingsError, SubmitError, as } from "./errors.js";
import { addressed } from "./settings.js";
import { Thread } from "./thread.js";

export class Session {
  #thread;
  #submissions = 0;
  /** What the component told and no loop has taken yet: a loop that is left early loses nothing of it. */
  #told = [];
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
    return new Session(thread);
  }

  /** Only for `open`. */
  constructor(thread) {
    this.#thread = thread;
  }

  async submit(documents) {
    this.#submissions += 1;
    await this.#thread.call("submit", documents).catch(as(SubmitError));
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.#told.length > 0) yield this.#told.shift();
      const submissions = this.#submissions;
      const { events, isDone } = await this.#thread.call("next", MOMENT_MS);
      for (const event of events) this.#told.push(event);
      // What was submitted meanwhile may have come too late for that look.
      if (isDone && submissions === this.#submissions) return;
    }
  }

  async *outcomes() {
    for await (const { what } of this) {
      if (what.tag === "outcome") yield what.val;
    }
  }

  async stop() {
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
}

/** While the component waits, its thread hears nothing: so long do `submit`, `stop` and `status` wait at most. */
const MOMENT_MS = 50n;
