"""How the component is found, and which version this is."""

import re
from pathlib import Path

import pytest

from becalm import Sandbox

PROJECT = Path(__file__).parents[1]


def test_the_component_is_found_by_the_environment(
    component_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BECALM_COMPONENT_FILE", str(component_file))
    assert Sandbox().default_settings().limits.max_in_flight == 8


def test_a_missing_component_is_said_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BECALM_COMPONENT_FILE", raising=False)
    monkeypatch.setattr("becalm.sandbox.files", lambda _: Path("nowhere"))
    with pytest.raises(FileNotFoundError, match="hint: becalm component -o"):
        Sandbox()


def test_the_version_is_the_workspaces() -> None:
    assert version_in(PROJECT / "pyproject.toml") == version_in(PROJECT / "../../Cargo.toml")


def version_in(file: Path) -> str:
    [version] = re.findall(r'^version = "(.*)"$', file.read_text(), re.MULTILINE)
    return str(version)
