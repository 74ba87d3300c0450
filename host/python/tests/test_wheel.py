"""The wheel as a user gets it: installed into an empty environment, where the README's example brings a batch home."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from zipfile import ZipFile

import pytest
from servers import MockServer

README = Path(__file__).parents[1] / "README.md"


@pytest.fixture
def wheel() -> Path:
    return named("BECALM_WHEEL")


@pytest.fixture
def python() -> Path:
    """An interpreter that has the wheel and what it depends on, and nothing else."""
    return named("BECALM_USER") / "bin/python"


def named(variable: str) -> Path:
    """What `run` has built."""
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set; hint: `run` tests the wheel")
    return Path(value)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The README's example as it stands there, in a folder of its own."""
    block = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert block is not None
    file = tmp_path / "example.py"
    file.write_text(block[1])
    return file


def test_the_example_brings_twenty_documents_home(python: Path, example: Path, becalm_program: str) -> None:
    with MockServer(becalm_program, window="1s") as server:
        printed = run(python, example, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="some-key")
        stats = server.stats()
    lines = re.findall(r"^document (\d+) Analysed", printed, re.MULTILINE)
    assert sorted(lines, key=int) == [str(number) for number in range(20)]
    assert (stats["sent"], stats["answered"], stats["refused"]) == (20, 20, 0)


def test_ctrl_c_ends_the_example_with_an_outcome_for_each_document(
    python: Path, example: Path, becalm_program: str
) -> None:
    with MockServer(becalm_program, window="1s") as server:
        environment = clean_environment() | {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "some-key"}
        command = [str(python), "-u", str(example)]
        with Popen(command, cwd=example.parent, env=environment, stdout=PIPE, stderr=PIPE, text=True) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            process.send_signal(signal.SIGINT)
            # Not by `communicate`, which does not see what came along with the first line.
            assert process.stderr is not None
            rest, errors = process.stdout.read(), process.stderr.read()
            process.wait(timeout=30)
        answered = server.stats()["answered"]
    lines = re.findall(r"^document (\d+) (Analysed|postponed: )", first + rest, re.MULTILINE)
    assert sorted((id for id, _ in lines), key=int) == [str(number) for number in range(20)]
    assert [verdict for _, verdict in lines].count("Analysed") == answered < 20
    assert errors.endswith("KeyboardInterrupt\n") and process.returncode == -signal.SIGINT


def test_it_is_the_wheel_that_is_imported(python: Path, tmp_path: Path) -> None:
    found = run(python, "-c", "import becalm; print(becalm.__file__)", folder=tmp_path)
    assert Path(found).is_relative_to(python.parents[1])


def test_its_types_come_with_it(python: Path, example: Path) -> None:
    checked = run(
        Path(sys.executable), "-m", "mypy", "--strict", "--python-executable", python, "--cache-dir", os.devnull, example
    )
    assert "no issues found" in checked


def test_it_has_its_component_and_both_licences(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    assert "becalm/becalm.wasm" in names
    assert {"LICENSE-APACHE", "LICENSE-MIT"} <= {Path(name).name for name in names}


def run(python: Path, *arguments: str | Path, folder: Path | None = None, **environment: str) -> str:
    """What it prints, in a folder from which the checkout cannot be imported."""
    done = subprocess.run(
        [python, *arguments],
        cwd=folder or python.parents[1],
        env=clean_environment() | environment,
        stdout=subprocess.PIPE,
        timeout=300,
        check=True,
        text=True,
    )
    return done.stdout


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "BECALM", "OPENAI"))}
