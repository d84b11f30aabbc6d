"""`evalplatform batches unstable`: what it prints, and what its exit code says."""

import json
from pathlib import Path

import pytest

from evalplatform.cli.main import exit_code
from tests.support.runs_project import RunsProject


def unstable(runs: RunsProject, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str]:
    code = exit_code(["batches", "unstable", "--project", str(runs.folder), *flags])
    return code, capsys.readouterr().out


@pytest.fixture
def runs(tmp_path: Path) -> RunsProject:
    return RunsProject.written_to(tmp_path / "project")


def test_nothing_that_ran_twice_is_no_answer(runs: RunsProject, capsys: pytest.CaptureFixture[str]) -> None:
    runs.push_recent({"refund": "P"})
    code, out = unstable(runs, capsys)
    assert (code, out.splitlines()[0]) == (2, "Not enough evidence: no commit ran twice.")


def test_unstable_scenarios_are_shown_and_change_no_exit_code(runs: RunsProject, capsys: pytest.CaptureFixture[str]) -> None:
    runs.push_recent({"refund": "P"}, {"refund": "F"})
    code, out = unstable(runs, capsys)
    assert code == 0
    assert "refund: 1/2 runs passed over 2 batches" in out
    code, out = unstable(runs, capsys, "--json")
    assert (code, [one["scenario_id"] for one in json.loads(out)["unstable"]]) == (0, ["refund"])
