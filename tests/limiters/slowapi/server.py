"""Chat completions behind slowapi, 10 per 5 s: server.py PORT STRATEGY

STRATEGY is one of the package limits: fixed-window, moving-window, sliding-window-counter.
"""

import asyncio
import sys

import uvicorn
from fastapi import FastAPI, Request, Response
from slowapi import Limiter, _rate_limit_exceeded_handler
from slowapi.errors import RateLimitExceeded
from slowapi.util import get_remote_address

port, strategy = sys.argv[1:]
limiter = Limiter(key_func=get_remote_address, strategy=strategy, headers_enabled=True)
app = FastAPI()
app.state.limiter = limiter
app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)


@app.post("/v1/chat/completions")
@limiter.limit("10/5seconds")
async def complete(request: Request, response: Response) -> dict[str, object]:
    await asyncio.sleep(LATENCY_SECONDS)
    return ANSWER


LATENCY_SECONDS = 0.05
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "some-model",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Fine."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22},
}

uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning")
