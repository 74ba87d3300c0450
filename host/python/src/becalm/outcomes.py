"""What comes out: one outcome per document, with one of three verdicts to `match` on, and the report of a batch."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .limits import Limit
from .time import EpochMilliseconds, Milliseconds

FailureKind: TypeAlias = Literal[
    "rejected",
    "unauthorised",
    "not-found",
    "too-large",
    "out-of-credit",
    "unreachable",
    "server-fault",
    "unusable-answer",
    "invalid-document",
]
"""
- `rejected`: The endpoint does not accept the request (400, 422, a redirect and the like), or refused this
  document again and again while others were answered.
- `unauthorised`: The key is missing, wrong or not allowed to do this (401, 403).
- `not-found`: Path or model do not exist there (404, 405, 410).
- `too-large`: The document does not fit: body, context length or token budget.
- `out-of-credit`: No credit or quota left (402, `insufficient_quota`).
- `unreachable`: No answer: connection, TLS, timeout; after `max_attempts` tries where trying again can help.
- `server-fault`: The endpoint's own fault (5xx), after `max_attempts` tries.
- `unusable-answer`: A success that is no completion, after `max_attempts` tries.
- `invalid-document`: The document cannot be made into a request; nothing was sent.
"""

PostponeReason: TypeAlias = Literal["patience", "stopped", "halted"]
"""
- `patience`: The next slot is further away than `patience`, or nothing was answered for as long.
- `stopped`: `stop` was called.
- `halted`: A failure that would hit every document came first: see `halted`.
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as counted by the endpoint."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A completion. `str` gives its text, or the note where it has none."""

    text: str | None
    """The model's text; `None` where it gave none (a refusal, tool calls): see `note`."""
    finish_reason: str | None
    """As the endpoint said it: `stop`, `length`, `content_filter`, `tool_calls`."""
    note: str | None
    """What a reader should know, such as "cut off at max_tokens"; `None` when all is well."""
    usage: Usage | None
    """`None` if the endpoint does not report it."""
    status: int
    """HTTP status, 200 to 299."""
    request_id: str | None
    """`x-request-id` of the answer."""
    body: str
    """The body as it came, JSON."""

    def __str__(self) -> str:
        return (self.note or "") if self.text is None else self.text


@dataclass(frozen=True, slots=True)
class Failed:
    """It will not be answered by trying again. `str` says why, after "failed: "."""

    kind: FailureKind
    message: str
    """What happened and what to change."""
    status: int | None
    """HTTP status of the last try; `None` where no answer came."""
    request_id: str | None
    """`x-request-id` of the last try."""
    body: str | None
    """The last body as it came; `None` where none came."""

    def __str__(self) -> str:
        return f"failed: {self.message}"


@dataclass(frozen=True, slots=True)
class Postponed:
    """A later run can bring it home: from `until` on, or at any time. `str` says why, after "postponed: "."""

    reason: PostponeReason
    until: EpochMilliseconds | None
    """When it can go on; `None`: at any time."""
    message: str
    """In words."""

    def __str__(self) -> str:
        return f"postponed: {self.message}"


Verdict: TypeAlias = Answered | Failed | Postponed


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a document."""

    id: str
    verdict: Verdict
    attempts: int
    """Requests sent for it; 0 if none was."""
    refusals: int
    """How many of them were refused (HTTP 429 and its kin)."""
    waited: Milliseconds
    """Time between the end of a refused or failed try and the start of the next, summed up."""


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a batch: one outcome per document, in their order."""

    outcomes: tuple[Outcome, ...]
    """One per document, in the order of the documents."""
    limits: tuple[Limit, ...]
    """Limits that are known or believed at the end. Worth setting next time are those from `headers`, and
    those from `refusals` with 3 `cycles` or more: a rate in `Limits.rates`, requests at one time as
    `Limits.max_in_flight`."""
    refusals: int
    elapsed: Milliseconds
    halted: Failed | None
    """The failure that ended the batch early."""
