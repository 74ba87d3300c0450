// A program in TypeScript as a user would write it. It is only checked: what it gets have to be the contract's types.

import { Document, Session, SettingsError, SubmitError, analyzeBatch, defaultSettings } from "becalm";
import type { Event, GivenSettings, Limit, Outcome, Report, Settings } from "becalm";

const settings: GivenSettings = {
  endpoint: { baseUrl: "https://api.example.com/v1" },
  chat: { model: "some-model", systemPrompt: undefined },
  limits: { rates: [{ unit: "requests", amount: 10, window: 60_000n }] },
};

export async function batch(key: string | undefined): Promise<readonly Outcome[]> {
  const defaults: Settings = await defaultSettings();
  const report: Report = await analyzeBatch([Document.text("a", "Some text.")], { ...defaults, ...settings }, { key });
  const waited: bigint = report.outcomes[0]!.waited;
  return waited > 0n ? report.outcomes : [];
}

export async function texts(documents: Document[]): Promise<string[]> {
  await using session = await Session.open(settings);
  await session.submit(documents);
  const answers = [];
  for await (const event of session) answers.push(textOf(event));
  return answers;
}

export async function identified(session: Session): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of session.analyze(new Set([Document.text("a", "Some text.")]))) ids.push(id);
  for await (const { id } of session.outcomes()) ids.push(id);
  return ids;
}

function textOf({ what }: Event): string {
  if (what.tag !== "outcome") return what.tag;
  const { verdict } = what.val;
  return verdict.tag === "answered" ? (verdict.val.text ?? "") : verdict.val.message;
}

/** What is worth setting next time. */
export function learnt({ admits, source, cycles }: Limit): GivenSettings {
  if (source === "refusals" && cycles < 3) return {};
  return { limits: admits.tag === "rate" ? { rates: [admits.val] } : { maxInFlight: admits.val } };
}

export function explain(error: unknown): string {
  if (error instanceof SettingsError) return error.field;
  if (error instanceof SubmitError) return error.reason === "duplicate-id" ? `${error.id}` : error.message;
  return "unknown";
}

// @ts-expect-error: no such field
export const misspelt: GivenSettings = { endpoint: { baseURL: "https://api.example.com/v1" } };
// @ts-expect-error: a rate is whole
export const unfinished: GivenSettings = { limits: { rates: [{ unit: "requests" }] } };
// @ts-expect-error: the contract wants a prompt template
export const absent: GivenSettings = { chat: { promptTemplate: undefined } };
