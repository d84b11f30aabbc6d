"""A command line in this process: arguments in; exit code, standard output and standard error out."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from evalplatform.cli.main import exit_code
from tests.contracts.conftest import awkward_texts
from tests.support.starter import starter

__all__ = ["awkward_texts"]


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Ran]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run `evalplatform` in the test's folder, away from the caller's project and keys, and from the CI that runs the test."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("GITHUB_")]:
        monkeypatch.delenv(name)
    for name in ("PROJECT", "STORAGE", "DATABASE", "DEBUG"):
        monkeypatch.delenv(f"EVALPLATFORM_{name}", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(*arguments: object) -> Ran:
        code = exit_code([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Ran(code, out, err)

    return run


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a starter project, which is the working folder too."""
    folder = tmp_path / "project"
    starter(folder)
    monkeypatch.chdir(folder)
    return folder
