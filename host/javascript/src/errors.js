// The contract's errors as classes. Anything else that a call rejects with is a fault of the sandbox.

/** A setting that cannot be used. */
export class SettingsError extends Error {
  name = "SettingsError";

  constructor({ field, message }) {
    super(`${field}: ${message}`);
    this.field = field;
  }
}

/** Documents that were not taken; none of that call was. */
export class SubmitError extends Error {
  name = "SubmitError";

  constructor({ tag, val }) {
    super(tag === "duplicate-id" ? duplicate(val) : STOPPED);
    this.reason = tag;
    this.id = val;
  }
}

const duplicate = (id) => `the id ${JSON.stringify(id)} is in use\nhint: give every document an id of its own`;
const STOPPED = "the session was stopped\nhint: open another one for what is left";

/** For `catch`: what the contract's functions throw is a plain object, and that becomes this kind of error. */
export const as = (Kind) => (thrown) => {
  throw thrown instanceof Error ? thrown : new Kind(thrown);
};
