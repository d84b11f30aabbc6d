"""Help names every default, typos are answered, and a command ends with 0, 1, 2 or 130, without a traceback."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from evalplatform import __version__
from evalplatform.cli import main
from evalplatform.cli.main import app, exit_code
from tests.cli.conftest import Command
from tests.support.model_stub import running_stub
from tests.support.starter import edited, starter


def commands() -> list[tuple[str, ...]]:
    root = typer.main.get_command(app)
    found: list[tuple[str, ...]] = [()]
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        found.append((name,))
        found += [(name, below) for below in getattr(command, "commands", {})]
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_has_help_that_says_what_it_does(command: Command, words: tuple[str, ...]) -> None:
    ran = command(*words, "--help")
    assert ran.code == 0
    assert ran.err == ""
    assert "Usage: evalplatform" in ran.out
    assert ran.out.count("--help") >= 1


def test_help_names_the_defaults(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = " ".join(command("arms", "run", "--help").out.replace("│", " ").split())
    for default in ("baseline", "5", "0.3", "1", "arms-runner", "--provider", "results/arms/<product>.json", "results/arms/<product>.md"):
        assert f"[default: ({default})]" in shown
    assert "[default: 3000]" in command("dev", "--help").out
    assert "[default: downloads]" in command("assets", "download", "--help").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plna",), "No such command 'plna'. Did you mean 'plan'?"),
        (("arms", "rnu"), "No such command 'rnu'. Did you mean 'run'?"),
        (("assets", "downlod"), "Did you mean 'download'?"),
        (("plan", "--sute", "x"), "--suite"),
        (("init",), "DIR"),
        (("plan", "surplus"), "surplus"),
        (("dev", "--port", "99999"), "'--port'"),
        (
            ("report", "model-compare", "--stats-correction", "holmm"),
            "'--stats-correction': 'holmm' is not one of 'holm', 'bh'. Did you mean 'holm'?\n",
        ),
        (("judge", "validity", "--bases", "x"), "'--bases': must be a valid integer"),
    ],
)
def test_a_typo_is_answered_with_the_near_name(command: Command, words: tuple[str, ...], said: str) -> None:
    ran = command(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert said in ran.err


@pytest.mark.parametrize("words", [(), ("arms",), ("assets",)], ids=["evalplatform", "arms", "assets"])
def test_a_group_without_a_command_shows_its_help_and_no_empty_error(command: Command, words: tuple[str, ...]) -> None:
    ran = command(*words)
    assert (ran.code, ran.err) == (2, "")
    assert "Usage: evalplatform" in ran.out


def test_the_version_is_printed(command: Command) -> None:
    assert command("--version").out == f"evalplatform {__version__}\n"


def test_what_nobody_foresaw_is_one_line_and_with_the_debug_variable_a_traceback(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    def broken(arguments: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(main.typer.main, "get_command", broken)
    ran = command("plan")
    assert ran.code == 2
    assert "error: something unforeseen went wrong: ZeroDivisionError: by zero" in ran.err
    assert "EVALPLATFORM_DEBUG=1" in ran.err
    monkeypatch.setenv("EVALPLATFORM_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        exit_code(["plan"])


def started(folder: Path, *words: str, **environment: str) -> "subprocess.Popen[bytes]":
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("EVALPLATFORM_")}
    command = [sys.executable, "-c", "from evalplatform.cli.main import run; run()", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**inherited, **environment})


def test_ctrl_c_exits_with_130_and_says_that_the_same_command_goes_on(tmp_path: Path) -> None:
    with running_stub(latency_seconds=0.2) as stub:
        there = f'  there: {{provider: openai-compatible, base_url: "{stub.url}", limits: {{max_concurrent: 1}}}}'
        here = "  here: {provider: offline}"
        starter(tmp_path)
        edited(tmp_path / "evalplatform.yaml", (here, f"{here}\n{there}"), ("endpoint: here, sampling", "endpoint: there, sampling"))
        process = started(tmp_path, "arms", "run", "--suite", "kettle")
        while stub.requests < 2 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert b"interrupted: what is finished is kept; the same command goes on from there." in err
        assert b"Traceback" not in err


def test_a_terminal_that_cannot_show_a_character_does_not_end_the_command(tmp_path: Path) -> None:
    starter(tmp_path)
    process = started(tmp_path, "arms", "run", "--suite", "kettle", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert b"baseline" in out


def test_a_path_of_bytes_that_are_no_text_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    starter(tmp_path)
    process = started(tmp_path, "plan", "--project", os.fsdecode(b"no\xffwhere"))
    _, err = process.communicate(timeout=60)
    assert (process.returncode, b"Traceback" in err) == (2, False)
    assert b"error: " in err


def test_a_reader_that_stops_reading_ends_the_command_quietly(tmp_path: Path) -> None:
    starter(tmp_path)
    process = started(tmp_path, "plan")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert b"Traceback" not in err
    assert b"BrokenPipe" not in err


def test_the_page_of_the_command_line_names_every_command_without_json() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"`--json` prints the result as JSON; (.+) have no such flag", page)
    without = {name for name, command in _leaves(typer.main.get_command(app)) if all("--json" not in one.opts for one in command.params)}
    assert set(re.findall(r"`([^`]+)`", sentence)) == without


def _leaves(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
    else:
        for inner_name, one in inner.items():
            yield from _leaves(one, f"{name} {inner_name}".strip())
