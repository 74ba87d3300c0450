// Settings of which only some are given. The contract names the defaults; none stands here.

import { SettingsError } from "./errors.js";

/** The defaults with all that is given in their place; `undefined` is given too, and stands for "absent". */
export function completed(given, defaults) {
  if (!isRecord(given) || !isRecord(defaults)) return given;
  const fields = Object.keys(given).map((field) => [field, completed(given[field], defaults[field])]);
  return { ...defaults, ...Object.fromEntries(fields) };
}

/** The same with `OPENAI_BASE_URL` where no endpoint is named, as the command line takes it. */
export function addressed(given) {
  const baseUrl = given.endpoint?.baseUrl || process.env.OPENAI_BASE_URL;
  if (!baseUrl) throw new SettingsError({ field: "endpoint.base-url", message: NO_ENDPOINT });
  return { ...given, endpoint: { ...given.endpoint, baseUrl } };
}

const NO_ENDPOINT = `no endpoint is named
hint: name it with endpoint.baseUrl or OPENAI_BASE_URL, such as https://api.example.com/v1`;

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
