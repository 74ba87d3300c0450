"""What a limit is: so much per window or at one time, and where that was learnt. Settings give some, status and report
tell all."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .time import Milliseconds

Unit: TypeAlias = Literal["requests", "tokens"]

LimitSource: TypeAlias = Literal["settings", "headers", "refusals"]


@dataclass(frozen=True, slots=True)
class Rate:
    """So much in any window of that length."""

    unit: Unit
    amount: int
    window: Milliseconds


@dataclass(frozen=True, slots=True)
class InFlight:
    """So many requests at one time."""

    requests: int


Admits: TypeAlias = Rate | InFlight


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit and where it was learnt. From 3 cycles on, one from refusals is worth setting next time."""

    admits: Admits
    source: LimitSource
    cycles: int
