// Which `error-code` of WASI says what became of a request. The shim tells few apart: all else is an `internal-error` with
// Node's words in it, and the policy would retry what cannot work, or hold all back for one broken connection.

/** The code that is meant by the one that the shim gives. */
export function meant(code) {
  // Only for a connection that was reset, which says nothing about the protocol.
  if (code.tag === "HTTP-protocol-error") return { tag: "connection-terminated" };
  if (code.tag !== "internal-error") return code;
  const [, known] = WORDS.find(([words]) => words.test(code.val)) ?? [];
  return known ?? code;
}

/** The same for a body that ended early, of which the shim gives Node's error; absent if that has no code. */
export function ofBody(error) {
  return error.payload?.tag ? error.payload : undefined;
}

const WORDS = [
  [/certificate/, { tag: "TLS-certificate-error" }],
  [/SSL routines|EPROTO/, { tag: "TLS-protocol-error" }],
  [/Parse Error/, { tag: "HTTP-protocol-error" }],
  [/EAI_/, { tag: "DNS-error", val: {} }],
  [/ETIMEDOUT/, { tag: "connection-timeout" }],
  [/EHOSTUNREACH|ENETUNREACH/, { tag: "destination-IP-unroutable" }],
  [/EPIPE|socket hang up/, { tag: "connection-terminated" }],
];
