"""How the component is found, and that the example in the README works."""

import re
from pathlib import Path

import pytest
from servers import MockServer

from becalm import Sandbox

README = Path(__file__).parents[1] / "README.md"


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


def test_the_example_in_the_readme_works(
    component_file: Path,
    mock_server: MockServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    example = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert example is not None
    monkeypatch.setenv("BECALM_COMPONENT_FILE", str(component_file))
    monkeypatch.setenv("OPENAI_API_KEY", "some-key")
    exec(example[1].replace("https://api.example.com/v1", mock_server.base_url), {})
    assert "Analysed" in capsys.readouterr().out
    assert mock_server.stats()["answered"] == 1
