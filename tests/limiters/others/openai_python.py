"""The openai package as it comes, so many calls at a time: openai_python.py URL DOCUMENTS IN_FLIGHT PACE

Writes what was answered, and how many refusals it saw. It takes no pace.
"""

import asyncio
import json
import sys
from collections import Counter

import httpx2
import openai


async def main(url: str, documents: int, in_flight: int) -> None:
    statuses: Counter[int] = Counter()

    async def count(response: httpx2.Response) -> None:
        statuses[response.status_code] += 1

    places = asyncio.Semaphore(in_flight)
    transport = openai.DefaultAsyncHttpxClient(event_hooks={"response": [count]})
    async with openai.AsyncOpenAI(base_url=url, http_client=transport) as client:

        async def complete() -> None:
            async with places:
                messages = [{"role": "user", "content": "Analyze this document: Some text."}]
                await client.chat.completions.create(model="some-model", messages=messages, max_tokens=512)

        outcomes = await asyncio.gather(*(complete() for _ in range(documents)), return_exceptions=True)
    answered = sum(outcome is None for outcome in outcomes)
    print(json.dumps({"answered": answered, "refusals": statuses[429] + statuses[503]}))


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
