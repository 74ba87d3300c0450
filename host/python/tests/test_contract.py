"""The classes are those of the contract: fields, cases and enums have the names that the component's types have, and say of
themselves, with units, defaults and ranges, what it says."""

import ast
import inspect
import re
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from contract_text import contract_text
from wasmtime import Engine
from wasmtime.component import Component, EnumType, RecordType, VariantType

import becalm
from becalm.instance import ANALYZER
from becalm.lift import HAPPENINGS, VERDICTS

RECORDS = {
    "document": becalm.Document,
    "header": becalm.Header,
    "endpoint": becalm.Endpoint,
    "chat": becalm.Chat,
    "rate": becalm.Rate,
    "limits": becalm.Limits,
    "retry": becalm.Retry,
    "timeouts": becalm.Timeouts,
    "settings": becalm.Settings,
    "usage": becalm.Usage,
    "answer": becalm.Answered,
    "failure": becalm.Failed,
    "postponement": becalm.Postponed,
    "outcome": becalm.Outcome,
    "pause": becalm.Paused,
    "limit": becalm.Limit,
    "ignored-hint": becalm.HintIgnored,
    "refusal": becalm.Refused,
    "fault": becalm.Faulted,
    "sent": becalm.Sent,
    "event": becalm.Event,
    "status": becalm.Status,
    "report": becalm.Report,
}

ENUMS = {
    "unit": becalm.Unit,
    "failure-kind": becalm.FailureKind,
    "postpone-reason": becalm.PostponeReason,
    "pause-reason": becalm.PauseReason,
    "limit-source": becalm.LimitSource,
}

VARIANTS = {
    "verdict": (VERDICTS.keys(), becalm.Verdict),
    "happening": (HAPPENINGS.keys(), becalm.Happening),
    "admits": (["rate", "in-flight"], becalm.Admits),
}


@pytest.fixture(scope="module")
def exported(component_file: Path) -> Any:
    engine = Engine()
    component = Component.from_file(engine, component_file)
    analyzer: Any = component.type.exports(engine)[ANALYZER].ty
    types = analyzer.exports(engine)
    return lambda name: types[name].ty


@pytest.mark.parametrize("name", RECORDS)
def test_a_class_has_the_fields_of_its_record(exported: Any, name: str) -> None:
    record = exported(name)
    assert isinstance(record, RecordType)
    ours: Any = RECORDS[name]
    assert [field.name for field in fields(ours)] == [field.replace("-", "_") for field, _ in record.fields]


@pytest.mark.parametrize("name", ENUMS)
def test_a_literal_has_the_names_of_its_enum(exported: Any, name: str) -> None:
    enum = exported(name)
    assert isinstance(enum, EnumType)
    assert list(get_args(ENUMS[name])) == enum.names


@pytest.mark.parametrize("name", VARIANTS)
def test_every_case_has_a_class(exported: Any, name: str) -> None:
    variant = exported(name)
    assert isinstance(variant, VariantType)
    cases, union = VARIANTS[name]
    assert list(cases) == [case for case, _ in variant.cases]
    assert len(get_args(union)) == len(cases)


@pytest.mark.parametrize("name", RECORDS)
def test_a_field_says_what_the_contract_says(name: str) -> None:
    ours: Any = RECORDS[name]
    said = docstrings(ast.parse(inspect.getsource(ours)).body[0])
    expected = {member: text for (record, member), text in contract_text().items() if record == name}
    assert said == {member.replace("-", "_"): text for member, text in expected.items()}


@pytest.mark.parametrize("name", ENUMS)
def test_a_literal_says_of_each_name_what_the_contract_says(name: str) -> None:
    module = inspect.getsource(becalm.limits) + inspect.getsource(becalm.outcomes) + inspect.getsource(becalm.events)
    listed = docstrings(ast.parse(module))[name.title().replace("-", "")]
    said = dict(re.findall(r"- `([\w-]+)`: (.*?)(?= - `|$)", listed))
    assert said == {member: text for (enum, member), text in contract_text().items() if enum == name}


def docstrings(block: Any) -> dict[str, str]:
    """What stands under each field, on one line."""
    return {
        before.target.id: " ".join(after.value.value.split())
        for before, after in pairwise(block.body)
        if isinstance(before, ast.AnnAssign)
        and isinstance(before.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    }
