"""All that can be set. There are no defaults here: start from `Sandbox.default_settings`, which asks the component."""

from dataclasses import dataclass, field, replace

from .limits import Rate
from .time import Milliseconds


@dataclass(frozen=True, slots=True)
class Header:
    """One header field."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the requests go."""

    base_url: str
    # Not in the representation, and so not in logs: the API key is among them.
    headers: tuple[Header, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Chat:
    """What is asked of the model, for documents given as `Text`."""

    model: str
    system_prompt: str | None
    prompt_template: str
    max_tokens: int | None
    temperature: float | None
    extra: str | None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may go out."""

    max_in_flight: int
    rates: tuple[Rate, ...]
    pace: Milliseconds


@dataclass(frozen=True, slots=True)
class Retry:
    """What happens after a refusal or a fault."""

    max_attempts: int
    base: Milliseconds
    cap: Milliseconds
    jitter: Milliseconds
    patience: Milliseconds
    fallback_wait: Milliseconds | None


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long one try may take."""

    connect: Milliseconds
    first_byte: Milliseconds
    between_bytes: Milliseconds
    whole_request: Milliseconds


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set; change what differs with `dataclasses.replace`."""

    endpoint: Endpoint
    chat: Chat
    limits: Limits
    retry: Retry
    timeouts: Timeouts
    seed: int | None
    trace: bool

    def to(self, base_url: str, model: str, api_key: str | None = None) -> "Settings":
        """The same for this endpoint, model and key, which goes out as a bearer token."""
        authorization = () if api_key is None else (Header("authorization", f"Bearer {api_key}"),)
        endpoint = Endpoint(base_url, self.endpoint.headers + authorization)
        return replace(self, endpoint=endpoint, chat=replace(self.chat, model=model))
