"""What happens on the way: a class for each case, to `match` on, and where a session stands."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .limits import Limit, Rate
from .outcomes import Failed, Outcome
from .settings import Header
from .time import EpochMilliseconds, Milliseconds

PauseReason: TypeAlias = Literal["refused", "limit", "pace", "back-off"]
"""
- `refused`: The endpoint refused a request: until the time that it says, or until the next look.
- `limit`: A limit's window is full.
- `pace`: `Limits.pace`.
- `back-off`: Faults: one holds all (see `Faulted`), or all documents that are left back off.
"""


@dataclass(frozen=True, slots=True)
class Paused:
    """Nothing will be sent for a second or more."""

    until: EpochMilliseconds
    reason: PauseReason
    limit: Rate | None
    """The limit that is waited for, if it is known or believed."""


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
    """Header name, lower case, or `body`."""
    value: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A request was refused; its document will go again."""

    id: str
    status: int
    wait: Milliseconds
    """Nothing is sent for this long. A document that is refused again and again while others are answered
    waits longer than the others, who wait for the hint, and ever longer; in the end it fails."""
    jitter: Milliseconds
    """The part of `wait` that is jitter; the rest is what `source` says."""
    source: str
    """Where the wait comes from: a header name, lower case, `body`, `fallback-wait`, `probe` (nobody says how
    long, so one request looks: soon, and then ever later, or where a usual window ends), `max-in-flight` (the
    endpoint says that too many are on the wire: until one of them ends) or `back-off` (longer than the hint,
    which was obeyed and was too short, or shorter than another one; or for this document alone)."""
    message: str
    """What the endpoint says about it: the message of its error, at most 300 characters; empty if it says nothing."""
    headers: tuple[Header, ...]
    """All header fields of the refusal, in their order."""


@dataclass(frozen=True, slots=True)
class Faulted:
    """A try ended in a fault; its document will go again."""

    id: str
    status: int | None
    """HTTP status; `None` where no answer came."""
    reached: bool
    """Whether the request was sent as far as is known: then it may have been charged. One that found no connection was
    not."""
    message: str
    """What happened."""
    wait: Milliseconds
    """This document is not sent for this long, or nothing where it holds all."""
    jitter: Milliseconds
    """The part of `wait` that is jitter; the rest is the hint, or nothing where there was none."""
    source: str
    """Where the wait comes from: a header name, lower case, `body`, or `back-off`."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request went out. Only with `Settings.trace`."""

    id: str
    attempt: int
    """1 for the first try."""
    in_flight: int
    """Requests on the wire, this one included."""


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
    """Not sent yet, or to be sent again."""
    in_flight: int
    unheard: int
    """Events that `next` has not handed out yet. With nothing queued and nothing in flight either, all is done."""
    answered: int
    failed: int
    postponed: int
    refusals: int
    """Refused requests so far."""
    paused: Paused | None
    """The pause that is on now."""
    limits: tuple[Limit, ...]
    """All limits that are known or believed now."""
