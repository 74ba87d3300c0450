// The one origin that the guest may reach, and the key for it. The key stays on this side.

export class Access {
  #origin;
  #key;

  /** Without a key, or with an empty one, no `authorization` is sent. A base URL that is none allows nothing. */
  constructor(baseUrl, key) {
    this.#origin = originOf(baseUrl);
    this.#key = key?.trim() || undefined;
    if (this.#key && !/^[\x21-\x7e]+$/.test(this.#key)) throw new TypeError(UNSENDABLE);
  }

  /** Whether it is the same scheme, host and port (RFC 6454 §4). */
  allows(url) {
    return this.#origin !== undefined && originOf(url) === this.#origin;
  }

  get key() {
    return this.#key;
  }
}

const UNSENDABLE = "the key cannot be sent in a header\nhint: look for line ends and stray characters in it";

/** Absent for what is not an HTTP URL, and for one with a name and password in it: they would become a header. */
function originOf(text) {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  return isHttp && !url.username && !url.password ? url.origin : undefined;
}
