// Chat completions behind express-rate-limit, 10 per 5 s: node server.js PORT HEADERS
//
// HEADERS is legacy, or a draft of the header fields: draft-6, draft-7, draft-8.

import express from "express";
import { rateLimit } from "express-rate-limit";

const [port, headers] = process.argv.slice(2);
const latency_ms = 50;
const answer = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "some-model",
  choices: [{ index: 0, message: { role: "assistant", content: "Fine." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 },
};

const limiter = rateLimit({
  windowMs: 5_000,
  limit: 10,
  legacyHeaders: headers === "legacy",
  standardHeaders: headers === "legacy" ? false : headers,
});

express()
  .post("/v1/chat/completions", limiter, (_request, response) => {
    setTimeout(() => response.json(answer), latency_ms);
  })
  .listen(Number(port), "127.0.0.1");
