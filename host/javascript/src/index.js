// What a program uses: batches and sessions as promises. The component's calls block, so each runs in a thread of its own.

import { SettingsError, SubmitError, as } from "./errors.js";
import { Session } from "./session.js";
import { Thread } from "./thread.js";

export { Session, SettingsError, SubmitError };

export const Document = {
  text: (id, text) => ({ id, input: { tag: "text", val: text } }),
  request: (id, body) => ({ id, input: { tag: "request", val: body } }),
};

export function defaultSettings() {
  return alone({}, undefined, (thread) => thread.call("defaultSettings"));
}

export function analyzeBatch(documents, settings, { key } = {}) {
  return alone(settings, key, (thread) => thread.call("analyzeBatch", documents, settings).catch(as(SettingsError)));
}

/** In a thread that lives as long as this takes. */
async function alone(settings, key, work) {
  const thread = new Thread(settings, key);
  try {
    return await work(thread);
  } finally {
    await thread.end();
  }
}
