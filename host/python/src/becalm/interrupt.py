"""Ctrl-C while a session is at work: the first asks it to stop, and only a second one breaks it off.

`asyncio.Runner` takes it the same way. A `KeyboardInterrupt` that came between the component's answer and the loop that waits
for it would lose outcomes that are paid for.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType


class Interrupt:
    """Handles SIGINT from `begin` to `end`, in the main thread, unless the program has a handler of its own."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self.came = False
        self._stop = stop
        self._before: Callable[[int, FrameType | None], object] | None = None

    def begin(self) -> None:
        handler = signal.getsignal(signal.SIGINT)
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and callable(handler) and (handler is signal.default_int_handler or is_ours(handler)):
            self._before = handler
            signal.signal(signal.SIGINT, self._hear)

    def end(self) -> None:
        if self._before is not None and signal.getsignal(signal.SIGINT) == self._hear:
            signal.signal(signal.SIGINT, self._before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        self._stop()
        # The session around this one has to hear it too.
        if self._before is not None and is_ours(self._before):
            self._before(number, frame)


def is_ours(handler: object) -> bool:
    return isinstance(getattr(handler, "__self__", None), Interrupt)
