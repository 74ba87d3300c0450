"""A batch that is fed and pulled: documents are submitted, events come out, the outcome of each document among them."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from threading import Lock
from typing import Any

from wasmtime.component import ResourceAny

from .documents import Document
from .events import Event, Status
from .instance import Instance
from .lift import lift_event, lift_status, lift_submitted
from .lower import lower_document
from .time import Milliseconds


class Session:
    """Opened by `Sandbox.open`. `submit`, then iterate, and submit more on the way if there is more.

    It sends only while `next` or an iteration runs. Leaving the `with` statement ends requests that are on the wire. It
    belongs to one thread at a time, others wait for their turn; only `stop` may come from anywhere.
    """

    def __init__(self, instance: Instance, resource: ResourceAny) -> None:
        self._instance = instance
        self._resource = resource
        self._turn = Lock()
        self._stop_wanted = False

    def submit(self, documents: Iterable[Document]) -> None:
        """Adds documents at the end of the queue.

        Raises `DuplicateId` or `Stopped`; then none of them was taken.
        """
        lift_submitted(self._call("submit", [lower_document(document) for document in documents]))

    def next(self, wait: Milliseconds) -> list[Event]:
        """What happened since the last call. Waits for something to happen, at most that long.

        Returns an empty list at once when every document has its outcome. One call returns some 16 MiB at most, the
        rest comes with the next.
        """
        return [lift_event(event) for event in self._call("next", wait)]

    def __iter__(self) -> Iterator[Event]:
        """All events until every document that was submitted has its outcome."""
        while (events := self._step()) is not None:
            yield from events

    async def __aiter__(self) -> AsyncIterator[Event]:
        """The same with the waiting done in another thread."""
        while (events := await asyncio.to_thread(self._step)) is not None:
            for event in events:
                yield event

    def stop(self) -> None:
        """Sends nothing more: what is on the wire ends in its own time, the rest is postponed. Iterate on to see it.

        May be called by other threads and signal handlers; it takes hold with the next call, in an iteration within
        half a second.
        """
        self._stop_wanted = True

    def status(self) -> Status:
        """Where the session stands now."""
        return lift_status(self._call("status"))

    def close(self) -> None:
        """Ends the session with all that is on the wire."""
        with self._turn:
            self._instance.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _step(self) -> list[Event] | None:
        events = self.next(STEP)
        return events or (None if self._is_done() else [])

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
