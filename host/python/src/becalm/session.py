"""A batch that is fed and pulled: documents are submitted, events come out, the outcome of each document among them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from threading import Lock
from time import time_ns
from typing import Any

from wasmtime.component import ResourceAny

from .documents import Document
from .errors import Stopped
from .events import Event, Status
from .instance import Instance
from .interrupt import Interrupt
from .lift import lift_event, lift_status, lift_submitted
from .lower import lower_document
from .outcomes import Outcome, Postponed
from .time import Milliseconds


class Session:
    """Opened by `Sandbox.open`. `analyze` documents, or `submit` them and iterate, and submit more on the way.

    It sends only while `next` or an iteration runs. What was told and is not yet handed over is kept: a loop that is left
    by `break` or by an exception loses nothing, the next one goes on where it ended. Leaving the `with` statement ends
    requests that are on the wire.

    Ctrl-C inside the `with` statement stops the session as `stop` does, so its loop ends with the last outcome;
    `KeyboardInterrupt` is raised when the statement is left, or at once by a second Ctrl-C. That holds in the main thread
    and where the program has no handler of its own.

    It belongs to one thread at a time, others wait for their turn; only `stop` may come from anywhere.
    """

    def __init__(self, instance: Instance, resource: ResourceAny, max_in_flight: int) -> None:
        self._instance = instance
        self._resource = resource
        self._turn = Lock()
        self._stop_wanted = False
        self._takes_more = True
        self._ahead = max(2 * max_in_flight, LEAST_AHEAD)
        self._interrupt = Interrupt(self.stop)
        self._pulled: deque[Event] = deque()

    def submit(self, documents: Iterable[Document]) -> None:
        """Adds documents at the end of the queue.

        Raises `DuplicateId` or `Stopped`; then none of them was taken.
        """
        lift_submitted(self._call("submit", [lower_document(document) for document in documents]))

    def analyze(self, documents: Iterable[Document]) -> Iterator[Outcome]:
        """Submits these documents as there is room for them, and gives the outcomes as they come.

        Of documents that an iterator makes, only so many wait at a time that the endpoint is kept busy: twice as many as may
        be in flight, or 128. After `stop`, or a failure that would hit every document, no more are taken; every document
        that was taken gets its outcome.

        Raises `DuplicateId`; then the documents that were taken with it were not submitted.
        """
        source = iter(documents)
        while self._feed(source) or self._pulled or self._goes_on():
            yield from self._pulled_outcomes()

    def outcomes(self) -> Iterator[Outcome]:
        """The outcomes of all that was submitted, as they come, one for every document."""
        return self.analyze(())

    def __iter__(self) -> Iterator[Event]:
        """All events until every document that was submitted has its outcome."""
        while self._pulled or self._goes_on():
            while self._pulled:
                yield self._pulled.popleft()

    async def __aiter__(self) -> AsyncIterator[Event]:
        """The same with the waiting done in another thread. A task that is cancelled loses nothing either."""
        while bool(self._pulled) or await asyncio.to_thread(self._goes_on):
            while self._pulled:
                yield self._pulled.popleft()

    def next(self, wait: Milliseconds) -> list[Event]:
        """What happened since the last call. Waits for something to happen, at most that long.

        Returns an empty list at once when every document has its outcome. One call returns some 16 MiB at most, the
        rest comes with the next.
        """
        if not self._pulled:
            self._pull(wait)
        return [self._pulled.popleft() for _ in range(len(self._pulled))]

    def stop(self) -> None:
        """Sends nothing more: what is on the wire ends in its own time, the rest is postponed. Iterate on to see it.

        May be called by other threads and signal handlers; it takes hold with the next call, in an iteration within
        half a second.
        """
        self._stop_wanted = True
        self._takes_more = False

    def status(self) -> Status:
        """Where the session stands now. Events that are not yet handed over are counted."""
        return lift_status(self._call("status"))

    def close(self) -> None:
        """Ends the session with all that is on the wire. It cannot be used after that."""
        with self._turn:
            self._instance.close()

    def __enter__(self) -> "Session":
        self._interrupt.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._interrupt.end()
        self.close()
        if self._interrupt.came and kind is None:
            raise KeyboardInterrupt

    def _feed(self, source: Iterator[Document]) -> bool:
        """Whether there was room for documents, and there were some."""
        room = self._ahead - self.status().queued if self._takes_more else 0
        taken = list(islice(source, max(0, room)))
        if taken:
            self._submit_or_put_off(taken)
        return bool(taken)

    def _submit_or_put_off(self, documents: list[Document]) -> None:
        try:
            self.submit(documents)
        except Stopped:
            verdict = HALTED if self._takes_more else STOPPED
            self._takes_more = False
            put_off = (Outcome(document.id, verdict, attempts=0, refusals=0, waited=0) for document in documents)
            self._pulled.extend(Event(time_ns() // 1_000_000, outcome) for outcome in put_off)

    def _pulled_outcomes(self) -> Iterator[Outcome]:
        while self._pulled:
            what = self._pulled.popleft().what
            if isinstance(what, Outcome):
                yield what

    def _goes_on(self) -> bool:
        """Pulls for a moment; false when every document has its outcome, and that was told."""
        self._pull(STEP)
        return bool(self._pulled) or not self._is_done()

    def _pull(self, wait: Milliseconds) -> None:
        self._pulled.extend(map(lift_event, self._call("next", wait)))

    def _is_done(self) -> bool:
        status = self.status()
        return status.queued == 0 and status.in_flight == 0 and status.unheard == 0

    def _call(self, name: str, *arguments: Any) -> Any:
        with self._turn:
            if self._stop_wanted:
                self._stop_wanted = False
                self._instance.call("[method]session.stop", self._resource)
            return self._instance.call(f"[method]session.{name}", self._resource, *arguments)


STEP: Milliseconds = 500
"""How long an iteration is inside the component at a time. Python hears signals in between."""

LEAST_AHEAD = 128
"""From 64 documents that wait the policy sees that there is more to come; so many do still when others have gone out."""

STOPPED = Postponed("stopped", until=None, message="the session was stopped")
HALTED = Postponed("halted", until=None, message="a failure that would hit every document came first")
