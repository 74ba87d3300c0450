// Makes `generated/` of the component: its core modules, JavaScript around them, and their types.

import { fileURLToPath } from "node:url";

import { transpile, writeFiles } from "@bytecodealliance/jco-transpile";

const [component] = process.argv.slice(2);
if (!component) {
  console.error("usage: npm run build -- becalm.wasm");
  process.exit(2);
}
// Instantiated by `src/sandbox.js` and not by being imported, so that the imports are ours to guard.
const { files } = await transpile(component, {
  name: "becalm",
  instantiation: "async",
  outDir: fileURLToPath(new URL("generated", import.meta.url)),
});
await writeFiles(files);
