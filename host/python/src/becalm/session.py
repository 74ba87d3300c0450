"""A batch that is fed and pulled: documents are submitted, events come out, the outcome of each document among them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from threading import Lock
from typing import Any

from wasmtime.component import ResourceAny

from .documents import Document
from .events import Event, Status
from .instance import Instance
from .interrupt import Interrupt
from .lift import lift_event, lift_status, lift_submitted
from .lower import lower_document
from .outcomes import Outcome
from .time import Milliseconds


class Session:
    """Opened by `Sandbox.open`. `submit`, then iterate, and submit more on the way if there is more.

    It sends only while `next` or an iteration runs. What was told and is not yet handed over is kept: a loop that is left
    by `break` or by an exception loses nothing, the next one goes on where it ended. Leaving the `with` statement ends
    requests that are on the wire.

    Ctrl-C inside the `with` statement stops the session as `stop` does, so its loop ends with the last outcome;
    `KeyboardInterrupt` is raised when the statement is left, or at once by a second Ctrl-C. That holds in the main thread
    and where the program has no handler of its own.

    It belongs to one thread at a time, others wait for their turn; only `stop` may come from anywhere.
    """

    def __init__(self, instance: Instance, resource: ResourceAny) -> None:
        self._instance = instance
        self._resource = resource
        self._turn = Lock()
        self._stop_wanted = False
        self._interrupt = Interrupt(self.stop)
        self._pulled: deque[Event] = deque()

    def submit(self, documents: Iterable[Document]) -> None:
        """Adds documents at the end of the queue.

        Raises `DuplicateId` or `Stopped`; then none of them was taken.
        """
        lift_submitted(self._call("submit", [lower_document(document) for document in documents]))

    def outcomes(self) -> Iterator[Outcome]:
        """The outcomes alone, as they come, one for every document that was submitted."""
        for event in self:
            if isinstance(event.what, Outcome):
                yield event.what

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

    def _goes_on(self) -> bool:
        """Pulls for a moment; false when every document has its outcome, and that was told."""
        self._pull(STEP)
        return bool(self._pulled) or not self._is_done()

    def _pull(self, wait: Milliseconds) -> None:
        self._pulled.extend(map(lift_event, self._call("next", wait)))

    def _is_done(self) -> bool:
        status = self.status()
        return status.queued == 0 and status.in_flight == 0

    def _call(self, name: str, *arguments: Any) -> Any:
        with self._turn:
            if self._stop_wanted:
                self._stop_wanted = False
                self._instance.call("[method]session.stop", self._resource)
            return self._instance.call(f"[method]session.{name}", self._resource, *arguments)


STEP: Milliseconds = 500
"""How long an iteration is inside the component at a time. Python hears signals in between."""
