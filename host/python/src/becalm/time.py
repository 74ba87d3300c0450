"""The contract's two units of time. Whole numbers, as there: a `datetime` could not hold all of them."""

from typing import TypeAlias

Milliseconds: TypeAlias = int
"""A span."""

EpochMilliseconds: TypeAlias = int
"""An instant, since 1970-01-01T00:00:00Z."""
