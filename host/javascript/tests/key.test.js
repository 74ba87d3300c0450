// The key: it arrives at the endpoint, and is nowhere where the guest or a reader of results could find it. Most of this
// looks into a sandbox in this thread, which blocks it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Document, analyzeBatch } from "becalm";

import { Access } from "../src/access.js";
import { instantiate } from "../src/sandbox.js";
import { wire } from "./support/wire.js";

const KEY = "sk-7c1f0e5a-this-must-stay-outside-93b2d846";
const KNOWN = "a text that the guest has to know";

/** What a sandbox with access to this URL makes of one document that it is to send to that one. */
async function came(accessible, baseUrl, headers = []) {
  const { analyzer, memories } = await instantiate(new Access(accessible, KEY));
  const settings = analyzer.defaultSettings();
  settings.endpoint = { baseUrl, headers };
  settings.chat = { ...settings.chat, model: "m", systemPrompt: KNOWN };
  // The session keeps its settings for as long as it lives.
  const session = analyzer.Session.open(settings);
  session.submit([Document.text("a", "Some text.")]);
  const { verdict } = session.next(10_000n).find(({ what }) => what.tag === "outcome").what.val;
  const knows = (text) => memories.some((memory) => Buffer.from(memory.buffer).includes(text));
  return { verdict, knows };
}

test("the key arrives, and the guest's whole memory has nothing of it", async (t) => {
  const { baseUrl, seen } = await wire(t, "echo");
  const { verdict, knows } = await came(baseUrl, baseUrl);
  assert.equal(verdict.tag, "answered");
  assert.deepEqual(await seen(), [`Bearer ${KEY}`]);
  assert(knows(KNOWN), "the search finds nothing at all");
  assert(!knows(KEY));
});

test("another origin is refused before anything is sent", async (t) => {
  const { origin, baseUrl, seen } = await wire(t, "echo");
  const port = new URL(origin).port;
  for (const allowed of ["http://127.0.0.1:9", `https://127.0.0.1:${port}`, `http://localhost:${port}`, "nowhere"]) {
    const { verdict } = await came(allowed, baseUrl);
    assert.equal(verdict.val.kind, "unreachable", allowed);
    assert.match(verdict.val.message, /does not allow requests to this origin/);
  }
  assert.deepEqual(await seen(), []);
});

test("the guest cannot set a key of its own", async (t) => {
  const { baseUrl, seen } = await wire(t, "echo");
  const { verdict } = await came(baseUrl, baseUrl, [{ name: "Authorization", value: "Bearer other" }]);
  assert.equal(verdict.tag, "failed");
  assert.deepEqual(await seen(), []);
});

test("an endpoint that repeats the key is not repeated in a report", async (t) => {
  const { baseUrl, seen } = await wire(t, "echo");
  const settings = { endpoint: { baseUrl }, chat: { model: "m" } };
  const { outcomes } = await analyzeBatch([Document.text("a", "Some text.")], settings, { key: ` ${KEY}\n` });
  const { text, requestId } = outcomes[0].verdict.val;
  assert.deepEqual(await seen(), [`Bearer ${KEY}`]);
  assert.equal(text, `your key is Bearer ${"*".repeat(KEY.length)}`);
  assert.equal(requestId, `for Bearer ${"*".repeat(KEY.length)}`);
});

test("the key is that of the environment where none is given", async (t) => {
  const { baseUrl, seen } = await wire(t, "echo");
  const before = process.env.OPENAI_API_KEY;
  t.after(() => (before === undefined ? delete process.env.OPENAI_API_KEY : (process.env.OPENAI_API_KEY = before)));
  process.env.OPENAI_API_KEY = KEY;
  const { outcomes } = await analyzeBatch([Document.text("a", "Some text.")], { endpoint: { baseUrl }, chat: { model: "m" } });
  assert.deepEqual(await seen(), [`Bearer ${KEY}`]);
  assert(!outcomes[0].verdict.val.body.includes(KEY));
});

test("with an empty key none is sent, and one that is no header value is refused unseen", async (t) => {
  const { baseUrl, seen } = await wire(t, "echo");
  const settings = { endpoint: { baseUrl }, chat: { model: "m" } };
  const send = (key) => analyzeBatch([Document.text("a", "Some text.")], settings, { key });
  await send("");
  assert.deepEqual(await seen(), [null]);
  await assert.rejects(send("two\nlines"), (error) => error instanceof TypeError && !error.message.includes("lines"));
});
