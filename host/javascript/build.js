// Makes `generated/` of the component: its core modules, JavaScript around them, and their types, with what the contract says.

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { transpile, writeFiles } from "@bytecodealliance/jco-transpile";

import { documented } from "./documented.js";

const [component, contract] = process.argv.slice(2);
if (!contract) {
  console.error("usage: npm run build -- becalm.wasm batch.wit");
  process.exit(2);
}
// Instantiated by `src/sandbox.js` and not by being imported, so that the imports are ours to guard.
const { files } = await transpile(component, {
  name: "becalm",
  instantiation: "async",
  outDir: fileURLToPath(new URL("generated", import.meta.url)),
});
await writeFiles(files);

const types = new URL("generated/interfaces/becalm-batch-analyzer.d.ts", import.meta.url);
await writeFile(types, documented(await readFile(types, "utf8"), await readFile(contract, "utf8")));
