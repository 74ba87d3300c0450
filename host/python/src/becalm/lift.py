"""How values leave the component: settings, outcomes, events, status, report and errors, as this package's classes.

wasmtime hands out a record as an object with the contract's kebab-case names, an enum as its name, an absent option as
`None`. Of a variant it hands out `Variant(tag, payload)` where the payloads of two cases would be of one class in
Python, and else the bare payload, or `None` for a case without one. So `verdict`, `happening` and the results of
`analyze-batch` and `submit` come with their tags; a `submit-error` (an id, or nothing), the result of `open` (a
resource, or a record) and what a limit `admits` (a record, or a number) come without.
"""

from collections.abc import Callable
from typing import Any

from wasmtime.component import ResourceAny, Variant

from .errors import DuplicateId, Error, SettingsError, Stopped
from .events import (
    Event,
    Faulted,
    Halted,
    Happening,
    HintIgnored,
    Learnt,
    Paused,
    Refused,
    Resumed,
    Sent,
    Status,
)
from .limits import Admits, InFlight, Limit, Rate
from .outcomes import Answered, Failed, Outcome, Postponed, Report, Usage, Verdict
from .settings import Chat, Endpoint, Header, Limits, Retry, Settings, Timeouts


def lift_settings(record: Any) -> Settings:
    parts = fields(record)
    endpoint, limits = fields(parts["endpoint"]), fields(parts["limits"])
    parts["endpoint"] = Endpoint(**endpoint | {"headers": lift_headers(endpoint["headers"])})
    parts["chat"] = Chat(**fields(parts["chat"]))
    parts["limits"] = Limits(**limits | {"rates": tuple(map(lift_rate, limits["rates"]))})
    parts["retry"] = Retry(**fields(parts["retry"]))
    parts["timeouts"] = Timeouts(**fields(parts["timeouts"]))
    return Settings(**parts)


def lift_session(opened: Any) -> ResourceAny:
    """Raises `SettingsError` if there is none."""
    if isinstance(opened, ResourceAny):
        return opened
    raise SettingsError(**fields(opened))


def lift_submitted(result: Variant) -> None:
    """Raises `DuplicateId` or `Stopped` if nothing was submitted."""
    if result.tag == "err":
        raise lift_submit_error(result.payload)


def lift_submit_error(duplicate: str | None) -> Error:
    return Stopped() if duplicate is None else DuplicateId(duplicate)


def lift_report(result: Variant) -> Report:
    """Raises `SettingsError` if there is none."""
    parts = fields(result.payload)
    if result.tag == "err":
        raise SettingsError(**parts)
    parts["outcomes"] = tuple(map(lift_outcome, parts["outcomes"]))
    parts["limits"] = tuple(map(lift_limit, parts["limits"]))
    parts["halted"] = optional(lift_failure, parts["halted"])
    return Report(**parts)


def lift_status(record: Any) -> Status:
    parts = fields(record)
    parts["paused"] = optional(lift_pause, parts["paused"])
    parts["limits"] = tuple(map(lift_limit, parts["limits"]))
    return Status(**parts)


def lift_event(record: Any) -> Event:
    return Event(record.at, HAPPENINGS[record.what.tag](record.what.payload))


def lift_outcome(record: Any) -> Outcome:
    parts = fields(record)
    verdict = parts["verdict"]
    return Outcome(**parts | {"verdict": VERDICTS[verdict.tag](verdict.payload)})


def lift_answer(record: Any) -> Answered:
    parts = fields(record)
    return Answered(**parts | {"usage": optional(lift_usage, parts["usage"])})


def lift_usage(record: Any) -> Usage:
    return Usage(**fields(record))


def lift_failure(record: Any) -> Failed:
    return Failed(**fields(record))


def lift_postponement(record: Any) -> Postponed:
    return Postponed(**fields(record))


def lift_pause(record: Any) -> Paused:
    parts = fields(record)
    return Paused(**parts | {"limit": optional(lift_rate, parts["limit"])})


def lift_refusal(record: Any) -> Refused:
    parts = fields(record)
    return Refused(**parts | {"headers": lift_headers(parts["headers"])})


def lift_limit(record: Any) -> Limit:
    parts = fields(record)
    return Limit(**parts | {"admits": lift_admits(parts["admits"])})


def lift_admits(payload: Any) -> Admits:
    return InFlight(payload) if isinstance(payload, int) else lift_rate(payload)


def lift_rate(record: Any) -> Rate:
    return Rate(**fields(record))


def lift_headers(records: list[Any]) -> tuple[Header, ...]:
    return tuple(Header(**fields(record)) for record in records)


def optional(lift: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else lift(value)


def fields(record: Any) -> dict[str, Any]:
    return {name.replace("-", "_"): value for name, value in vars(record).items()}


VERDICTS: dict[str, Callable[[Any], Verdict]] = {
    "answered": lift_answer,
    "failed": lift_failure,
    "postponed": lift_postponement,
}

HAPPENINGS: dict[str, Callable[[Any], Happening]] = {
    "outcome": lift_outcome,
    "paused": lift_pause,
    "resumed": lambda _: Resumed(),
    "learnt": lambda limit: Learnt(lift_limit(limit)),
    "hint-ignored": lambda hint: HintIgnored(**fields(hint)),
    "refused": lift_refusal,
    "faulted": lambda fault: Faulted(**fields(fault)),
    "sent": lambda sent: Sent(**fields(sent)),
    "halted": lambda failure: Halted(lift_failure(failure)),
}
