"""Two meanings under one partition key, as six hex digits allow: the second is refused, and never shown the results of the first."""

import os
from pathlib import Path

import dagster as dg
import pytest

from evalplatform.cli.main import exit_code
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import InputError
from evalplatform.stages.judged_scores import score_inputs
from evalplatform.stages.score_chain import score_events
from evalplatform.stages.score_stages import suite_stages
from sensors.partitions import partitions_sensor
from tests.support.starter_project import SOURCES, StarterProject, failure_of

KEY = "reader-eeb414"
FIRST, SECOND = {"max_tokens": 2624}, {"max_tokens": 7980}
"""Two samplings of the starter's cell that share the six digits of its key."""
REFUSED = f"the partition key '{KEY}' stands for another cell already"


@pytest.fixture
def reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StarterProject:
    """A project with everything made, whose cell was then edited to another of the same key."""
    monkeypatch.setenv("DAGSTER_HOME", "")
    starter = StarterProject.written_to(tmp_path / "project")
    starter.edit({"cells.reader.sampling": FIRST})
    assert starter.cell_key == KEY
    assert _command(starter, "backfill") == 0
    starter.register()
    starter.edit({"cells.reader.sampling": SECOND})
    assert starter.cell_key == KEY
    return starter


def _command(starter: StarterProject, *arguments: str) -> int:
    return exit_code([*arguments, "--project", os.fspath(starter.folder)])


def test_every_command_refuses_a_cell_whose_key_stands_for_another_and_going_back_finds_it_fresh(
    reused: StarterProject, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert _command(reused, "backfill", "--dry-run") == 0
    assert "stale by cell" in capsys.readouterr().out
    for command in (("backfill",), ("arms", "run", "--suite", "kettle", "--judge"), ("sync",)):
        assert _command(reused, *command) == 2
        told = capsys.readouterr().err
        assert REFUSED in told, command
        assert "rename the cell 'reader' in the project file" in told
    reused.edit({"cells.reader.sampling": FIRST})
    assert _command(reused, "backfill") == 0
    assert "nothing to make" in capsys.readouterr().out


def test_dagster_refuses_it_at_every_asset_and_the_look_at_the_project_file_fails(reused: StarterProject) -> None:
    reused.materialize(SOURCES)
    assert REFUSED in failure_of(reused.materialize(["arm_answers"], KEY, raise_on_error=False))
    for asset in ("judged_scores", "arm_summary", "score_moves", "arms_report"):
        assert REFUSED in failure_of(reused.materialize([asset], reused.score_key, raise_on_error=False)), asset
    with (
        dg.build_sensor_context(instance=reused.instance, definitions=reused.definitions) as context,
        pytest.raises(InputError, match="stands for another cell already"),
    ):
        partitions_sensor(reused.file, suites=("kettle",))(context)


def test_an_unedited_project_is_claimed_once_and_an_edited_one_again(reused: StarterProject) -> None:
    sensor = partitions_sensor(reused.file, suites=("kettle",))
    reused.edit({"cells.reader.sampling": FIRST})
    with dg.build_sensor_context(instance=reused.instance) as context:
        cursor = sensor.evaluate_tick(context).cursor
    (record,) = (reused.folder / ".evalplatform/store/keys/cells").glob(f"{KEY}.json")
    kept = record.read_bytes()
    record.write_bytes(b"not read")
    with dg.build_sensor_context(instance=reused.instance, cursor=cursor) as context:
        assert sensor.evaluate_tick(context).cursor == cursor
    record.write_bytes(kept)
    reused.edit({"cells.reader.sampling": SECOND})
    with (
        dg.build_sensor_context(instance=reused.instance, cursor=cursor) as context,
        pytest.raises(InputError, match="stands for another cell already"),
    ):
        sensor.evaluate_tick(context)


def test_scores_of_another_judge_under_the_same_key_are_stale_and_refused(reused: StarterProject) -> None:
    reused.edit({"cells.reader.sampling": FIRST})
    with reused.opened() as opened:
        context = opened.suite_context("kettle")
        cell, judge = context.project.cell("reader"), context.project.judge("facts")
        other = judge.with_changes(prompt_digest=text_digest("another rule"))
        assert other.key == judge.key
        versions = {"arm_answers": "v1"}
        assert score_inputs(context, cell, judge, versions) != score_inputs(context, cell, other, versions)
        assert list(score_events(context, cell, judge, suite_stages(context.suite)))
        with pytest.raises(InputError, match="stands for another judge already"):
            list(score_events(context, cell, other, suite_stages(context.suite)))
