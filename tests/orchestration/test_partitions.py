"""Cells and judges as partitions: how a new one appears, and what is left of an old one."""

from pathlib import Path

import dagster as dg
import pytest

from assets.partitions import cell_and_judge_of_key
from sensors.partitions import partitions_sensor
from tests.support.model_stub import running_stub
from tests.support.starter_project import SCORED, SOURCES, StarterProject, failure_of, materializations, value_of

REMOTE = {"provider": "openai-compatible", "base_url": "http://127.0.0.1:9/v1"}
RUBRIC_JUDGE = {"kind": "rubric", "model": "judge-large", "endpoint": "remote"}


@pytest.fixture
def starter(tmp_path: Path) -> StarterProject:
    return StarterProject.written_to(tmp_path / "project")


def _tick(starter: StarterProject, sensor: dg.SensorDefinition) -> dg.SensorResult | dg.SkipReason | None:
    with dg.build_sensor_context(instance=starter.instance, definitions=starter.definitions) as context:
        result = sensor(context)
    assert result is None or isinstance(result, dg.SensorResult | dg.SkipReason)
    return result


def test_the_sensor_adds_a_new_cell_and_judge_without_a_reload_and_runs_nothing(starter: StarterProject) -> None:
    sensor = partitions_sensor(starter.file)  # made before the edit, as in a code location that is not reloaded
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
    added = {request.partitions_def_name: request.partition_keys for request in result.dynamic_partitions_requests or []}
    assert added == {"kettle.cells": [cell.key], "kettle.judges": [judge.key]}


def test_the_sensor_skips_when_every_partition_is_there(starter: StarterProject) -> None:
    result = _tick(starter, partitions_sensor(starter.file))
    assert isinstance(result, dg.SkipReason)
    assert result.skip_message == "Every cell and judge of the project file has its partition."


def test_an_edited_cell_becomes_a_partition_of_its_own_beside_the_old_one(starter: StarterProject) -> None:
    old = starter.cell_key
    starter.materialize_all()
    starter.edit({"cells.reader.sampling.max_tokens": 30})
    starter.register()
    assert starter.cell_key != old
    assert starter.instance.get_dynamic_partitions("kettle.cells") == [old, starter.cell_key]
    answers = materializations(starter.materialize(["arm_answers"], starter.cell_key))["arm_answers"]
    assert value_of(answers, "calls_paid") > 0


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
