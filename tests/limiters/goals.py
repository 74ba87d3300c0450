"""What becalm has to reach behind limiters that it was told nothing about."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean

from runs import Run


@dataclass(frozen=True)
class Goal:
    """Efficiencies: of each run, and in the mean."""

    each: float
    mean: float


def checked(runs: Iterable[Run]) -> tuple[int, list[str]]:
    """How many checks there were, and what those say that failed."""
    runs = list(runs)
    said = [shortfall(run) for run in runs]
    for documents, goal in GOALS.items():
        efficiencies = [run.efficiency for run in runs if run.documents == documents]
        if efficiencies:
            reached = mean(efficiencies)
            is_short = reached < goal.mean
            said.append(f"mean of {documents} documents: {reached:.2f} instead of {goal.mean:.2f}" if is_short else "")
    return len(said), [what for what in said if what]


def shortfall(run: Run) -> str:
    """What the run does not reach; nothing if it is good."""
    goal = GOALS[run.documents].each
    said = []
    if not run.is_finished:
        said.append(f"{run.lost} not answered after {run.seconds:.0f} s")
    elif run.lost:
        said.append(f"lost {run.lost}")
    elif run.efficiency < goal:
        said.append(f"efficiency {run.efficiency:.2f} instead of {goal:.2f}")
    if run.is_finished and run.admitted is not None and run.admitted > run.answered:
        said.append(f"{run.admitted} requests admitted for {run.answered} answers")
    if run.refusals > MOST_REFUSALS:
        said.append(f"{run.refusals} refusals instead of {MOST_REFUSALS}")
    return f"{run.limiter}, {run.documents} documents: {', '.join(said)}" if said else ""


# A small batch has to pay for what is learnt; a large one pays it once.
GOALS = {50: Goal(each=0.70, mean=0.88), 300: Goal(each=0.85, mean=0.93)}
MOST_REFUSALS = 12
