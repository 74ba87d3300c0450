"""Measures becalm, told nothing, behind every limiter, and says whether it reaches its goals.

    measure.py INSTALLED [--report-only] [--only WORD] [--documents N] [--table FILE]
"""

import argparse
import os
import secrets
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from tempfile import mkdtemp

from clients import BECALM, OTHERS, Client
from goals import checked, shortfall
from limiters import LIMITERS, Limiter
from processes import stop_all
from runs import Run, bound_of, measured, middle
from servers import Place, ServerFailed
from table import HEAD, page

Task = tuple[Client, Limiter, int]


def main() -> int:
    options = parsed()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    tasks = chosen(options)
    installed = Path(options.installed).resolve()
    shutil.rmtree(installed / "runs", ignore_errors=True)
    try:
        runs = settled(tasks, installed, options.lanes)
    except ServerFailed as failure:
        sys.exit(f"error: a limiter did not start: {failure}")
    if options.table:
        Path(options.table).write_text(page(runs))
    count, failures = checked(run for run in runs if run.client == BECALM.name)
    for shortfall in failures:
        print(f"short of the goal: {shortfall}")
    print(f"{count - len(failures)} passed, {len(failures)} failed")
    return 0 if options.report_only or (count and not failures) else 1


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("installed", help="the folder that install has filled")
    parser.add_argument("--report-only", action="store_true", help="missed goals are no failure")
    parser.add_argument("--only", default="", metavar="WORD", help="limiters with it in their names")
    parser.add_argument("--documents", type=int, metavar="N", help="batches of this size, 50 or 300")
    parser.add_argument("--table", metavar="FILE", help="measure other clients too, and write the table there")
    parser.add_argument("--lanes", type=int, default=LANES, metavar="N", help=f"runs at a time [default: {LANES}]")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> list[Task]:
    """What is to be measured, the longest first, so that it is not what is waited for at the end."""
    installed = Path(options.installed)
    limiters = [limiter for limiter in LIMITERS if options.only.lower() in limiter.name.lower()]
    missing = [limiter.name for limiter in limiters if not (installed / limiter.recipe.needs).exists()]
    if missing:
        print(f"not measured, because install did not bring them: {'; '.join(missing)}")
    tasks = [
        (client, limiter, documents)
        for limiter in limiters
        if limiter.name not in missing
        for documents in limiter.documents
        if options.documents in (None, documents)
        for client in ([BECALM, *OTHERS] if options.table and documents == OTHERS_DOCUMENTS else [BECALM])
    ]
    return sorted(tasks, key=lambda task: -bound_of(task[1], task[2], started=0))


def settled(tasks: list[Task], installed: Path, lanes: int) -> list[Run]:
    """Runs all. A run is one draw of many: where one of becalm's is short of its goal, two more are made, and the one in the
    middle counts. A lost document counts at once."""
    runs = done(tasks, installed, lanes)
    short = [n for n, run in enumerate(runs) if run.client == BECALM.name and not run.lost and shortfall(run)]
    if short:
        print("short of their goals, run twice more:", flush=True)
    more = done([tasks[n] for n in short * 2], installed, lanes) if short else []
    for n, *others in zip(short, more[: len(short)], more[len(short) :], strict=True):
        runs[n] = middle([runs[n], *others])
    return runs


def done(tasks: list[Task], installed: Path, lanes: int) -> list[Run]:
    """Runs all, several at a time: they wait most of the time. Prints each when it is done; gives them in order."""
    key = f"sk-{secrets.token_hex(32)}"
    becalm = str(Path(os.environ["BECALM"]).resolve())
    compile_once(becalm, installed)
    print(HEAD, flush=True)
    (installed / "runs").mkdir(exist_ok=True)
    folder = Path(mkdtemp(dir=installed / "runs"))
    pool = ThreadPoolExecutor(lanes)
    try:
        futures = []
        for number, (client, limiter, documents) in enumerate(tasks):
            place = Place(becalm, installed, folder / f"{number}", key)
            futures.append(pool.submit(measured, client, limiter, documents, place))
        for future in as_completed(futures):
            print(said(future.result()), flush=True)
        return [future.result() for future in futures]
    except BaseException:
        # What was started ends; after it nothing can be.
        stop_all()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def compile_once(becalm: str, installed: Path) -> None:
    """Puts the compiled component where all runs find it, so that none has to compile it."""
    environment = {**os.environ, "BECALM_CACHE": str(installed / "cache")}
    subprocess.run([becalm, "component"], env=environment, stdout=subprocess.DEVNULL, check=True)


def said(run: Run) -> str:
    """A row; of other clients behind their names."""
    return run.row() if run.client == BECALM.name else f"{run.client}: {run.row()}"


# What lets two cores idle most of the time.
LANES = 16
OTHERS_DOCUMENTS = 50

if __name__ == "__main__":
    sys.exit(main())
