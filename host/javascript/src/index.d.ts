// The types of `index.js`. Those of the contract are generated from the component, with what the contract says of each.

/// <reference lib="esnext.disposable" />

import type * as Contract from "../generated/interfaces/becalm-batch-analyzer.js";

export type {
  Admits, Answer, Chat, Endpoint, EpochMilliseconds, Event, Failure, FailureKind, Fault, Happening, Header, IgnoredHint, Input, Limit,
  LimitSource, Limits, Milliseconds, Outcome, Pause, PauseReason, PostponeReason, Postponement, Rate, Refusal, Report, Retry, Sent,
  Settings, Status, Timeouts, Unit, Usage, Verdict,
} from "../generated/interfaces/becalm-batch-analyzer.js";

/** One piece of work; it becomes one request, sent as often as needed, and one outcome. */
export type Document = Contract.Document;

/** Documents in the contract's two forms. */
export declare const Document: {
  /** A text, put into the batch's prompt template. */
  text(id: string, text: string): Document;
  /** A whole chat-completion body as JSON object, sent as it is. */
  request(id: string, body: string): Document;
};

/** A contract type as it may be given: numbers stand for `bigint` too, and lists are whole. */
type Whole<Type> = Type extends bigint
  ? number | bigint
  : Type extends (infer Item)[]
    ? readonly Whole<Item>[]
    : Type extends object
      ? { [Field in keyof Type]: Whole<Type[Field]> }
      : Type;

/** The same with any fields left out; where the contract allows a field to be absent, `undefined` says so. */
type Partly<Type> = Type extends readonly unknown[] | bigint
  ? Whole<Type>
  : Type extends object
    ? { [Field in keyof Type]?: Partly<Type[Field]> | (object extends Pick<Type, Field> ? undefined : never) }
    : Type;

/** What is not given has the contract's default; `endpoint.baseUrl` has that of `OPENAI_BASE_URL`. */
export type GivenSettings = Partly<Contract.Settings>;

/** What is beside the settings: the sandbox never sees the key. */
export interface Host {
  /**
   * The API key, sent as bearer token to the base URL's origin; white space around it is not sent. Default:
   * `OPENAI_API_KEY`; empty: none is sent. One that no header can carry is a `TypeError`.
   */
  key?: string | undefined;
  /** Another component than the package's: the `file:` URL (a `URL`, or its text) of the module that jco has made of it. */
  component?: { readonly href: string } | string | undefined;
}

/** A setting that cannot be used, or no endpoint. */
export declare class SettingsError extends Error {
  /** Path of the field as the contract has it, such as `retry.max-attempts`. */
  readonly field: string;
}

/** Documents that were not taken; none of that call was. */
export declare class SubmitError extends Error {
  /** An id is in use by a document that has no outcome yet, or the session was stopped: by `stop`, or as it halted. */
  readonly reason: "duplicate-id" | "stopped";
  /** The id that is in use; `undefined` if the session was stopped. */
  readonly id: string | undefined;
}

/** The contract's defaults. */
export declare function defaultSettings(host?: Pick<Host, "component">): Promise<Contract.Settings>;

/**
 * One outcome per document, in the order of the documents; resolves when all have one.
 *
 * Rejects with `SettingsError` before anything is sent, if a setting cannot be used.
 */
export declare function analyzeBatch(
  documents: readonly Document[],
  settings: GivenSettings,
  host?: Host,
): Promise<Contract.Report>;

/** The same for batches larger than memory, and for progress: the caller feeds and pulls. */
export declare class Session implements AsyncIterable<Contract.Event>, AsyncDisposable {
  private constructor();

  /** Opens a session; nothing is sent before its events are asked for. Rejects with `SettingsError`. */
  static open(settings: GivenSettings, host?: Host): Promise<Session>;

  /**
   * Submits these documents as there is room for them, and gives the outcomes as they come.
   *
   * Of documents that an iterator makes, only so many wait at a time that the endpoint is kept busy: twice as many as may be
   * in flight, or 128. While it waits for one, nothing is sent. After `stop`, or a failure that would hit every document,
   * no more are taken; every document that was taken gets its outcome. No loop loses one: what is left by `break` or by an
   * exception comes with the next loop, over `outcomes()` or over more documents.
   *
   * Throws `SubmitError` if an id is in use; then the documents that were taken with it were not submitted.
   */
  analyze(documents: Iterable<Document> | AsyncIterable<Document>): AsyncGenerator<Contract.Outcome, void, void>;

  /** The outcomes of all that was submitted, as they come, one for every document. */
  outcomes(): AsyncGenerator<Contract.Outcome, void, void>;

  /** Adds documents at the end of the queue. Rejects with `SubmitError`, and has taken none of them then. */
  submit(documents: readonly Document[]): Promise<void>;

  /**
   * All that happens, oldest first, until every document has its outcome; after more was submitted it can be asked for
   * again. While nobody asks for the next event, nothing more is sent.
   */
  [Symbol.asyncIterator](): AsyncGenerator<Contract.Event, void, void>;

  /**
   * Sends nothing more. What is in flight ends in its own time (go on with the loop), the rest is postponed. Takes hold
   * within 50 ms; does nothing after `close`. For Ctrl-C: `process.once("SIGINT", () => session.stop())`.
   */
  stop(): Promise<void>;

  /** Where the session stands now. */
  status(): Promise<Contract.Status>;

  /** Ends it at once and cuts off what is on the wire; calls that still wait are rejected. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
