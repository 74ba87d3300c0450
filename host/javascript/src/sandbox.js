// The component with its imports: what it has of the outside are clocks, randomness, and HTTP as `http.js` guards it.

import { readFile } from "node:fs/promises";

import { monotonicClock, wallClock } from "@bytecodealliance/preview2-shim/clocks";
import { error, poll, streams } from "@bytecodealliance/preview2-shim/io";
import { random } from "@bytecodealliance/preview2-shim/random";

import { guarded } from "./http.js";

/** What `build.js` makes of a component, in this package. */
const PACKAGED = new URL("../generated/becalm.js", import.meta.url).href;

/** Its exports, and the memories that it works in: to search them is a test's way to see what it knows. */
export async function instantiate(access, component = PACKAGED) {
  const transpiled = await import(component);
  const http = guarded(access);
  const memories = [];
  const imports = {
    "wasi:clocks/monotonic-clock": monotonicClock,
    "wasi:clocks/wall-clock": wallClock,
    "wasi:http/outgoing-handler": http.outgoingHandler,
    "wasi:http/types": http.types,
    "wasi:io/error": error,
    "wasi:io/poll": poll,
    "wasi:io/streams": streams,
    "wasi:random/random": random,
  };
  const { analyzer } = await transpiled.instantiate(coreModule(component), imports, async (module, coreImports) => {
    const instance = await WebAssembly.instantiate(module, coreImports);
    memories.push(...Object.values(instance.exports).filter((item) => item instanceof WebAssembly.Memory));
    return instance;
  });
  return { analyzer, memories };
}

const coreModule = (component) => async (name) => WebAssembly.compile(await readFile(new URL(name, component)));
