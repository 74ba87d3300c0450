"""The best possible time of a batch: that of a client which knows the limiter exactly, and of which no request is refused.

A request counts when it arrives, and an answer comes `latency` later; the network of one machine takes no time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Job:
    """What is to be done, and when it began."""

    documents: int
    in_flight: int
    latency: float
    started: float
    """Seconds since the epoch, for limiters that go by the clock."""

    def rounds(self, documents: int) -> float:
        """Seconds for so many, where nothing limits but the requests in flight."""
        return ceil(documents / self.in_flight) * self.latency


Bound = Callable[[Job], float]


def bucket(burst: int, slot: float) -> Bound:
    """`burst` at once, then one every `slot` seconds: leaky and token buckets, GCRA. The last is admitted when the bucket has
    given all but the burst."""
    return lambda job: max(0, job.documents - burst) * slot + job.latency


def places(count: int) -> Bound:
    """`count` on the wire at a time, so that the batch goes in rounds."""
    return lambda job: ceil(job.documents / count) * job.latency


def windows(limit: int, window: float) -> Bound:
    """`limit` in any `window` seconds, or in one that begins with the first request after the last one's end. For both it
    is best to send all that is allowed at once, and the next as soon as the window is over."""

    def bound(job: Job) -> float:
        full = (job.documents - 1) // limit
        return full * window + job.rounds(job.documents - full * limit)

    return bound


def second_windows(limit: int, window: int) -> Bound:
    """As `windows`, but a window counts from the whole second in which its first request came, so that the first is shorter by
    what of that second was over."""

    def bound(job: Job) -> float:
        is_longer_than_one = job.documents > limit
        return windows(limit, window)(job) - is_longer_than_one * (job.started % 1)

    return bound


def clock_windows(limit: int, window: float) -> Bound:
    """`limit` in each window of the clock. Of the first only the rest is there, and it takes what fits into it."""

    def bound(job: Job) -> float:
        rest = window - job.started % window
        first = min(limit, job.documents, job.in_flight * (int(rest / job.latency) + 1))
        later = job.documents - first
        if later == 0:
            return job.rounds(first)
        full = (later - 1) // limit
        return rest + full * window + job.rounds(later - full * limit)

    return bound


def counter(limit: int, window: float, by_the_clock: bool) -> Bound:
    """The sliding counter: admits while previous * (what is left of the window, as a part of it) + current < limit + 1.

    No window admits more than `limit`: towards its end the previous one weighs nothing. So so many windows are needed, and
    all but the last have to be full. The first is full at once; after a full one, the k-th of a window is admitted when
    (k - 1) / limit of it are over. Windows begin with the first request, or by the clock."""

    def bound(job: Job) -> float:
        full = (job.documents - 1) // limit
        if full == 0:
            return job.rounds(job.documents)
        first = window - job.started % window if by_the_clock else window
        last = job.documents - full * limit
        return first + (full - 1) * window + (last - 1) / limit * window + job.latency

    return bound
