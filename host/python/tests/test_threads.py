"""Waiting holds nobody up: other threads and coroutines run on, and several batches share a sandbox."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

from servers import Endpoint, Reply

from becalm import Answered, Document, Outcome, Report, Sandbox, Session, Settings, Text


def documents(count: int) -> list[Document]:
    return [Document(str(number), Text("some text")) for number in range(count)]


def all_answered(report: Report) -> bool:
    return all(isinstance(outcome.verdict, Answered) for outcome in report.outcomes)


def test_another_thread_runs_on_while_a_batch_waits(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    request_came, counted = Event(), Event()

    def count() -> None:
        request_came.wait()
        sum(range(100_000))
        counted.set()

    def reply_when_counted() -> Reply:
        request_came.set()
        # False after two seconds, if the batch held the interpreter's lock.
        return Reply(200 if counted.wait(2) else 400)

    endpoint.reply = reply_when_counted
    counter = Thread(target=count, daemon=True)
    counter.start()
    report = sandbox.analyze_batch(documents(1), settings.to(endpoint.base_url, "some-model"))
    counter.join(5)
    assert all_answered(report)


def test_coroutines_run_on_while_a_batch_waits_in_a_thread(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    async def both() -> Report:
        turn_came = Event()
        endpoint.reply = lambda: Reply(200 if turn_came.wait(2) else 400)
        aimed = settings.to(endpoint.base_url, "some-model")
        batch = asyncio.create_task(asyncio.to_thread(sandbox.analyze_batch, documents(1), aimed))
        while not endpoint.received:
            await asyncio.sleep(0)
        turn_came.set()
        return await batch

    assert all_answered(asyncio.run(both()))


def test_a_session_is_an_asynchronous_iterator_too(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    async def ids() -> list[str]:
        with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
            session.submit(documents(3))
            return [event.what.id async for event in session if isinstance(event.what, Outcome)]

    assert sorted(asyncio.run(ids())) == ["0", "1", "2"]


def test_a_task_that_is_cancelled_loses_no_outcome(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    ids = []

    async def collect(session: Session) -> None:
        async for event in session:
            if isinstance(event.what, Outcome):
                ids.append(event.what.id)

    async def cancel_and_collect_again() -> None:
        with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
            session.submit(documents(30))
            done: set[asyncio.Task[None]] = set()
            while not done:
                task = asyncio.create_task(collect(session))
                done, _ = await asyncio.wait({task}, timeout=0.02)
                task.cancel()
                await asyncio.wait({task})

    asyncio.run(cancel_and_collect_again())
    assert sorted(ids, key=int) == [str(number) for number in range(30)]


def test_threads_share_a_sandbox(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    aimed = settings.to(endpoint.base_url, "some-model")
    with ThreadPoolExecutor(max_workers=4) as pool:
        reports = pool.map(lambda count: sandbox.analyze_batch(documents(count), aimed), range(8))
    assert [len(report.outcomes) for report in reports if all_answered(report)] == list(range(8))
