// The package as a user gets it: installed into an empty project, where the README's example brings a batch home. Run by
// `npm run installed`: what it takes from the registry may take its time.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { text } from "node:stream/consumers";

import { mockServer } from "./support/mock-server.js";

const { BECALM_CHECKOUT: checkout, BECALM_TARBALL: tarball } = process.env;
let project;

before(async () => {
  project = await mkdtemp(join(tmpdir(), "becalm-"));
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  // A package that needs a script to be installed would not do everywhere.
  finished("npm", "install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", tarball);
  const [, example] = /```js\n(.*?)```/s.exec(await readFile(join(checkout, "host/javascript/README.md"), "utf8"));
  await writeFile(join(project, "example.js"), example);
});

after(() => rm(project, { recursive: true }));

test("the example brings twenty documents home", async (t) => {
  const { baseUrl, stats } = await mockServer(t, { window: "1s" });
  const { printed, code } = await example({ OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: "some-key" });
  assert.deepEqual(ids(printed, / Analysed/), everyId);
  assert.equal(code, 0);
  assert.equal((await stats()).answered, 20);
});

test("Ctrl-C ends the example with an outcome for each of its documents", async (t) => {
  const { baseUrl, stats } = await mockServer(t, { window: "1s" });
  const { printed } = await example({ OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: "some-key" }, (child) => child.kill("SIGINT"));
  assert.deepEqual(ids(printed, / /), everyId);
  const answered = ids(printed, / Analysed/).length;
  assert(answered < 20, "it came too late");
  assert.equal((await stats()).answered, answered);
});

test("its types come with it", async () => {
  for (const file of ["consumer.ts", "tsconfig.json"]) await copyFile(new URL(file, import.meta.url), join(project, file));
  finished(process.execPath, createRequire(import.meta.url).resolve("typescript/bin/tsc"), "--project", project);
});

test("its version is the workspace's, and both licences are in it", async () => {
  const installed = join(project, "node_modules/becalm");
  const { version } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
  assert.equal(version, /^version = "(.*)"$/m.exec(await readFile(join(checkout, "Cargo.toml"), "utf8"))[1]);
  for (const licence of ["LICENSE-MIT", "LICENSE-APACHE"]) {
    assert.equal(await readFile(join(installed, licence), "utf8"), await readFile(join(checkout, licence), "utf8"));
  }
});

const everyId = Array.from({ length: 20 }, (_, number) => number);

/** Of the lines that go on like this, in their order. */
function ids(printed, rest) {
  const lines = printed.matchAll(new RegExp(`^document (\\d+)${rest.source}`, "gm"));
  return Array.from(lines, ([, id]) => Number(id)).sort((one, other) => one - other);
}

/** What it prints; `onOutput` is called when that begins. */
async function example(environment, onOutput = () => {}) {
  const child = spawn(process.execPath, ["example.js"], {
    cwd: project,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout.once("data", () => onOutput(child));
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return { printed, code };
}

function finished(...[program, ...values]) {
  const { status, stdout, stderr } = spawnSync(program, values, { cwd: project, encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
}
