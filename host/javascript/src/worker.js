// The sandbox's thread: carries out one call after another, blocking. It knows the key and one origin, for its one batch.

import { parentPort, workerData } from "node:worker_threads";

import { Access } from "./access.js";
import { instantiate } from "./sandbox.js";
import { completed } from "./settings.js";

const { analyzer } = await instantiate(new Access(workerData.baseUrl, workerData.key), workerData.component);
const whole = (settings) => completed(settings, analyzer.defaultSettings());
let session;

const calls = {
  defaultSettings: () => analyzer.defaultSettings(),
  analyzeBatch: (documents, settings) => analyzer.analyzeBatch(documents, whole(settings)),
  open: (settings) => {
    session = analyzer.Session.open(whole(settings));
  },
  submit: (documents) => session.submit(documents),
  next: (wait) => {
    const events = session.next(wait);
    const { queued, inFlight, unheard } = session.status();
    return { events, isDone: events.length === 0 && queued === 0 && inFlight === 0 && unheard === 0 };
  },
  stop: () => session.stop(),
  status: () => session.status(),
};

parentPort.on("message", ({ call, name, values }) => {
  try {
    parentPort.postMessage({ call, value: calls[name](...values) });
  } catch (thrown) {
    parentPort.postMessage({ call, thrown });
  }
});
