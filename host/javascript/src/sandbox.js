// The component with its imports: what it has of the outside are clocks, randomness, and HTTP as `http.js` guards it.

import { readFile } from "node:fs/promises";

import { monotonicClock, wallClock } from "@bytecodealliance/preview2-shim/clocks";
import { error, poll, streams } from "@bytecodealliance/preview2-shim/io";
import { random } from "@bytecodealliance/preview2-shim/random";

import * as component from "../generated/becalm.js";
import { guarded } from "./http.js";

/** Its exports, and the memories that it works in: to search them is a test's way to see what it knows. */
export async function instantiate(access) {
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
  const { analyzer } = await component.instantiate(coreModule, imports, async (module, coreImports) => {
    const instance = await WebAssembly.instantiate(module, coreImports);
    memories.push(...Object.values(instance.exports).filter((item) => item instanceof WebAssembly.Memory));
    return instance;
  });
  return { analyzer, memories };
}

async function coreModule(name) {
  return WebAssembly.compile(await readFile(new URL(`../generated/${name}`, import.meta.url)));
}
