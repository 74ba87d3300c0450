"""The table as a page: becalm's runs, then those of other clients."""

from collections.abc import Iterable
from datetime import date
from itertools import groupby

from limiters import LIMITERS
from runs import Run

HEAD = """\
| limiter | documents | answered | lost | refusals | seconds | bound | efficiency |
|---|--:|--:|--:|--:|--:|--:|--:|"""


def page(runs: Iterable[Run]) -> str:
    """As Markdown."""
    order = [limiter.name for limiter in LIMITERS]
    clients = list(TITLES)
    ordered = sorted(runs, key=lambda run: (clients.index(run.client), order.index(run.limiter), run.documents))
    parts = [f"# Behind limiters that others wrote\n\nWritten by `make limiters-table` on {date.today()}.\n{NOTE}\n"]
    for client, group in groupby(ordered, key=lambda run: run.client):
        rows = "\n".join(run.row() for run in group)
        parts.append(f"## {TITLES[client]}\n\n{HEAD}\n{rows}\n")
    return "\n".join(parts)


NOTE = """\
8 requests in flight; nobody told becalm anything of the limits. *Bound* is the best possible time of a client that knows the
limiter exactly ([how](bounds.py)), *efficiency* is bound by time, or – where documents were lost: losing them is quick."""
TITLES = {
    "becalm": "becalm",
    "openai_python": "The openai package, 8 calls at a time",
    "repair": "The usual repair: waits for Retry-After, or 60 s, and knows the limit as its pace",
}
