"""Two kinds of server: becalm's own, which limits, and one that answers with what a test tells it to."""

import json
import subprocess
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class MockServer:
    """`becalm mock-server`, while the `with` statement lasts."""

    def __init__(self, program: str, window: str = "2s") -> None:
        self._command = [program, "mock-server", "--window", window, "--latency", "20ms", "--port", "0"]

    def __enter__(self) -> "MockServer":
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().strip()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate(timeout=10)

    def stats(self) -> dict[str, int]:
        with urllib.request.urlopen(f"{self.base_url}/stats", timeout=5) as answer:
            counts: dict[str, int] = json.load(answer)
            return counts


COMPLETION = json.dumps(
    {
        "choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 1},
    }
)


@dataclass(frozen=True)
class Reply:
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = COMPLETION


@dataclass(frozen=True)
class Received:
    headers: Mapping[str, str]
    body: Any
    connection: tuple[str, int]
    """The client's address and port."""


class Server(ThreadingHTTPServer):
    # Room for every connection that a test opens at once: one that finds none comes back after a second.
    request_queue_size = 64


class Endpoint:
    """Keeps what it received, and answers each request with what `reply` says."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.reply: Callable[[], Reply] = Reply
        self._server = Server(("127.0.0.1", 0), self._handler())
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def replies(self, *replies: Reply) -> None:
        """These in their order, then plain completions."""
        left = list(replies)
        self.reply = lambda: left.pop(0) if left else Reply()

    def __enter__(self) -> "Endpoint":
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                endpoint.received.append(Received(headers, body, self.client_address))
                self.send(endpoint.reply())

            def send(self, reply: Reply) -> None:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body.encode())))
                self.end_headers()
                self.wfile.write(reply.body.encode())

            def log_message(self, *_: object) -> None:
                pass

        return Handler
