"""Sessions: feeding and pulling, every kind of event, and how they are stopped."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count, islice
from threading import Semaphore, Thread

import pytest
from servers import Endpoint, MockServer, Reply

from becalm import (
    Answered,
    Document,
    DuplicateId,
    Failed,
    Faulted,
    Halted,
    Header,
    HintIgnored,
    InFlight,
    Learnt,
    Outcome,
    Paused,
    Postponed,
    Refused,
    Resumed,
    Sandbox,
    Sent,
    Session,
    Settings,
    Stopped,
    Text,
)


def documents(*ids: str) -> list[Document]:
    return [Document(id, Text("some text")) for id in ids]


def numbered(count: int) -> list[Document]:
    return documents(*map(str, range(count)))


def noted(documents: Iterable[Document], taken: list[str]) -> Iterator[Document]:
    """These documents, and a note of the id of each that was taken."""
    for document in documents:
        taken.append(document.id)
        yield document


def interrupted(reply: Reply) -> Callable[[], Reply]:
    """This reply, and before the first Ctrl-C."""
    signals = iter([signal.SIGINT])

    def replied() -> Reply:
        for number in signals:
            os.kill(os.getpid(), number)
        return reply

    return replied


def outcomes(session: Session) -> dict[str, Outcome]:
    return {event.what.id: event.what for event in session if isinstance(event.what, Outcome)}


def test_events_tell_how_the_documents_went_through_a_rate_limit(
    sandbox: Sandbox, settings: Settings, mock_server: MockServer
) -> None:
    settings = replace(settings, trace=True).to(mock_server.base_url, "some-model")
    with sandbox.open(settings) as session:
        session.submit(numbered(20))
        assert session.status().queued == 20
        events = list(session)
        status = session.status()
    kinds = [type(event.what) for event in events]
    assert {Sent, Outcome, Refused, Paused, Resumed, Learnt} <= set(kinds)
    assert kinds.count(Outcome) == status.answered == mock_server.stats()["answered"] == 20
    assert kinds.count(Refused) == status.refusals == mock_server.stats()["refused"]
    assert kinds.index(Paused) < kinds.index(Resumed)
    assert (status.queued, status.in_flight, status.failed, status.paused) == (0, 0, 0, None)
    assert [event.at for event in events] == sorted(event.at for event in events)


def test_requests_at_one_time_are_a_limit_too(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    places = Semaphore(3)

    def reply() -> Reply:
        if not places.acquire(blocking=False):
            return Reply(429, body='{"error": {"message": "too many concurrent requests"}}')
        time.sleep(0.05)
        places.release()
        return Reply()

    endpoint.reply = reply
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        session.submit(numbered(30))
        assert all(isinstance(outcome.verdict, Answered) for outcome in outcomes(session).values())
        [limit] = session.status().limits
    assert isinstance(limit.admits, InFlight) and 1 <= limit.admits.requests <= 4
    assert limit.source == "refusals"


def test_a_refusal_comes_with_its_wait_and_its_headers(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    endpoint.replies(Reply(429, {"retry-after-ms": "300"}, "slow down"))
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        session.submit(documents("a"))
        [refusal] = [event.what for event in session if isinstance(event.what, Refused)]
    assert (refusal.id, refusal.status, refusal.source) == ("a", 429, "retry-after-ms")
    assert refusal.wait - refusal.jitter == 300
    assert Header("retry-after-ms", "300") in refusal.headers


def test_a_fault_is_told_and_tried_again(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    endpoint.replies(Reply(503, body="oh"))
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        session.submit(documents("a"))
        happenings = [event.what for event in session]
    [fault] = [what for what in happenings if isinstance(what, Faulted)]
    [outcome] = [what for what in happenings if isinstance(what, Outcome)]
    assert (fault.id, fault.status, fault.source) == ("a", 503, "back-off")
    assert isinstance(outcome.verdict, Answered) and outcome.attempts == 2


def test_a_hint_that_cannot_be_read_is_told(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    endpoint.replies(Reply(429, {"retry-after": "soon"}))
    settings = replace(settings, retry=replace(settings.retry, fallback_wait=10))
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        session.submit(documents("a"))
        happenings = [event.what for event in session]
    assert HintIgnored("retry-after", "soon") in happenings


def test_a_failure_that_would_hit_every_document_halts_the_session(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    endpoint.reply = lambda: Reply(401)
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        session.submit(numbered(20))
        happenings = [event.what for event in session]
        with pytest.raises(Stopped):
            session.submit(documents("more"))
    [halted] = [what for what in happenings if isinstance(what, Halted)]
    assert (halted.failure.kind, halted.failure.status) == ("unauthorised", 401)
    assert Failed in {type(what.verdict) for what in happenings if isinstance(what, Outcome)}
    assert sum(isinstance(what, Outcome) for what in happenings) == 20


def test_documents_can_be_submitted_on_the_way(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    more = iter(documents("b", "c"))
    answered = []
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        session.submit(documents("a"))
        for event in session:
            if isinstance(event.what, Outcome):
                answered.append(event.what.id)
                session.submit(document for document in [next(more, None)] if document)
    assert answered == ["a", "b", "c"]


def test_of_documents_without_end_only_some_wait(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    taken: list[str] = []
    endless = noted((Document(str(number), Text("some text")) for number in count()), taken)
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        answered = list(islice(session.analyze(endless), 200))
        assert len(taken) <= 200 + 128 + 2 * settings.limits.max_in_flight
        session.stop()
        rest = list(session.outcomes())
    assert sorted(outcome.id for outcome in answered + rest) == sorted(taken)


def test_after_a_failure_that_would_hit_every_document_no_more_are_taken(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    endpoint.reply = lambda: Reply(401)
    taken: list[str] = []
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        verdicts = {outcome.id: outcome.verdict for outcome in session.analyze(noted(numbered(1_000), taken))}
    assert verdicts.keys() == set(taken) and len(taken) < 300
    assert {verdict.reason for verdict in verdicts.values() if isinstance(verdict, Postponed)} == {"halted"}


def test_an_id_in_use_is_refused_with_all_that_came_with_it(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        session.submit(documents("a"))
        with pytest.raises(DuplicateId) as error:
            session.submit(documents("b", "a"))
        assert error.value.id == "a"
        assert outcomes(session).keys() == {"a"}
        session.submit(documents("a"))
        assert outcomes(session).keys() == {"a"}


def test_nothing_is_waited_for_in_an_empty_session(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        assert session.next(wait=60_000) == []
        assert list(session) == []


def test_what_is_not_on_the_wire_is_postponed_by_a_stop(
    sandbox: Sandbox, settings: Settings, mock_server: MockServer
) -> None:
    with sandbox.open(settings.to(mock_server.base_url, "some-model")) as session:
        session.submit(numbered(20))
        session.stop()
        stopped = outcomes(session)
        with pytest.raises(Stopped):
            session.submit(documents("more"))
    verdicts = [outcome.verdict for outcome in stopped.values()]
    assert len(verdicts) == 20
    assert {verdict.reason for verdict in verdicts if isinstance(verdict, Postponed)} == {"stopped"}
    assert mock_server.stats()["sent"] == 0


def test_another_thread_can_stop_an_iteration_that_waits(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    endpoint.reply = lambda: Reply(429, {"retry-after": "9"})
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        session.submit(numbered(3))
        happenings = []
        for event in session:
            happenings.append(event.what)
            if isinstance(event.what, Paused):
                Thread(target=session.stop).start()
        assert session.status().postponed == 3
    assert any(isinstance(what, Refused) for what in happenings)


def test_a_signal_handler_can_stop_an_iteration_and_loses_nothing(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:

        def interrupt() -> Reply:
            os.kill(os.getpid(), signal.SIGINT)
            return Reply(429, {"retry-after": "9"})

        endpoint.reply = interrupt
        before = signal.signal(signal.SIGINT, lambda *_: session.stop())
        try:
            session.submit(numbered(3))
            assert outcomes(session).keys() == {"0", "1", "2"}
        finally:
            signal.signal(signal.SIGINT, before)


def test_a_loop_that_is_left_early_loses_no_outcome(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    ids = []
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        session.submit(numbered(20))
        for _ in range(20):
            for outcome in session.outcomes():
                ids.append(outcome.id)
                break
        assert list(session.outcomes()) == []
    assert sorted(ids, key=int) == [str(number) for number in range(20)]


def test_an_iteration_that_is_left_early_leaves_its_events_to_next(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        session.submit(numbered(8))
        told = [next(iter(session))]
        while events := session.next(wait=5_000):
            told += events
    assert sum(isinstance(event.what, Outcome) for event in told) == 8


def test_ctrl_c_ends_the_loop_with_the_last_outcome_and_is_raised_then(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    endpoint.reply = interrupted(Reply(429, {"retry-after": "9"}))
    with pytest.raises(KeyboardInterrupt):
        with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
            session.submit(numbered(3))
            ended = outcomes(session)
    assert ended.keys() == {"0", "1", "2"}
    assert all(isinstance(outcome.verdict, Postponed) for outcome in ended.values())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_answers_to_what_was_on_the_wire_come_home_after_ctrl_c(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    endpoint.reply = interrupted(Reply())
    settings = replace(settings, limits=replace(settings.limits, max_in_flight=1))
    with pytest.raises(KeyboardInterrupt):
        with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
            session.submit(numbered(3))
            verdicts = [outcome.verdict for outcome in session.outcomes()]
    answered = sum(isinstance(verdict, Answered) for verdict in verdicts)
    assert len(verdicts) == 3 and answered == len(endpoint.received)


def test_a_second_ctrl_c_is_raised_at_once(sandbox: Sandbox, settings: Settings, endpoint: Endpoint) -> None:
    with pytest.raises(KeyboardInterrupt):
        with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
            session.submit(numbered(3))
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            pytest.fail("it was not raised")
    assert endpoint.received == []


def test_ctrl_c_stops_every_session_that_is_open(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    settings = settings.to(endpoint.base_url, "some-model")
    with pytest.raises(KeyboardInterrupt):
        with sandbox.open(settings) as outer, sandbox.open(settings) as within:
            os.kill(os.getpid(), signal.SIGINT)
            for session in (outer, within):
                assert outcomes(session) == {}
                with pytest.raises(Stopped):
                    session.submit(numbered(1))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_session_that_was_left_cannot_be_used(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    with sandbox.open(settings.to(endpoint.base_url, "some-model")) as session:
        session.submit(documents("a"))
    with pytest.raises(ValueError, match="closed"):
        session.status()
    assert endpoint.received == []
