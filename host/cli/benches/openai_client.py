"""The same job with the openai package: openai_client.py INPUT OUTPUT BASE_URL IN_FLIGHT"""

import asyncio
import json
import sys

from openai import AsyncOpenAI


async def main(input_file, output_file, base_url, in_flight):
    client = AsyncOpenAI(base_url=base_url, api_key="none")
    places = asyncio.Semaphore(int(in_flight))
    with open(input_file, encoding="utf-8") as lines, open(output_file, "w", encoding="utf-8") as output:

        async def bring_home(document):
            async with places:
                answer = await client.chat.completions.create(
                    model="m",
                    messages=[
                        {"role": "system", "content": "You are a document analyst."},
                        {"role": "user", "content": f"Analyze this document:\n\n{document['text']}"},
                    ],
                    max_tokens=512,
                )
            output.write(json.dumps({"custom_id": document["id"], "response": answer.model_dump()}) + "\n")
            output.flush()

        await asyncio.gather(*(bring_home(json.loads(line)) for line in lines))


asyncio.run(main(*sys.argv[1:]))
