"""What a limit is: so much per window or at one time, and where that was learnt. Settings give some, status and report
tell all."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .time import Milliseconds

Unit: TypeAlias = Literal["requests", "tokens"]
"""
- `requests`
- `tokens`: Prompt tokens, estimated (a token for every four bytes of the request), plus `max_tokens`, until
  the endpoint reports what was taken: more counts at once, less where its headers show that it gives back the
  rest.
"""

LimitSource: TypeAlias = Literal["settings", "headers", "refusals"]
"""
- `settings`: It was set.
- `headers`: The endpoint states it.
- `refusals`: It explains the refusals that were seen, and changes with them.
"""


@dataclass(frozen=True, slots=True)
class Rate:
    """So much in any window of that length."""

    unit: Unit
    amount: int
    """1 to 1,000,000,000 per window."""
    window: Milliseconds
    """1 ms to 31 days."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """So many requests at one time."""

    requests: int


Admits: TypeAlias = Rate | InFlight


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit and where it was learnt. From 3 cycles on, one from refusals is worth setting next time."""

    admits: Admits
    """What the endpoint admits."""
    source: LimitSource
    cycles: int
    """How many cycles in a row agree with it, if it was learnt from refusals: from 3 on it is worth setting
    next time. A cycle goes from one pause to the next, or is a full round of answers. 0 where it was set or
    stated, or no cycle is over."""
