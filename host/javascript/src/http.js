// Where the guest's requests leave: to one origin only, and with the key, which is put in here and taken out again where
// the endpoint repeats it. What depends on how the shim is made, is in this file.

import { outgoingHandler, types } from "@bytecodealliance/preview2-shim/http";

import { meant, ofBody } from "./error-codes.js";
import { blank, withoutKey } from "./redaction.js";

/** The shim's `wasi:http`, guarded. */
export function guarded(access) {
  return {
    types: { ...types, httpErrorCode: ofBody },
    outgoingHandler: { handle: (request, options) => send(request, options, access) },
  };
}

function send(request, options, access) {
  const fields = request.headers();
  if (!access.allows(urlOf(request)) || HOSTS_OWN.some((name) => fields.has(name))) {
    throw { tag: "HTTP-request-denied" };
  }
  const response = authorized(fields, access.key, () => outgoingHandler.handle(request, patient(options)));
  return overridden(response, "get", (got) => {
    const answer = got?.val;
    if (answer?.tag === "err") answer.val = meant(answer.val);
    if (answer?.tag === "ok" && access.key) redact(answer.val, access.key);
    return got;
  });
}

function urlOf(request) {
  const scheme = { HTTP: "http", HTTPS: "https" }[request.scheme()?.tag];
  return `${scheme}://${request.authority()}`;
}

/** The shim reads the entries when it makes wire headers of them. The guest does not run meanwhile. */
function authorized(fields, key, handle) {
  if (!key) return handle();
  const entries = [...fields.entries(), ["authorization", new TextEncoder().encode(`Bearer ${key}`)]];
  fields.entries = () => entries;
  try {
    return handle();
  } finally {
    delete fields.entries;
  }
}

/** The shim ends a request when nothing was heard for its connect timeout, also while the model still thinks. */
function patient(options) {
  const connect = options?.connectTimeout();
  const firstByte = options?.firstByteTimeout();
  return {
    connectTimeout: () => (connect > firstByte ? connect : firstByte),
    firstByteTimeout: () => firstByte,
    betweenBytesTimeout: () => options?.betweenBytesTimeout(),
  };
}

/** Takes the key out of the header fields, and out of the body when that is read. */
function redact(incoming, key) {
  for (const [, value] of incoming.headers().entries()) blank(value, key);
  overridden(incoming, "consume", (body) => overridden(body, "stream", (stream) => withoutKey(stream, key)));
}

/** This one object, with what this method returns passed on by `pass`. */
function overridden(object, method, pass) {
  const original = object[method].bind(object);
  object[method] = (...values) => pass(original(...values));
  return object;
}

/** Header fields that are the host's: who is asking, and how the message is framed. */
const HOSTS_OWN = ["authorization", "cookie", "proxy-authorization", "te", "transfer-encoding", "upgrade"];
