// Puts what the contract says of its types, with units, defaults and ranges, into the types that jco makes of the component:
// the component itself carries no comments.

/** The generated types, with a comment at every type and field that the contract describes. */
export function documented(types, contract) {
  const descriptions = described(contract);
  let type;
  const lines = types.replace(JCOS_COMMENTS, "").split("\n").flatMap((line) => {
    const opened = /^export (?:interface|type) (\w+)/.exec(line)?.[1];
    type = opened ?? type;
    const field = /^  (\w+)\??:/.exec(line)?.[1];
    const name = opened ?? `${type}.${field}`;
    const says = descriptions.get(name);
    descriptions.delete(name);
    return says?.length > 0 ? [comment(says, opened ? "" : "  "), line] : [line];
  });
  if (descriptions.size > 0) throw new Error(`the generated types have no ${[...descriptions.keys()].join(", ")}`);
  return lines.join("\n");
}

/** By the names in JavaScript, `Rate` and `Rate.amount`: what the contract says, a paragraph or list item a line. */
function described(contract) {
  const descriptions = new Map();
  let [kind, type, says] = [undefined, undefined, []];
  for (const line of contract.split("\n").map((line) => line.trim())) {
    if (line.startsWith("///")) {
      says.push(line.slice(3).trim());
      continue;
    }
    const [, opens, name] = /^(record|enum|variant) ([\w-]+) \{$/.exec(line) ?? [];
    const [, alias] = /^type ([\w-]+) = /.exec(line) ?? [];
    const member = /^([\w-]+)[:(,]/.exec(line)?.[1];
    if (opens) [kind, type] = [opens, pascal(name)];
    if (line === "}") kind = undefined;
    const said = inJavaScript(says.join(" "), member !== "source");
    if (opens) descriptions.set(type, said ? [said] : []);
    else if (alias) descriptions.set(pascal(alias), [said]);
    else if (kind === "record" && said) descriptions.set(`${type}.${camel(member)}`, [said]);
    else if (kind !== "record" && kind && member) descriptions.get(type).push(`- \`${member}\`${said && `: ${said}`}`);
    says = [];
  }
  // In JavaScript they are the classes in src/errors.js.
  ["SettingsError", "SettingsError.field", "SettingsError.message"].forEach((name) => descriptions.delete(name));
  return descriptions;
}

/** Where a wait comes from is told by names that stay as they are in the contract. */
function inJavaScript(says, hasNames) {
  const absent = says.replace(/\babsent\b/gi, "`undefined`");
  return hasNames ? absent.replace(NAMES, camel) : absent;
}

function comment(says, indent) {
  const lines = says.flatMap((paragraph) => paragraph.match(/\S.{0,105}(?= |$)/g) ?? []);
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */`;
}

const camel = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
const pascal = (name) => camel(`-${name}`);

/** Lists of an enum's names, without a word on what they mean. */
const JCOS_COMMENTS = /^\/\*\*\n \* # Variants\n(?: \*.*\n)*/gm;
/** What the contract's sentences name of its fields and functions. */
const NAMES = /`(?:default-settings|endpoint\.base-url|limits\.max-in-flight|(?:retry\.)?max-attempts)`/g;
