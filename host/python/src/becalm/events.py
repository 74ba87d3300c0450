"""What happens on the way: a class for each case, to `match` on, and where a session stands."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .limits import Limit, Rate
from .outcomes import Failed, Outcome
from .settings import Header
from .time import EpochMilliseconds, Milliseconds

PauseReason: TypeAlias = Literal["refused", "limit", "pace", "back-off"]


@dataclass(frozen=True, slots=True)
class Paused:
    """Nothing will be sent for a second or more."""

    until: EpochMilliseconds
    reason: PauseReason
    limit: Rate | None


@dataclass(frozen=True, slots=True)
class Resumed:
    """The pause is over: a request goes out."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """A limit became known or believed, or surer, or is another now."""

    limit: Limit


@dataclass(frozen=True, slots=True)
class HintIgnored:
    """A wait or limit that the endpoint stated could not be read."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A request was refused; its document will go again."""

    id: str
    status: int
    wait: Milliseconds
    jitter: Milliseconds
    source: str
    headers: tuple[Header, ...]


@dataclass(frozen=True, slots=True)
class Faulted:
    """A try ended in a fault; its document will go again."""

    id: str
    status: int | None
    message: str
    wait: Milliseconds
    jitter: Milliseconds
    source: str


@dataclass(frozen=True, slots=True)
class Sent:
    """A request went out. Only with `Settings.trace`."""

    id: str
    attempt: int
    in_flight: int


@dataclass(frozen=True, slots=True)
class Halted:
    """A failure that would hit every document: what has not been sent is postponed."""

    failure: Failed


Happening: TypeAlias = (
    Outcome | Paused | Resumed | Learnt | HintIgnored | Refused | Faulted | Sent | Halted
)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""

    at: EpochMilliseconds
    what: Happening


@dataclass(frozen=True, slots=True)
class Status:
    """Where a session stands."""

    queued: int
    in_flight: int
    answered: int
    failed: int
    postponed: int
    refusals: int
    paused: Paused | None
    limits: tuple[Limit, ...]
