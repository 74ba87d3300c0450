// A session: fed, pulled, stopped and closed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Document, Session, SubmitError } from "becalm";

import { mockServer } from "./support/mock-server.js";
import { wire } from "./support/wire.js";

async function open(test, endpoint) {
  const { baseUrl, stats } = await mockServer(test, endpoint);
  const session = await Session.open({ endpoint: { baseUrl }, chat: { model: "m" }, retry: { jitter: 0 } });
  test.after(() => session.close());
  return { session, stats };
}

const texts = (...ids) => ids.map((id) => Document.text(id, "Some text."));
const numbered = (count) => texts(...Array.from({ length: count }, (_, number) => `document ${number}`));

/** All events until the end, by what happened. */
async function drained(session) {
  const events = [];
  for await (const { at, what } of session) {
    assert.equal(typeof at, "bigint");
    events.push(what);
  }
  return (tag) => events.filter((what) => what.tag === tag).map(({ val }) => val);
}

test("its events tell of a limit that is met, learnt and waited for", async (t) => {
  const { session, stats } = await open(t);
  await session.submit(numbered(15));
  const events = await drained(session);
  assert.equal(events("outcome").length, 15);
  assert(events("outcome").every(({ verdict }) => verdict.tag === "answered"));
  assert(events("refused").length > 0);
  assert(events("learnt").length > 0);
  assert(events("paused").every(({ until }) => until > 0n) && events("paused").length > 0);
  assert(events("resumed").length > 0);
  const { queued, inFlight, answered, refusals } = await session.status();
  assert.deepEqual({ queued, inFlight, answered }, { queued: 0, inFlight: 0, answered: 15n });
  assert.equal(refusals, BigInt((await stats()).refused));
});

test("what is submitted while it runs, or after its end, is answered too", async (t) => {
  const { session } = await open(t);
  await session.submit(texts("a"));
  const answered = [];
  for await (const { what } of session) {
    if (what.tag !== "outcome") continue;
    answered.push(what.val.id);
    if (what.val.id === "a") await session.submit(texts("b", "c"));
  }
  assert.deepEqual(answered.sort(), ["a", "b", "c"]);
  await session.submit(texts("d"));
  const events = await drained(session);
  assert.deepEqual(events("outcome").map(({ id }) => id), ["d"]);
});

test("an id that is in use is refused, with all that came with it", async (t) => {
  const { session } = await open(t);
  await session.submit(texts("a"));
  for (const ids of [["b", "a"], ["b", "b"]]) {
    await assert.rejects(session.submit(texts(...ids)), (error) => {
      assert(error instanceof SubmitError);
      assert.deepEqual({ reason: error.reason, id: error.id }, { reason: "duplicate-id", id: ids[1] });
      return true;
    });
  }
  assert.equal((await session.status()).queued, 1);
});

test("a stop postpones what was not sent and lets the rest end", async (t) => {
  const { session, stats } = await open(t);
  await session.submit(numbered(30));
  const outcomes = [];
  for await (const { what } of session) {
    if (what.tag === "outcome") outcomes.push(what.val);
    if (what.tag === "paused") await session.stop();
  }
  const postponed = outcomes.filter(({ verdict }) => verdict.tag === "postponed");
  assert.equal(outcomes.length, 30);
  assert(postponed.every(({ verdict }) => verdict.val.reason === "stopped"));
  assert.equal(30 - postponed.length, (await stats()).answered);
  await assert.rejects(session.submit(texts("late")), { name: "SubmitError", reason: "stopped" });
});

test("a loop that is left early loses no outcome", async (t) => {
  const { session } = await open(t);
  await session.submit(numbered(10));
  const ids = [];
  for (let loops = 0; loops < 10; loops += 1) {
    for await (const { id } of session.outcomes()) {
      ids.push(id);
      break;
    }
  }
  assert.deepEqual(ids.sort(), numbered(10).map(({ id }) => id));
  for await (const outcome of session.outcomes()) assert.fail(`${outcome.id} came twice`);
});

test("of documents without end only some wait, and a stop ends the loop with an outcome for each", async (t) => {
  const { session } = await open(t);
  const taken = [];
  async function* endless() {
    for (let number = 0; ; number += 1) {
      const [document] = texts(`document ${number}`);
      taken.push(document.id);
      yield document;
    }
  }
  const outcomes = [];
  for await (const outcome of session.analyze(endless())) {
    outcomes.push(outcome);
    if (outcomes.length === 5) await session.stop();
  }
  assert(taken.length < 200, `${taken.length} were taken`);
  assert.deepEqual(outcomes.map(({ id }) => id).sort(), taken.sort());
});

test("after a failure that would hit every document no more are taken", async (t) => {
  const { baseUrl } = await wire(t, "refuse");
  const session = await Session.open({ endpoint: { baseUrl }, chat: { model: "m" } });
  t.after(() => session.close());
  const outcomes = [];
  for await (const outcome of session.analyze(numbered(1000))) outcomes.push(outcome);
  assert(outcomes.length < 300, `${outcomes.length} were taken`);
  assert.equal(new Set(outcomes.map(({ id }) => id)).size, outcomes.length);
  assert.equal(outcomes[0].verdict.val.kind, "unauthorised");
  const reasons = outcomes.map(({ verdict }) => verdict.val.reason).filter(Boolean);
  assert.deepEqual(new Set(reasons), new Set(["halted"]));
});

test("a setting that no thread can be given is refused, and that is all", async () => {
  const settings = { endpoint: { baseUrl: "http://127.0.0.1:9/v1" }, chat: { model: () => "m" } };
  await assert.rejects(Session.open(settings), { name: "DataCloneError" });
});

test("a stop after the close does nothing", async (t) => {
  const { session } = await open(t);
  await session.close();
  await session.stop();
});

test("a close ends it at once, whatever it waits for", async (t) => {
  const { session } = await open(t, { latency: "20s" });
  await session.submit(texts("a"));
  const draining = assert.rejects(drained(session), /the session is closed/);
  const started = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 200));
  await session[Symbol.asyncDispose]();
  await draining;
  assert(performance.now() - started < 5000);
  await assert.rejects(session.status(), /the session is closed/);
});
