"""Processes that end: each with the block that started it, and all of them when the suite is stopped."""

import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


class Stopped(Exception):
    """The suite is being stopped; nothing is started any more."""


@contextmanager
def running(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], name: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a command in a folder, which gets what it says as `name`.out and `name`.err."""
    with open(folder / f"{name}.out", "wb") as output, open(folder / f"{name}.err", "wb") as errors:
        with _lock:
            if _is_stopping.is_set():
                raise Stopped
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
            )
            _alive.add(process)
    try:
        yield process
    finally:
        _end(process)
        with _lock:
            _alive.discard(process)


def pause(seconds: float) -> None:
    """Sleeps, but not when the suite is stopped."""
    if _is_stopping.wait(seconds):
        raise Stopped


def stop_all() -> None:
    """Ends all there are; whoever waits for one of them goes on."""
    with _lock:
        _is_stopping.set()
        for process in _alive:
            process.kill()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


_lock = threading.Lock()
_is_stopping = threading.Event()
_alive: set[subprocess.Popen[bytes]] = set()

GRACE_SECONDS = 5
