"""A version that was removed because it was damaged, as the store advises: it is made again, and stops nobody else meanwhile."""

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.cli.main import exit_code
from tests.support.starter_project import StarterProject


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StarterProject:
    """A cell under two judges, with everything made."""
    monkeypatch.setenv("DAGSTER_HOME", "")
    starter = StarterProject.written_to(tmp_path / "project")
    starter.edit(
        {"judges.second": {"kind": "overlap", "model": "overlap", "endpoint": "here"}, "suites.kettle.judges": ["facts", "second"]}
    )
    assert _command(starter, "backfill") == 0
    return starter


def _command(starter: StarterProject, *arguments: str) -> int:
    return exit_code([*arguments, "--project", os.fspath(starter.folder)])


def _remove(starter: StarterProject, asset: str, partition: str) -> Path:
    (version,) = (path for path in (starter.folder / ".evalplatform/store/artifacts/kettle" / asset / partition).iterdir())
    shutil.rmtree(version)
    return version


def test_scores_that_were_removed_are_made_again_and_another_judge_goes_on(
    made: StarterProject, capsys: pytest.CaptureFixture[str]
) -> None:
    removed = _remove(made, "judged_scores", f"{made.cell_key}/{made.project.judge('facts').key}")
    assert _command(made, "backfill", "--judge", "second") == 0
    assert not removed.exists()
    assert _command(made, "sync") == 0
    assert _command(made, "backfill") == 0
    assert removed.exists()
    capsys.readouterr()
    assert _command(made, "backfill") == 0
    assert "nothing to make" in capsys.readouterr().out


def test_answers_that_were_removed_do_not_stop_what_looks_through_all_answers(
    made: StarterProject, capsys: pytest.CaptureFixture[str]
) -> None:
    _remove(made, "arm_answers", made.cell_key)
    capsys.readouterr()
    assert _command(made, "ledger", "prune", "--before", datetime.now(UTC).isoformat(), "--no-export", "--json") == 1
    assert json.loads(capsys.readouterr().out)["behind_current_answers"] == 0
    assert _command(made, "backfill") == 0
