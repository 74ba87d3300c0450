"""One run: a client brings a batch home through a limiter that was started for it alone."""

import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass

from bounds import Job
from clients import IN_FLIGHT, Batch, Client
from limiters import Limiter
from processes import pause, running
from servers import Place, serving


@dataclass(frozen=True)
class Run:
    """How it went."""

    client: str
    limiter: str
    documents: int
    answered: int
    refusals: int
    seconds: float
    bound: float
    is_finished: bool
    """Or it was ended, because it was hopelessly late."""
    admitted: int | None
    """Requests that the upstream saw; absent if the limiter answers by itself."""

    @property
    def lost(self) -> int:
        return self.documents - self.answered

    @property
    def efficiency(self) -> float:
        """Bound by time; nothing if a document was lost, since losing them is quick."""
        return 0.0 if self.lost else self.bound / self.seconds

    def row(self) -> str:
        """Of the table."""
        efficiency = "–" if self.lost else f"{self.efficiency:.2f}"
        return (
            f"| {self.limiter} | {self.documents} | {self.answered} | {self.lost} | {self.refusals} "
            f"| {self.seconds:.1f} | {self.bound:.1f} | {efficiency} |"
        )


def bound_of(limiter: Limiter, documents: int, started: float) -> float:
    """The best possible time of a batch that began then."""
    job = Job(documents, IN_FLIGHT, limiter.latency, started)
    return max(limiter.bound(job), job.rounds(documents))


def middle(runs: list[Run]) -> Run:
    """Of an odd number of runs the one that is neither among the best nor among the worst."""
    return sorted(runs, key=lambda run: (run.efficiency, -run.refusals))[len(runs) // 2]


def measured(client: Client, limiter: Limiter, documents: int, place: Place) -> Run:
    """Starts the limiter, and runs the client until it is done or hopelessly late."""
    place.folder.mkdir(parents=True)
    with serving(limiter.recipe, limiter.latency, place) as served:
        command = client.command(place, Batch(served.url, documents, limiter))
        if limiter.begins_at is not None:
            pause((limiter.begins_at - time.time()) % 60)
        started, began = time.time(), time.monotonic()
        bound = bound_of(limiter, documents, started)
        with running(command, place.folder, environment(place), "client") as process:
            is_finished = ends_within(process, client.patience * bound + PATIENCE_SECONDS)
            seconds = time.monotonic() - began
        admitted = served.admitted()
    told = client.told(place, limiter)
    how = (told.answered, told.refusals, seconds, bound, is_finished, admitted)
    return Run(client.name, limiter.name, documents, *how)


def ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def environment(place: Place) -> Mapping[str, str]:
    """A key, a compiled component that is used again, and no way to a proxy."""
    ours = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
    return {**ours, "OPENAI_API_KEY": place.key, "BECALM_CACHE": str(place.installed / "cache")}


# Beside the bounds that a client is given.
PATIENCE_SECONDS = 60
