"""Starts a limiter in a folder of its own, with an upstream behind it, on free ports of the loopback interface."""

import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from processes import running


@dataclass(frozen=True)
class Recipe:
    """How a limiter is started. `@name@` stands for a value: those given, and port, upstream (its port), here (this folder),
    installed (what `install` filled) and folder (the limiter's own, in which it runs)."""

    needs: str
    """What has to be in the folder of `install`, or the limiter is left out."""
    command: tuple[str, ...]
    files: tuple[str, ...] = ()
    """Of this folder, ending in `.in`: copied into the limiter's own, with their values filled in."""
    values: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    has_upstream: bool = True
    """Or it answers by itself what it admits."""


@dataclass(frozen=True)
class Place:
    """Where things are."""

    becalm: str
    installed: Path
    folder: Path
    key: str


@dataclass(frozen=True)
class Served:
    """What serves."""

    url: str
    upstream: int | None

    def admitted(self) -> int | None:
        """How many requests came through to the upstream, if there is one."""
        if self.upstream is None:
            return None
        # Without proxies: it is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.upstream}/v1/stats", timeout=10) as response:
            return int(json.load(response)["received"])


@contextmanager
def serving(recipe: Recipe, latency: float, place: Place) -> Iterator[Served]:
    """Serves until the block ends. A port that was free can be taken a moment later; then another is tried."""
    with ExitStack() as stack:
        upstream = stack.enter_context(upstream_serving(latency, place)) if recipe.has_upstream else None
        for tries_left in reversed(range(TRIES)):
            attempt = stack.enter_context(ExitStack())
            try:
                port = _start(recipe, upstream, place, attempt)
                break
            except ServerFailed:
                attempt.close()
                if tries_left == 0:
                    raise
        yield Served(f"http://127.0.0.1:{port}/v1", upstream)


class ServerFailed(Exception):
    """A server did not start."""


@contextmanager
def upstream_serving(latency: float, place: Place) -> Iterator[int]:
    """becalm's own server without a limit, which chooses its port and says it."""
    command = [place.becalm, "mock-server", "--limiter", "none", "--latency", f"{round(latency * 1000)}ms"]
    with running(command, place.folder, os.environ, "upstream") as process:
        said = place.folder / "upstream.out"
        _wait_until(lambda: "\n" in said.read_text(), process, said)
        found = re.search(r":(\d+)", said.read_text())
        if not found:
            raise ServerFailed(f"see {said}")
        yield int(found[1])


def _start(recipe: Recipe, upstream: int | None, place: Place, stack: ExitStack) -> int:
    port = _free_port()
    values = {
        **recipe.values,
        "port": str(port),
        "upstream": str(upstream),
        "here": str(HERE),
        "installed": str(place.installed),
        "folder": str(place.folder),
    }
    for name in recipe.files:
        (place.folder / Path(name).stem).write_text(_filled((HERE / name).read_text(), values))
    environment = {**os.environ, **recipe.environment, "LITELLM_MASTER_KEY": place.key}
    command = [_filled(word, values) for word in recipe.command]
    process = stack.enter_context(running(command, place.folder, environment, "limiter"))
    _wait_until(lambda: _is_listening(port), process, place.folder / "limiter.err")
    return port


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"@(\w+)@", lambda found: values.get(found[1], found[0]), text)


def _wait_until(is_ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while not is_ready():
        if process.poll() is not None or time.monotonic() > end:
            raise ServerFailed(f"see {log}")
        time.sleep(0.05)
    # Else it was someone else who listens.
    if process.poll() is not None:
        raise ServerFailed(f"see {log}")


def _free_port() -> int:
    """One that nobody has. None is given twice: of two servers that start at once on one port, the second would seem to be
    ready as soon as the first is."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        with _lock:
            if port not in _given:
                _given.add(port)
                return port


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


_lock = threading.Lock()
_given: set[int] = set()

HERE = Path(__file__).resolve().parent
TRIES = 3
# LiteLLM's proxy takes 7 s by itself, and several start at a time.
START_SECONDS = 120
