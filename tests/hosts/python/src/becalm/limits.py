"""What a limit is: so much per window, and where that was learnt. Settings give some, status and report tell all."""

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
class Limit:
    """A limit and where it was learnt."""

    rate: Rate
    source: LimitSource
