// Settings of which only some are given. The contract names the defaults; none stands here.

/** The defaults with all that is given in their place; `undefined` is given too, and stands for "absent". */
export function completed(given, defaults) {
  if (!isRecord(given) || !isRecord(defaults)) return given;
  const fields = Object.keys(given).map((field) => [field, completed(given[field], defaults[field])]);
  return { ...defaults, ...Object.fromEntries(fields) };
}

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
