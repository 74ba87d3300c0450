"""The clients that are measured, each in a process of its own: how it is started, and what it says of its batch afterwards."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

from limiters import Limiter
from servers import HERE, Place


@dataclass(frozen=True)
class Batch:
    """What a client is told."""

    url: str
    documents: int
    limiter: Limiter


@dataclass(frozen=True)
class Told:
    """What it says afterwards."""

    answered: int = 0
    refusals: int = 0


@dataclass(frozen=True)
class Client:
    """One client."""

    name: str
    command: Callable[[Place, Batch], list[str]]
    told: Callable[[Place, Limiter], Told]
    patience: float
    """How many bounds it may take, and a minute, before it is ended."""


def becalm_command(place: Place, batch: Batch) -> list[str]:
    documents = place.folder / "documents.jsonl"
    lines = (json.dumps({"id": f"document-{n}", "text": "Some text."}) + "\n" for n in range(1, batch.documents + 1))
    documents.write_text("".join(lines))
    endpoint = ["--base-url", batch.url, "--model", "some-model", "--max-in-flight", str(IN_FLIGHT)]
    return [place.becalm, "run", "-q", *endpoint, "-o", "results.jsonl", "--events", "events.jsonl", str(documents)]


def becalm_told(place: Place, limiter: Limiter) -> Told:
    """The log may end in the middle of a line, if the run had to be ended."""
    path = place.folder / "events.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    events = [json.loads(line) for line in lines if line.endswith("}")]
    answered = sum(event["event"] == "outcome" and event["outcome"] == "answered" for event in events)
    refused = sum(event["event"] in ("refused", "faulted") and event["status"] == limiter.status for event in events)
    return Told(answered, refused)


def script(name: str, python: str) -> Client:
    """A script beside this file, which is given URL, documents, requests in flight and pace, and writes a line of JSON."""

    def command(place: Place, batch: Batch) -> list[str]:
        program = python.replace("@installed@", str(place.installed))
        given = (batch.url, batch.documents, IN_FLIGHT, batch.limiter.pace)
        return [program, str(HERE / "others" / f"{name}.py"), *map(str, given)]

    def told(place: Place, _limiter: Limiter) -> Told:
        said = (place.folder / "client.out").read_text()
        return Told(**json.loads(said)) if said else Told()

    return Client(name, command, told, patience=20)


IN_FLIGHT = 8
BECALM = Client("becalm", becalm_command, becalm_told, patience=2)
OTHERS = [script("openai_python", "@installed@/others/bin/python"), script("repair", sys.executable)]
