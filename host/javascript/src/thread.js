// The main thread's end of a sandbox: calls go over as messages and come back as promises.

import { Worker } from "node:worker_threads";

export class Thread {
  #worker;
  #waiting = new Map();
  #calls = 0;
  /** Why nothing can be called any more. */
  #ended;

  /** The guest may reach this URL's origin, with the key, else that of the environment. */
  constructor(baseUrl, { key = process.env.OPENAI_API_KEY, component } = {}) {
    const workerData = { baseUrl, key, component: component?.href ?? component };
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { workerData });
    this.#worker.on("message", (answer) => this.#settle(answer));
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", (code) => this.#fail(new Error(`the sandbox's thread ended with ${code}`)));
    this.#worker.unref();
  }

  /** Rejects with what the contract's function threw, or with an `Error`. */
  async call(name, ...values) {
    if (this.#ended) throw this.#ended;
    this.#calls += 1;
    const call = this.#calls;
    // First, because a value that cannot be sent throws here.
    this.#worker.postMessage({ call, name, values });
    // A program ends when nobody waits for a session any more.
    this.#worker.ref();
    return new Promise((resolve, reject) => this.#waiting.set(call, { resolve, reject }));
  }

  /** Ends it at once, whatever it waits for; what is on the wire is cut off. */
  async end() {
    this.#fail(new Error("the session is closed"));
    await this.#worker.terminate();
  }

  #settle({ call, value, thrown }) {
    const { resolve, reject } = this.#waiting.get(call) ?? {};
    this.#waiting.delete(call);
    if (this.#waiting.size === 0) this.#worker.unref();
    if (thrown) reject?.(thrown);
    else resolve?.(value);
  }

  #fail(error) {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}
