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

PostponeReason: TypeAlias = Literal["patience", "stopped", "halted"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as counted by the endpoint."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A completion. `body` is the answer as it came, JSON."""

    text: str | None
    finish_reason: str | None
    note: str | None
    usage: Usage | None
    status: int
    request_id: str | None
    body: str


@dataclass(frozen=True, slots=True)
class Failed:
    """It will not be answered by trying again. `message` says what to change."""

    kind: FailureKind
    message: str
    status: int | None
    request_id: str | None
    body: str | None


@dataclass(frozen=True, slots=True)
class Postponed:
    """A later run can bring it home: from `until` on, or at any time."""

    reason: PostponeReason
    until: EpochMilliseconds | None
    message: str


Verdict: TypeAlias = Answered | Failed | Postponed


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a document."""

    id: str
    verdict: Verdict
    attempts: int
    refusals: int
    waited: Milliseconds


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a batch: one outcome per document, in their order."""

    outcomes: tuple[Outcome, ...]
    limits: tuple[Limit, ...]
    refusals: int
    elapsed: Milliseconds
    halted: Failed | None
