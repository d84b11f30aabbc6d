"""Cells and judges as partitions: how a new one appears, and what is left of an old one."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

from assets.partitions import cell_and_judge_of_key
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError, ProjectFileError
from evalplatform.project.key_register import meaning_of
from sensors.partitions import LookCursor, partitions_sensor
from tests.support.model_stub import running_stub
from tests.support.starter_project import QUIET, SCORED, SOURCES, StarterProject, failure_of, key_of, materializations, value_of

REMOTE = {"provider": "openai-compatible", "base_url": "http://127.0.0.1:9/v1"}
RUBRIC_JUDGE = {"kind": "rubric", "model": "judge-large", "endpoint": "remote"}


@pytest.fixture
def starter(tmp_path: Path) -> StarterProject:
    return StarterProject.written_to(tmp_path / "project")


def _tick(starter: StarterProject, sensor: dg.SensorDefinition, cursor: str | None = None) -> dg.SensorResult | dg.SkipReason | None:
    with dg.build_sensor_context(instance=starter.instance, definitions=starter.definitions, cursor=cursor) as context:
        result = sensor(context)
    assert result is None or isinstance(result, dg.SensorResult | dg.SkipReason)
    return result


def _look(starter: StarterProject, sensor: dg.SensorDefinition, cursor: str | None = None) -> str:
    """One tick as the daemon makes it: the partitions are added and deleted; return the cursor that it leaves."""
    with dg.build_sensor_context(instance=starter.instance, cursor=cursor) as context:
        done = sensor.evaluate_tick(context)
    for request in done.dynamic_partitions_requests or []:
        if isinstance(request, dg.AddDynamicPartitionsRequest):
            starter.instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
        else:
            for key in request.partition_keys:
                starter.instance.delete_dynamic_partition(request.partitions_def_name, key)
    return done.cursor or ""


def test_the_sensor_adds_a_new_cell_and_judge_without_a_reload_and_runs_nothing(starter: StarterProject) -> None:
    sensor = partitions_sensor(starter.file, suites=("kettle",))  # made before the edit, as in a code location that is not reloaded
    starter.edit(
        {
            "cells.brief": {"model": "extractive", "endpoint": "here", "sampling": {"max_tokens": 30}},
            "endpoints.remote": REMOTE,
            "judges.strict": RUBRIC_JUDGE,
            "suites.kettle.cells": ["reader", "brief"],
            "suites.kettle.judges": ["facts", "strict"],
        }
    )
    result = _tick(starter, sensor)
    assert isinstance(result, dg.SensorResult)
    assert not result.run_requests
    cell, judge = starter.project.cell("brief"), starter.project.judge("strict")
    assert result.dynamic_partitions_requests == [
        dg.AddDynamicPartitionsRequest("kettle.cells", [cell.key]),
        dg.AddDynamicPartitionsRequest("kettle.judges", [judge.key]),
    ]
    with starter.opened() as opened:  # what the keys stand for is known from then on
        assert [meaning.id for meaning in opened.key_register.list("cell")] == ["brief", "reader"]
        assert {meaning.key for meaning in opened.key_register.list("judge")} == {starter.project.judge("facts").key, judge.key}


def test_the_sensor_skips_when_every_partition_is_there(starter: StarterProject) -> None:
    result = _tick(starter, partitions_sensor(starter.file, suites=("kettle",)))
    assert isinstance(result, dg.SkipReason)
    assert result.skip_message == "Every cell and judge of the project file has its partition."


def test_a_key_that_stands_for_something_else_fails_the_look_and_adds_nothing(starter: StarterProject) -> None:
    starter.edit({"cells.reader.sampling.max_tokens": 30})
    behaviour = {**starter.project.cell("reader").behaviour, "model": "another"}
    with starter.opened() as opened:
        taken = meaning_of(starter.project.cell("reader"), first_seen=opened.clock.now())
        opened.key_register.claim(taken.with_changes(behaviour=behaviour, digest=json_digest(behaviour)))
    with pytest.raises(InputError, match="stands for another cell already"):
        _tick(starter, partitions_sensor(starter.file, suites=("kettle",)))
    with pytest.raises(InputError, match="rename the cell 'reader'"):
        starter.register()
    assert starter.cell_key not in starter.instance.get_dynamic_partitions("kettle.cells")
    starter.materialize(SOURCES)
    starter.instance.add_dynamic_partitions("kettle.cells", [starter.cell_key])
    assert "stands for another cell already" in failure_of(starter.materialize(["arm_answers"], starter.cell_key, raise_on_error=False))


def test_an_edited_cell_is_a_partition_of_its_own_and_the_old_one_retires_with_its_history_kept(starter: StarterProject) -> None:
    old = starter.cell_key
    starter.materialize_all()
    starter.edit({"cells.reader.sampling.max_tokens": 30})
    starter.register()
    assert starter.cell_key != old
    assert starter.instance.get_dynamic_partitions("kettle.cells") == [starter.cell_key]
    answers = materializations(starter.materialize(["arm_answers"], starter.cell_key))["arm_answers"]
    assert value_of(answers, "calls_paid") > 0

    starter.edit({"cells.reader.sampling.max_tokens": 120})
    starter.register()
    assert starter.instance.get_dynamic_partitions("kettle.cells") == [old]
    assert old in starter.instance.get_materialized_partitions(key_of("arm_answers"))
    again = materializations(starter.materialize(["arm_answers"], old))["arm_answers"]
    assert value_of(again, "unchanged") is True


def test_the_sensor_retires_a_key_at_the_second_look_in_a_row(starter: StarterProject) -> None:
    sensor = partitions_sensor(starter.file, suites=("kettle",))
    old = starter.cell_key
    starter.edit({"cells.reader.sampling.max_tokens": 30})
    first = _look(starter, sensor)
    assert starter.instance.get_dynamic_partitions("kettle.cells") == [old, starter.cell_key]
    skipped = _tick(starter, sensor)
    assert isinstance(skipped, dg.SkipReason)
    assert (skipped.skip_message or "").endswith(f"1 key ({old}) will be retired if the next look agrees.")
    second = _look(starter, sensor, first)
    assert starter.instance.get_dynamic_partitions("kettle.cells") == [starter.cell_key]
    _look(starter, sensor, second)
    assert starter.instance.get_dynamic_partitions("kettle.cells") == [starter.cell_key]


def test_a_file_that_is_being_saved_retires_nothing(starter: StarterProject) -> None:
    sensor = partitions_sensor(starter.file, suites=("kettle",))
    before = starter.instance.get_dynamic_partitions("kettle.cells")
    whole = starter.file.read_text()
    cursor = None
    for half in ("", "suites: [", whole[: whole.index("judges:")].replace("extractive, endpoint", "extractive, endpont")):
        starter.file.write_text(half)
        with pytest.raises(ProjectFileError, match=str(starter.file)):
            _look(starter, sensor, cursor)
    starter.file.write_text(whole[: whole.index("products:")])  # readable, but without a suite
    cursor = _look(starter, sensor, _look(starter, sensor))
    starter.file.write_text(whole.replace("max_tokens: 120", "max_tokens: 12"))  # readable, and another cell for a moment
    cursor = _look(starter, sensor, cursor)
    starter.file.write_text(whole)
    _look(starter, sensor, cursor)
    assert before[0] in starter.instance.get_dynamic_partitions("kettle.cells")


@pytest.mark.parametrize("cursor", ["not JSON", '{"retiring": 3}', '{"attempt": 2}'])
def test_a_strange_cursor_counts_as_none(starter: StarterProject, cursor: str) -> None:
    assert LookCursor.read(cursor) == LookCursor()
    left = LookCursor.read(_look(starter, partitions_sensor(starter.file, suites=("kettle",)), cursor))
    assert left == LookCursor(project="my-project", suites=("kettle",), claimed=left.claimed)


@pytest.mark.parametrize("job", ["kettle__evaluate_cell", "kettle__judge_cells"])
def test_a_key_stays_until_its_waiting_run_has_ended_and_the_run_says_why_it_fails(starter: StarterProject, job: str) -> None:
    starter.materialize_all()
    key, cell = starter.score_key, starter.cell_key
    tags = {"dagster/partition": cell}
    if job == "kettle__judge_cells":
        tags = {"dagster/partition": str(key), **{f"dagster/partition/{name}": part for name, part in key.keys_by_dimension.items()}}
    defined = starter.definitions.resolve_job_def(job)
    run = starter.instance.create_run_for_job(defined, tags={"evalplatform/suite": "kettle", **tags}, run_config=QUIET)
    starter.edit({"cells.reader.sampling.max_tokens": 30})
    (change,) = starter.register()
    assert (change.retired, change.in_use) == ((), (cell,))
    assert cell in starter.instance.get_dynamic_partitions("kettle.cells")

    ran = execute_run(InMemoryJob(defined), run, starter.instance)
    assert not ran.success
    said = [event.step_failure_data.user_failure_data for event in ran.all_node_events if event.is_step_failure]
    assert any(f"No cell of the project file has the key {cell!r} any more" in (data.description or "") for data in said if data)
    assert starter.register()[0].retired == (cell,)
    assert cell not in starter.instance.get_dynamic_partitions("kettle.cells")


def test_a_retired_cell_fails_with_a_sentence_and_keeps_what_it_made(starter: StarterProject) -> None:
    old = starter.cell_key
    starter.materialize_all()
    starter.edit({"cells.reader.sampling.max_tokens": 30})
    result = starter.materialize(["arm_answers"], old, raise_on_error=False)
    assert failure_of(result) == (
        f"No cell of the project file has the key {old!r} any more (now: {starter.cell_key}). "
        "What it made is kept; edit the project file back to add to it."
    )
    with starter.opened() as opened:
        assert old in {artifact.partition for artifact in opened.catalog.list(asset="arm_answers")}


def test_a_retired_judge_fails_with_a_sentence(starter: StarterProject) -> None:
    old = starter.score_key
    starter.materialize_all()
    starter.edit({"endpoints.remote": REMOTE, "judges.facts": RUBRIC_JUDGE})
    result = starter.materialize(["judged_scores"], old, raise_on_error=False)
    assert failure_of(result).startswith(f"No judge of the project file has the key {old.keys_by_dimension['judge']!r} any more")


def test_a_launch_that_gives_cell_and_judge_as_plain_text_is_served_and_another_text_is_answered_with_the_form(
    starter: StarterProject,
) -> None:
    key = starter.score_key.keys_by_dimension
    with starter.opened() as opened:
        suite = opened.suite_context("kettle")
        cell, judge = cell_and_judge_of_key(suite, f"{key['cell']}|{key['judge']}")
        assert (cell.key, judge.key) == (key["cell"], key["judge"])
        for text in (key["cell"], f"{key['cell']}|", ""):
            with pytest.raises(dg.Failure) as failure:
                cell_and_judge_of_key(suite, text)
            assert "this asset's keys are CELL|JUDGE." in (failure.value.description or "")
        with pytest.raises(dg.Failure, match=r"No cell of the project file has the key 'gone-123456'"):
            cell_and_judge_of_key(suite, f"gone-123456|{key['judge']}")


def test_scores_are_made_for_a_plain_text_key(starter: StarterProject) -> None:
    key = starter.score_key.keys_by_dimension
    starter.materialize(SOURCES)
    starter.materialize(["arm_answers"], starter.cell_key)
    made = materializations(starter.materialize(SCORED, f"{key['cell']}|{key['judge']}"))
    assert set(made) == set(SCORED)


def test_a_new_judge_asks_its_own_model_and_no_answer(starter: StarterProject) -> None:
    starter.materialize_all()
    with running_stub() as stub:
        endpoint = {"provider": "openai-compatible", "base_url": stub.url}
        starter.edit({"endpoints.remote": endpoint, "judges.strict": RUBRIC_JUDGE, "suites.kettle.judges": ["strict"]})
        starter.register()
        scores = materializations(starter.materialize(["judged_scores"], starter.score_key))["judged_scores"]
    assert value_of(scores, "answer_calls") == 0
    assert value_of(scores, "calls_paid") == stub.requests > 0


def test_scores_without_answers_say_what_to_materialize_first(starter: StarterProject) -> None:
    starter.materialize(SOURCES)
    with pytest.raises(dg.Failure, match=f"no arm_answers of partition '{starter.cell_key}' yet; materialize arm_answers first"):
        starter.materialize(["judged_scores"], starter.score_key)
