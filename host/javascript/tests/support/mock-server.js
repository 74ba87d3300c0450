// becalm's own rate-limited server as a process, for as long as a test takes.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

assert(process.env.BECALM, "BECALM has to name the program");

/** Allows ten requests in any two seconds, or another window. Ends with the test. */
export async function mockServer(test, { latency = "20ms", window = "2s" } = {}) {
  const flags = ["--window", window, "--latency", latency, "--port", "0"];
  const server = spawn(process.env.BECALM, ["mock-server", ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  const end = () => server.kill();
  process.once("exit", end);
  test.after(() => {
    process.off("exit", end);
    end();
  });
  const [baseUrl] = await once(createInterface(server.stdout), "line");
  return { baseUrl, stats: async () => (await fetch(`${baseUrl}/stats`)).json() };
}

// A runner that gives up asks for an end, and without this the server would outlive it.
process.once("SIGTERM", () => process.exit(1));
