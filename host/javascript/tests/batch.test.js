// A batch from its documents to its report: the real component over real HTTP.

import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { Document, SettingsError, analyzeBatch, defaultSettings } from "becalm";

import { mockServer } from "./support/mock-server.js";
import { wire } from "./support/wire.js";

const settings = (baseUrl) => ({ endpoint: { baseUrl }, chat: { model: "m" }, retry: { jitter: 0 } });
const texts = (count) => Array.from({ length: count }, (_, number) => Document.text(`document ${number}`, "Some text."));

test("twenty documents come home through ten requests per window, in their order", async (t) => {
  const { baseUrl, stats } = await mockServer(t);
  const documents = texts(20);
  const report = await analyzeBatch(documents, settings(baseUrl));
  assert.deepEqual(report.outcomes.map(({ id }) => id), documents.map(({ id }) => id));
  assert(report.outcomes.every(({ verdict }) => verdict.tag === "answered"));
  assert(report.refusals > 0n);
  assert(report.elapsed >= 2000n, `${report.elapsed} ms is less than a window`);
  assert.equal(report.limits[0].source, "refusals");
  const { answered, refused } = await stats();
  assert.equal(answered, 20);
  assert.equal(BigInt(refused), report.refusals);
});

test("the main thread goes on while a batch waits", async (t) => {
  const { baseUrl } = await mockServer(t);
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), 20);
  const report = await analyzeBatch(texts(12), settings(baseUrl));
  clearInterval(timer);
  const possible = Number(report.elapsed) / 20;
  assert(ticks > possible / 2, `${ticks} of some ${Math.round(possible)} ticks`);
});

test("a document that is no JSON fails by itself, and nothing is sent for it", async (t) => {
  const { baseUrl, stats } = await mockServer(t);
  const documents = [Document.request("bad", "no JSON"), Document.text("good", "Some text.")];
  const { outcomes } = await analyzeBatch(documents, settings(baseUrl));
  assert.equal(outcomes[0].verdict.tag, "failed");
  assert.equal(outcomes[0].verdict.val.kind, "invalid-document");
  assert.equal(outcomes[0].attempts, 0);
  assert.equal(outcomes[1].verdict.tag, "answered");
  assert.equal((await stats()).sent, 1);
});

test("a setting that cannot be used is an error that names it", async () => {
  const wrong = { ...settings("http://127.0.0.1:1"), retry: { maxAttempts: 0 } };
  await assert.rejects(analyzeBatch(texts(1), wrong), (error) => {
    assert(error instanceof SettingsError);
    assert.equal(error.field, "retry.max-attempts");
    return true;
  });
  await assert.rejects(analyzeBatch(texts(1), {}), { name: "SettingsError", field: "endpoint.base-url" });
});

test("an endpoint that cannot be reached fails the documents after their tries", async () => {
  // The port of discard, where nothing listens.
  const nowhere = { ...settings("http://127.0.0.1:9/v1"), retry: { maxAttempts: 2, base: 1, cap: 10, jitter: 0 } };
  const { outcomes } = await analyzeBatch(texts(1), nowhere);
  assert.equal(outcomes[0].verdict.val.kind, "unreachable");
  assert.match(outcomes[0].verdict.val.message, /connection was refused/);
  assert.equal(outcomes[0].attempts, 2);
});

test("a connection that breaks costs a try and not the document", async (t) => {
  const { baseUrl } = await wire(t, "break");
  const patient = { ...settings(baseUrl), retry: { base: 1, cap: 10, jitter: 0 } };
  const { outcomes } = await analyzeBatch(texts(1), patient);
  assert.equal(outcomes[0].verdict.tag, "answered");
  assert.equal(outcomes[0].attempts, 2);
});

test("an answer may take longer than connecting may", async (t) => {
  const { baseUrl } = await wire(t, "think");
  const { outcomes } = await analyzeBatch(texts(1), { ...settings(baseUrl), timeouts: { connect: 100 } });
  assert.equal(outcomes[0].verdict.tag, "answered");
  assert.equal(outcomes[0].attempts, 1);
});

test("another component than the package's can be named", async (t) => {
  const { baseUrl } = await mockServer(t);
  const folder = await mkdtemp(join(tmpdir(), "becalm-"));
  t.after(() => rm(folder, { recursive: true }));
  await cp(new URL("../generated", import.meta.url), folder, { recursive: true });
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const component = pathToFileURL(join(folder, "becalm.js"));
  const { outcomes } = await analyzeBatch(texts(1), settings(baseUrl), { component });
  assert.equal(outcomes[0].verdict.tag, "answered");
  const missing = new URL("missing.js", component);
  await assert.rejects(defaultSettings({ component: missing }), { code: "ERR_MODULE_NOT_FOUND" });
});

test("the defaults are the contract's, and what is given takes their place", async (t) => {
  const defaults = await defaultSettings();
  assert.equal(defaults.limits.maxInFlight, 8);
  assert.equal(defaults.retry.patience, 3_600_000n);
  const { baseUrl } = await mockServer(t);
  // Longer than the server's: the first request of a sandbox takes up to 40 ms to leave, the policy's margin is 12 ms.
  const limited = { ...settings(baseUrl), limits: { rates: [{ unit: "requests", amount: 10, window: 2500 }] } };
  const report = await analyzeBatch(texts(12), limited);
  assert.equal(report.refusals, 0n);
  const admits = { tag: "rate", val: { unit: "requests", amount: 10n, window: 2500n } };
  assert.deepEqual(report.limits, [{ admits, source: "settings", cycles: 0 }]);
});
