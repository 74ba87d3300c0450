// What a program uses: batches and sessions as promises. The component's calls block, so each runs in a thread of its own.

import { SettingsError, SubmitError, as } from "./errors.js";
import { Session } from "./session.js";
import { addressed } from "./settings.js";
import { Thread } from "./thread.js";

export { Session, SettingsError, SubmitError };

export const Document = {
  text: (id, text) => ({ id, input: { tag: "text", val: text } }),
  request: (id, body) => ({ id, input: { tag: "request", val: body } }),
};

export function defaultSettings(host) {
  return alone(undefined, host, (thread) => thread.call("defaultSettings"));
}

export async function analyzeBatch(documents, given, host) {
  const settings = addressed(given);
  const work = (thread) => thread.call("analyzeBatch", documents, settings).catch(as(SettingsError));
  return alone(settings.endpoint.baseUrl, host, work);
}

/** In a thread that lives as long as this takes. */
async function alone(baseUrl, host, work) {
  const thread = new Thread(baseUrl, host);
  try {
    return await work(thread);
  } finally {
    await thread.end();
  }
}
