"""`evalplatform dev` and `evalplatform demo`: what they refuse, write and print."""

import os
import re
import socket
from pathlib import Path

import pytest

from evalplatform.cli.main import exit_code
from evalplatform.cli.orchestration.home import prepare_dagster_home
from tests.support.model_stub import running_stub
from tests.support.starter_project import StarterProject


@pytest.fixture
def starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StarterProject:
    # The demo names its project and Dagster home in the environment of its own process, which here is the tests'.
    monkeypatch.setenv("EVALPLATFORM_PROJECT", "")
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.chdir(tmp_path)
    return StarterProject.written_to(tmp_path / "project")


def test_a_taken_port_is_named_before_anything_starts(starter: StarterProject, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert exit_code(["dev", "--project", os.fspath(starter.folder), "--port", str(port)]) == 2
    assert f"port {port} of 127.0.0.1 is taken; name another one" in capsys.readouterr().err
    assert not (starter.folder / ".evalplatform" / "dagster").exists()


def test_a_foreign_address_is_refused(starter: StarterProject, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["dev", "--project", os.fspath(starter.folder), "--host", "192.0.2.1"]) == 2
    assert "error: --host: port 3000 of 192.0.2.1 cannot be listened on" in capsys.readouterr().err


def test_dev_without_a_project_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("EVALPLATFORM_PROJECT", raising=False)
    monkeypatch.chdir(tmp_path)
    assert exit_code(["dev"]) == 2
    assert "`evalplatform init DIR` starts a project" in capsys.readouterr().err


def test_settings_that_a_user_edited_are_kept(starter: StarterProject) -> None:
    home = prepare_dagster_home(starter.project)
    assert home == starter.folder / ".evalplatform" / "dagster"
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    prepare_dagster_home(starter.project)
    assert (home / "dagster.yaml").read_text() == "telemetry: {enabled: false}\n"


def test_the_demo_shows_its_result_and_a_second_one_asks_nothing(starter: StarterProject, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["demo", os.fspath(starter.folder)]) == 0
    first = capsys.readouterr()
    assert exit_code(["demo", os.fspath(starter.folder)]) == 0
    second = capsys.readouterr()

    assert "kettle: reader (offline:extractive), judged by facts (overlap)" in first.out
    assert "docs+skill:use-kettle   100.0  [100.0, 100.0]     8/8  +93.8" in first.out
    report = next(line.removeprefix("report: ") for line in first.out.splitlines() if line.startswith("report: "))
    assert Path(report).is_file()
    assert re.search(r"UI: EVALPLATFORM_PROJECT=project \S*evalplatform dev, then http://127.0.0.1:3000", first.out)
    assert "36 model calls, $0.0000 paid, 0 replayed from the ledger, 4 shared with an identical call" in first.out
    assert "answers reader: 40/40" in first.err

    assert "cost: 0 model calls; nothing changed since the last run" in second.out
    assert _table(second.out) == _table(first.out)


def test_a_demo_that_its_budget_stops_says_so_once_and_ends_with_2(starter: StarterProject, capsys: pytest.CaptureFixture[str]) -> None:
    starter.edit(
        {
            "endpoints.here.prices": {"input_per_million_usd": 100.0, "output_per_million_usd": 100.0},
            "budgets": {"kettle": {"max_cost_usd": 0.1}},
        }
    )
    assert exit_code(["demo", os.fspath(starter.folder)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "cap of $0.1" in line] == lines[-1:]
    assert lines[-1].startswith("error: The next call could pass the cap of $0.1")


def test_a_demo_over_a_bad_question_file_names_it(starter: StarterProject, capsys: pytest.CaptureFixture[str]) -> None:
    (starter.folder / "questions.json").write_text("[")
    assert exit_code(["demo", os.fspath(starter.folder)]) == 2
    assert f"error: {starter.folder / 'questions.json'}" in capsys.readouterr().err


def test_a_demo_whose_judge_gives_no_score_says_so_and_ends_with_2(starter: StarterProject, capsys: pytest.CaptureFixture[str]) -> None:
    with running_stub() as stub:
        starter.edit(
            {
                "endpoints.there": {"provider": "openai-compatible", "base_url": stub.url},
                "judges.mute": {"kind": "rubric", "model": "stub;do=reply;text=no+scores+here", "endpoint": "there"},
                "suites.kettle.judges": ["mute"],
            }
        )
        assert exit_code(["demo", os.fspath(starter.folder)]) == 2
    partition = f"{starter.cell_key}/{starter.project.judge('mute').key}"
    told = capsys.readouterr().err
    assert f"error: kettle {partition}: 0.0% of the questions were scored" in told
    assert "Without points: malformed_reply 40." in told


def _table(out: str) -> list[str]:
    return [line for line in out.splitlines() if "8/8" in line]
