"""Whole batches: what `analyze_batch` brings home, and what it says of what cannot be brought home."""

import socket
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from servers import Endpoint, MockServer, Reply

import becalm
from becalm import (
    Answered,
    Document,
    Failed,
    Header,
    Limit,
    Postponed,
    Rate,
    Request,
    Sandbox,
    Settings,
    SettingsError,
    Text,
    Usage,
    Verdict,
)


def texts(count: int) -> list[Document]:
    return [Document(f"document {number}", Text(f"text {number}")) for number in range(count)]


def test_every_document_comes_home_through_a_rate_limit_in_its_order(
    sandbox: Sandbox, settings: Settings, mock_server: MockServer
) -> None:
    documents = texts(20)
    report = sandbox.analyze_batch(documents, settings.to(mock_server.base_url, "some-model"))
    assert [outcome.id for outcome in report.outcomes] == [document.id for document in documents]
    assert all(isinstance(outcome.verdict, Answered) for outcome in report.outcomes)
    assert report.refusals > 0
    assert report.refusals == sum(outcome.refusals for outcome in report.outcomes)
    assert report.elapsed >= 2_000
    assert report.halted is None
    [limit] = report.limits
    assert isinstance(limit.admits, Rate) and limit.admits.unit == "requests"
    assert (limit.source, limit.cycles > 0) == ("refusals", True)
    stats = mock_server.stats()
    assert (stats["answered"], stats["refused"]) == (20, report.refusals)


def test_nothing_is_refused_where_the_limit_is_given(
    sandbox: Sandbox, settings: Settings, mock_server: MockServer
) -> None:
    rate = Rate("requests", 10, window=2_000)
    settings = replace(settings, limits=replace(settings.limits, rates=(rate,)))
    report = sandbox.analyze_batch(texts(12), settings.to(mock_server.base_url, "some-model"))
    assert mock_server.stats()["refused"] == 0
    assert report.limits == (Limit(rate, "settings", cycles=0),)


def test_an_answer_comes_whole(sandbox: Sandbox, settings: Settings, endpoint: Endpoint) -> None:
    endpoint.replies(Reply(headers={"x-request-id": "r1"}))
    [verdict] = verdicts(sandbox, texts(1), settings.to(endpoint.base_url, "some-model"))
    body = Reply().body
    assert verdict == Answered("fine", "stop", None, Usage(7, 1), 200, "r1", body)


def test_texts_are_put_into_the_prompt_and_requests_are_sent_as_they_are(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    chat = replace(settings.chat, prompt_template="Say: {text}", system_prompt=None, temperature=1)
    one_by_one = replace(settings.limits, max_in_flight=1)
    settings = replace(settings, chat=chat, limits=one_by_one).to(endpoint.base_url, "some-model")
    documents = [Document("text", Text("Grüße 🌊")), Document("request", Request('{"model":"other"}'))]
    verdicts(sandbox, documents, settings)
    assert [received.body for received in endpoint.received] == [
        {
            "model": "some-model",
            "messages": [{"role": "user", "content": "Say: Grüße 🌊"}],
            "max_tokens": 512,
            "temperature": 1.0,
        },
        {"model": "other"},
    ]


def test_the_key_arrives_and_is_not_in_what_python_prints(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    settings = settings.to(endpoint.base_url, "some-model", "secret")
    verdicts(sandbox, texts(1), settings)
    assert endpoint.received[0].headers["authorization"] == "Bearer secret"
    assert "secret" not in repr(settings)


def test_white_space_around_the_key_is_not_sent_and_an_empty_key_is_none(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    for key in (" secret\n", "\n", ""):
        verdicts(sandbox, texts(1), settings.to(endpoint.base_url, "some-model", key))
    sent = [received.headers.get("authorization") for received in endpoint.received]
    assert sent == ["Bearer secret", None, None]


def test_a_key_that_no_header_can_carry_is_refused_unsaid(settings: Settings) -> None:
    with pytest.raises(SettingsError, match="hint: ") as error:
        settings.to("http://127.0.0.1", "some-model", "se\ncret")
    assert "cret" not in str(error.value)


def test_endpoint_and_key_are_those_of_the_environment_unless_they_are_given(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert sandbox.settings("m") == sandbox.default_settings().to("http://127.0.0.1/v1", "m", "secret")
    rate = Rate("requests", 10, window=1_000)
    given = sandbox.settings("m", base_url="http://other/v1", api_key="", rates=[rate])
    assert given.endpoint == becalm.Endpoint("http://other/v1", headers=())
    assert given.limits.rates == (rate,)


def test_a_missing_endpoint_is_said_with_a_hint(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(SettingsError, match="hint: .*OPENAI_BASE_URL"):
        sandbox.settings("some-model")


def test_a_verdict_is_printed_in_words(sandbox: Sandbox, settings: Settings, endpoint: Endpoint) -> None:
    settings = settings.to(endpoint.base_url, "some-model")
    settings = replace(settings, limits=replace(settings.limits, max_in_flight=1))
    assert list(map(str, verdicts(sandbox, texts(1), settings))) == ["fine"]
    endpoint.replies(Reply(401))
    failed, postponed = map(str, verdicts(sandbox, texts(2), settings))
    assert failed.startswith("failed: HTTP 401") and postponed.startswith("postponed: ")


def test_every_request_has_a_connection_of_its_own(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    verdicts(sandbox, texts(5), settings.to(endpoint.base_url, "some-model"))
    assert len({received.connection for received in endpoint.received}) == 5


def test_a_header_that_wasmtime_keeps_for_itself_fails_the_document_before_it_is_sent(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    settings = settings.to(endpoint.base_url, "some-model")
    forbidden = replace(settings.endpoint, headers=(Header("host", "elsewhere"),))
    [verdict] = verdicts(sandbox, texts(1), replace(settings, endpoint=forbidden))
    assert isinstance(verdict, Failed)
    assert endpoint.received == []


def test_a_document_that_is_no_json_object_fails_by_itself_and_is_not_sent(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    documents = [Document("bad", Request("{")), *texts(1)]
    settings = settings.to(endpoint.base_url, "some-model")
    match verdicts(sandbox, documents, settings):
        case [Failed(kind="invalid-document", status=None, body=None), Answered()]:
            assert len(endpoint.received) == 1
        case other:
            pytest.fail(f"{other}")


def test_an_id_that_occurs_before_fails_by_itself(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    documents = [Document("a", Text("one")), Document("a", Text("two"))]
    first, second = verdicts(sandbox, documents, settings.to(endpoint.base_url, "some-model"))
    assert isinstance(first, Answered)
    assert isinstance(second, Failed) and second.kind == "invalid-document"


def test_a_wrong_key_fails_one_document_and_postpones_the_rest(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    endpoint.replies(Reply(401, body="no"))
    settings = replace(settings, limits=replace(settings.limits, max_in_flight=1))
    report = sandbox.analyze_batch(texts(3), settings.to(endpoint.base_url, "some-model", "wrong"))
    failed, *postponed = [outcome.verdict for outcome in report.outcomes]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.status, failed.body) == ("unauthorised", 401, "no")
    assert report.halted == failed
    assert all(isinstance(verdict, Postponed) for verdict in postponed)
    assert len(endpoint.received) == 1


def test_an_endpoint_that_cannot_be_reached_fails_the_document_as_unreachable(
    sandbox: Sandbox, settings: Settings
) -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{nobody_listens.getsockname()[1]}/v1"
        settings = replace(settings, retry=replace(settings.retry, max_attempts=2))
        report = sandbox.analyze_batch(texts(1), settings.to(base_url, "some-model"))
    [outcome] = report.outcomes
    assert outcome.attempts == 2
    assert isinstance(outcome.verdict, Failed) and outcome.verdict.kind == "unreachable"


def test_an_empty_batch_is_answered_at_once(sandbox: Sandbox, settings: Settings, endpoint: Endpoint) -> None:
    report = sandbox.analyze_batch([], settings.to(endpoint.base_url, "some-model"))
    assert report.outcomes == () and endpoint.received == []


def test_the_component_names_the_setting_that_it_refuses(
    sandbox: Sandbox, settings: Settings, endpoint: Endpoint
) -> None:
    refused = settings.to("ftp://127.0.0.1", "some-model")
    with pytest.raises(SettingsError) as from_batch:
        sandbox.analyze_batch(texts(1), refused)
    with pytest.raises(SettingsError) as from_session:
        sandbox.open(refused)
    assert from_batch.value.field == from_session.value.field == "endpoint.base-url"
    assert "http" in from_batch.value.message


@pytest.mark.parametrize("value", [-1, 2**32 + 8, True, 1.5, "8", None])
def test_a_number_that_its_type_cannot_hold_is_refused_too(
    sandbox: Sandbox, settings: Settings, value: Any
) -> None:
    settings = replace(settings, limits=replace(settings.limits, max_in_flight=value))
    with pytest.raises(SettingsError) as error:
        sandbox.open(settings.to("http://127.0.0.1", "some-model"))
    assert error.value.field == "limits.max-in-flight"


def test_an_error_names_a_field_within_a_list_as_the_component_does(
    sandbox: Sandbox, settings: Settings
) -> None:
    fields = []
    for amount in (0, -1):
        rates = (Rate("requests", 10, 1_000), Rate("requests", amount, 1_000))
        limited = replace(settings, limits=replace(settings.limits, rates=rates))
        with pytest.raises(SettingsError) as error:
            sandbox.open(limited.to("http://127.0.0.1", "some-model"))
        fields.append(error.value.field)
    assert fields == ["limits.rates[1].amount"] * 2


def verdicts(
    sandbox: Sandbox, documents: Sequence[Document], settings: Settings
) -> list[Verdict]:
    return [outcome.verdict for outcome in sandbox.analyze_batch(documents, settings).outcomes]
