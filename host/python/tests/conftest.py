"""What the tests share: the real component, a rate-limited server in another process, and an endpoint in this one."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from servers import Endpoint, MockServer

from becalm import Sandbox, Settings


@pytest.fixture(scope="session")
def becalm_program() -> str:
    """The command line, which brings the component and the rate-limited server along."""
    program = os.environ.get("BECALM")
    if not program:
        pytest.exit("BECALM does not name the becalm program", returncode=2)
    return program


@pytest.fixture(scope="session")
def component_file(becalm_program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("component") / "becalm.wasm"
    subprocess.run([becalm_program, "component", "-o", path], check=True, capture_output=True, timeout=20)
    return path


@pytest.fixture(scope="session")
def sandbox(component_file: Path) -> Sandbox:
    return Sandbox(component_file)


@pytest.fixture
def mock_server(becalm_program: str) -> Iterator[MockServer]:
    """Ten requests in any two seconds."""
    with MockServer(becalm_program) as server:
        yield server


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server


@pytest.fixture
def settings(sandbox: Sandbox) -> Settings:
    """The defaults, with waits that suit a test."""
    defaults = sandbox.default_settings()
    return replace(
        defaults,
        retry=replace(defaults.retry, base=10, cap=20, jitter=100, patience=10_000),
        timeouts=replace(defaults.timeouts, whole_request=5_000),
        seed=1,
    )
