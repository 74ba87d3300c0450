"""The usual repair of a client that loses documents: repair.py URL DOCUMENTS IN_FLIGHT PACE

Waits as long as Retry-After says, or 60 s, and up to 2 s more; five attempts; a pace between requests, since it knows the limit.
Writes what was answered, and how many refusals it saw.
"""

import json
import os
import random
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime


class Pace:
    """Lets one request go every so often."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = time.monotonic()
        self._lock = threading.Lock()

    def wait(self) -> None:
        with self._lock:
            now = time.monotonic()
            at = max(self._next, now)
            self._next = at + self._seconds
        time.sleep(at - now)


def is_answered(url: str, pace: Pace, refusals: list[int]) -> bool:
    for _ in range(ATTEMPTS):
        pace.wait()
        try:
            with OPENER.open(request(url), timeout=60) as response:
                response.read()
            return True
        except urllib.error.HTTPError as error:
            refusals.append(error.code)
            time.sleep(hinted(error.headers.get("retry-after")) + random.uniform(0, JITTER_SECONDS))
    return False


def request(url: str) -> urllib.request.Request:
    message = {"role": "user", "content": "Analyze this document: Some text."}
    body = json.dumps({"model": "some-model", "messages": [message], "max_tokens": 512}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    return urllib.request.Request(f"{url}/chat/completions", body, headers)


def hinted(value: str | None) -> float:
    """Seconds until the next attempt."""
    if value is None:
        return FALLBACK_SECONDS
    if value.isdigit():
        return float(value)
    return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())


def main(url: str, documents: int, in_flight: int, pace: Pace) -> None:
    refusals: list[int] = []
    with ThreadPoolExecutor(in_flight) as pool:
        answered = sum(pool.map(lambda _: is_answered(url, pace, refusals), range(documents)))
    print(json.dumps({"answered": answered, "refusals": len(refusals)}))


ATTEMPTS = 5
FALLBACK_SECONDS = 60.0
JITTER_SECONDS = 2.0
# Without proxies: the server is on this machine.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Pace(float(sys.argv[4])))
