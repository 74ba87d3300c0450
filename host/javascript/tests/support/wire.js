// An endpoint that does what a test asks for: keeps the key that came, repeats it, breaks connections, takes its time. In a
// thread of its own, because tests that look into the sandbox block theirs.

import { once } from "node:events";
import { createServer } from "node:http";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

/** How requests are answered: `echo` the key in header and body, `break` the first connection, `think` before, or `refuse` it. */
export async function wire(test, manner) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { manner } });
  test.after(() => worker.terminate());
  const [origin] = await once(worker, "message");
  return { origin, baseUrl: `${origin}/v1`, seen: async () => (await fetch(`${origin}/seen`)).json() };
}

const manners = {
  echo(key, response) {
    const message = { role: "assistant", content: `your key is ${key}` };
    const body = JSON.stringify({ choices: [{ message, finish_reason: "stop" }] });
    response.writeHead(200, { "content-type": "application/json", "x-request-id": `for ${key}` });
    // Cut in the midst of the key, which then comes in two pieces.
    const half = body.indexOf(key ?? "your key") + 10;
    response.write(body.slice(0, half));
    setTimeout(() => response.end(body.slice(half)), 50);
  },
  break(key, response, number) {
    if (number === 1) response.destroy();
    else manners.echo(key, response);
  },
  refuse(key, response) {
    response.writeHead(401).end();
  },
  think(key, response) {
    setTimeout(() => manners.echo(key, response), 500);
  },
};

function serve({ manner }) {
  const keys = [];
  const server = createServer((request, response) => {
    if (request.url === "/seen") return response.end(JSON.stringify(keys));
    const key = request.headers.authorization ?? null;
    request.resume().on("end", () => manners[manner](key, response, keys.push(key)));
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(`http://127.0.0.1:${server.address().port}`));
}

if (!isMainThread && workerData?.manner) serve(workerData);
