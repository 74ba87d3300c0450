// What needs no component: which origin is allowed, where a key is found, which code an error is, what types say.

import assert from "node:assert/strict";
import { test } from "node:test";

import { documented } from "../documented.js";
import { Access } from "../src/access.js";
import { meant } from "../src/error-codes.js";
import { withoutKey } from "../src/redaction.js";
import { addressed, completed } from "../src/settings.js";

test("only one origin is allowed, whatever the path", () => {
  const access = new Access("https://Example.com/v1");
  for (const [url, allowed] of [
    ["https://example.com/v1/chat/completions", true],
    ["https://example.com:443/other", true],
    ["http://example.com/v1", false],
    ["https://example.com:8443/v1", false],
    ["https://example.com.evil.org/v1", false],
    ["https://someone:else@example.com/v1", false],
    ["file:///v1", false],
  ]) {
    assert.equal(access.allows(url), allowed, url);
  }
  assert(!new Access(undefined).allows("undefined"));
});

test("a key is blanked wherever it is cut", () => {
  const key = "sk-0123456789abcdef";
  const text = `wrong: ${key}, ${key}${key}sk-0123456789abcde`;
  const blanked = text.replaceAll(key, "*".repeat(key.length));
  for (let cut = 0; cut <= text.length; cut += 1) {
    const pieces = [text.slice(0, cut), "", text.slice(cut)].map((piece) => Buffer.from(piece));
    const read = () => pieces.shift() ?? raise({ tag: "closed" });
    assert.equal(all(withoutKey({ read, blockingRead: read }, key)), blanked, `cut at ${cut}`);
  }
});

test("errors that Node only words are told apart", () => {
  for (const [val, tag] of [
    ["Error: self-signed certificate", "TLS-certificate-error"],
    ["Error: unable to verify the first certificate", "TLS-certificate-error"],
    ["Error: Parse Error: Expected HTTP/", "HTTP-protocol-error"],
    ["Error: getaddrinfo EAI_AGAIN example.com", "DNS-error"],
    ["Error: connect ETIMEDOUT 127.0.0.1:80", "connection-timeout"],
    ["Error: something else", "internal-error"],
  ]) {
    assert.equal(meant({ tag: "internal-error", val }).tag, tag, val);
  }
  assert.deepEqual(meant({ tag: "HTTP-protocol-error" }), { tag: "connection-terminated" });
  assert.deepEqual(meant({ tag: "connection-refused" }), { tag: "connection-refused" });
});

test("given settings take the place of defaults, and undefined is given too", () => {
  const defaults = { chat: { model: "", maxTokens: 512 }, limits: { rates: [1, 2], pace: 0n } };
  const given = { chat: { model: "m", maxTokens: undefined }, limits: { rates: [] } };
  assert.deepEqual(completed(given, defaults), {
    chat: { model: "m", maxTokens: undefined },
    limits: { rates: [], pace: 0n },
  });
});

test("every type and field of the contract says what the contract says, in names of JavaScript", () => {
  const contract = `
    record retry {
        /// Tries, 1 to 1,000. Default: 5; absent: see \`limits.max-in-flight\`.
        max-attempts: option<u32>,
        base: u64,
    }
    /// Why.
    enum reason {
        patience,
        /// \`stop\` was called.
        stopped,
    }`;
  const types = `export interface Retry {
  maxAttempts?: number,
  base: bigint,
}
/**
 * # Variants
 * 
 * ## \`"patience"\`
 */
export type Reason = 'patience' | 'stopped';`;
  assert.equal(documented(types, contract), `export interface Retry {
  /**
   * Tries, 1 to 1,000. Default: 5; \`undefined\`: see \`limits.maxInFlight\`.
   */
  maxAttempts?: number,
  base: bigint,
}
/**
 * Why.
 * - \`patience\`
 * - \`stopped\`: \`stop\` was called.
 */
export type Reason = 'patience' | 'stopped';`);
  assert.throws(() => documented("", contract), /have no Retry, Retry.maxAttempts, Reason/);
});

test("the endpoint is that of the environment where none is named", (t) => {
  const before = process.env.OPENAI_BASE_URL;
  t.after(() => (before === undefined ? delete process.env.OPENAI_BASE_URL : (process.env.OPENAI_BASE_URL = before)));
  delete process.env.OPENAI_BASE_URL;
  assert.throws(() => addressed({}), { name: "SettingsError", field: "endpoint.base-url", message: /hint: .*OPENAI_BASE_URL/ });
  process.env.OPENAI_BASE_URL = "http://127.0.0.1/v1";
  assert.deepEqual(addressed({ endpoint: { headers: [] } }).endpoint, { headers: [], baseUrl: "http://127.0.0.1/v1" });
  assert.equal(addressed({ endpoint: { baseUrl: "http://other/v1" } }).endpoint.baseUrl, "http://other/v1");
});

function all(stream) {
  let text = "";
  try {
    for (;;) text += stream.read(64n);
  } catch ({ tag }) {
    assert.equal(tag, "closed");
    return text;
  }
}

function raise(thrown) {
  throw thrown;
}
