"""All that can be set. There are no defaults here: start from `Sandbox.settings`, which asks the component. Those that the
docstrings name are the contract's, word for word; a test holds them equal."""

import re
from dataclasses import dataclass, field, replace

from .errors import SettingsError
from .limits import Rate
from .time import Milliseconds


@dataclass(frozen=True, slots=True)
class Header:
    """One header field."""

    name: str
    """Case does not matter."""
    value: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the requests go."""

    base_url: str
    """`http://` or `https://`, host, optional port and path, up to and without `/chat/completions`; a slash
    at the end does no harm. A query stays at the end of the address (`?api-version=…`). Default: empty, which is refused."""
    # Not in the representation, and so not in logs: the API key is among them.
    headers: tuple[Header, ...] = field(repr=False)
    """Sent with every request, after `content-type` and `content-length`. Default: none. A name that is no
    HTTP token, or a value with control characters, is refused. The API key does not belong here: it would be
    visible in the sandbox."""


@dataclass(frozen=True, slots=True)
class Chat:
    """What is asked of the model, for documents given as `Text`."""

    model: str
    """The model's name as the endpoint knows it. Default: empty, which is refused when a `Text` is
    submitted."""
    system_prompt: str | None
    """The system message. Default: "You are a document analyst."; `None`: no system message."""
    prompt_template: str
    """The user message; `{text}` stands for the document and must occur. Default: "Analyze this document:",
    an empty line, `{text}`."""
    max_tokens: int | None
    """`max_tokens` of the request, at least 1. Default: 512; `None`: not sent, the endpoint decides."""
    temperature: float | None
    """`temperature`, 0 to 2. Default: `None`, the endpoint decides."""
    extra: str | None
    """A JSON object whose members are added to the request body and win over the ones above, such as
    `{"top_p":0.9}`. Default: `None`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may go out."""

    max_in_flight: int
    """Requests on the wire at one time, 1 to 10,000. Default: 8. A document that waits holds no place."""
    rates: tuple[Rate, ...]
    """Limits that are known beforehand; all of them hold. Default: none, that is learnt from headers and
    refusals. At most 16."""
    pace: Milliseconds
    """Least time between the starts of two requests, at most a day. Default: 0, no pace."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What happens after a refusal or a fault."""

    max_attempts: int
    """Tries of one document that may end in a fault, the first included, 1 to 1,000. Default: 5. None is used
    up by a refusal (HTTP 429), by a fault that holds all (see `Faulted`) once the endpoint has answered or
    where it says how long, and by a 503 in the ten minutes after the document's first."""
    base: Milliseconds
    """First step of the back-off after faults: U(0, min(cap, base * 2^n)), "full jitter", or the hint where
    that is longer. 1 ms to 1 day. Default: 1 s."""
    cap: Milliseconds
    """Longest step of the back-off, from `base` to 1 day. Default: 60 s."""
    jitter: Milliseconds
    """Spread added on top of a hinted wait after a refusal, U(0, jitter), at most a quarter of a short hint;
    never subtracted. At most 1 day. Default: 2 s."""
    patience: Milliseconds
    """The longest wait for the next request, and the longest time of refusals, or of faults that hold all,
    without one answer; what would wait longer ends as `postponed`. 1 ms to 31 days. Default: 1 h."""
    fallback_wait: Milliseconds | None
    """The wait after a refusal that carries no hint: it is taken for the hint. At most 1 day. Default:
    `None`, that is one request looks, soon and then ever later (`probe`, see `Refused`)."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long one try may take."""

    connect: Milliseconds
    """Name lookup, TCP and TLS. Default: 10 s."""
    first_byte: Milliseconds
    """From the request's end to the first byte of the answer. Default: 10 min."""
    between_bytes: Milliseconds
    """Between two pieces of the answer. Default: 60 s."""
    whole_request: Milliseconds
    """From the start of a try to its end. Default: 15 min."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set; change what differs with `dataclasses.replace`."""

    endpoint: Endpoint
    chat: Chat
    limits: Limits
    retry: Retry
    timeouts: Timeouts
    seed: int | None
    """Seed of jitter and back-off. Default: `None`, that is drawn from `wasi:random`. With a seed and the
    same replies at the same times, two runs are identical."""
    trace: bool
    """Report every request with a `Sent` event too. Default: false."""

    def to(self, base_url: str, model: str, api_key: str | None = None) -> "Settings":
        """The same for this endpoint, model and key, which goes out as a bearer token; without one, or with an empty one, none
        goes out.

        Raises `SettingsError` if the key has spaces, line ends or other signs that no header can carry.
        """
        endpoint = Endpoint(base_url, self.endpoint.headers + authorization(api_key))
        return replace(self, endpoint=endpoint, chat=replace(self.chat, model=model))


def authorization(api_key: str | None) -> tuple[Header, ...]:
    # Files and shells leave white space around a key.
    key = (api_key or "").strip()
    if not key:
        return ()
    if re.fullmatch(r"[\x21-\x7e]+", key) is None:
        # The key itself is not named.
        message = "the key cannot be sent in a header\nhint: look for line ends and stray characters in it"
        raise SettingsError("endpoint.headers", message)
    return (Header("authorization", f"Bearer {key}"),)
