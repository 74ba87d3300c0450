"""Brings a batch of prompts home through a rate limit.

The policy is becalm's WebAssembly component, run by wasmtime; this package hands documents in and outcomes out, typed.
Begin with `Sandbox`: its `settings` has the defaults, its `open` gives a `Session`. Every field of `Settings` says its unit, its
default and its range.
"""

from .documents import Document, Input, Request, Text
from .errors import DuplicateId, Error, SettingsError, Stopped
from .events import (
    Event,
    Faulted,
    Halted,
    Happening,
    HintIgnored,
    Learnt,
    Paused,
    PauseReason,
    Refused,
    Resumed,
    Sent,
    Status,
)
from .limits import Admits, InFlight, Limit, LimitSource, Rate, Unit
from .outcomes import (
    Answered,
    Failed,
    FailureKind,
    Outcome,
    Postponed,
    PostponeReason,
    Report,
    Usage,
    Verdict,
)
from .sandbox import Sandbox
from .session import Session
from .settings import Chat, Endpoint, Header, Limits, Retry, Settings, Timeouts
from .time import EpochMilliseconds, Milliseconds

__all__ = [
    "Admits",
    "Answered",
    "Chat",
    "Document",
    "DuplicateId",
    "Endpoint",
    "EpochMilliseconds",
    "Error",
    "Event",
    "Failed",
    "FailureKind",
    "Faulted",
    "Halted",
    "Happening",
    "Header",
    "HintIgnored",
    "InFlight",
    "Input",
    "Learnt",
    "Limit",
    "LimitSource",
    "Limits",
    "Milliseconds",
    "Outcome",
    "PauseReason",
    "Paused",
    "PostponeReason",
    "Postponed",
    "Rate",
    "Refused",
    "Report",
    "Request",
    "Resumed",
    "Retry",
    "Sandbox",
    "Sent",
    "Session",
    "Settings",
    "SettingsError",
    "Status",
    "Stopped",
    "Text",
    "Timeouts",
    "Unit",
    "Usage",
    "Verdict",
]
