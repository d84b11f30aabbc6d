"""What goes wrong in a step, and how it reads in Dagster: one sentence, and never as clean."""

import json
from pathlib import Path

import dagster as dg
import pytest

from tests.support.model_stub import running_stub
from tests.support.starter_project import SOURCES, StarterProject, failure_of, materializations, value_of


@pytest.fixture
def starter(tmp_path: Path) -> StarterProject:
    return StarterProject.written_to(tmp_path / "project")


def _write_questions(starter: StarterProject, *questions: dict[str, object]) -> None:
    (starter.folder / "questions.json").write_text(json.dumps({"schema_version": "questions.v2", "questions": questions}, indent=1))


def test_a_bad_question_file_fails_with_file_and_line(starter: StarterProject) -> None:
    _write_questions(starter, {"id": "one", "question": "How?"}, {"id": "one", "question": "Why?"})
    result = starter.materialize(["question_set"], raise_on_error=False)
    sentence = failure_of(result)
    assert sentence.startswith(f"{starter.folder / 'questions.json'}:")
    assert "'one'" in sentence


def test_what_a_user_wrote_wrongly_is_not_tried_again(starter: StarterProject) -> None:
    (starter.folder / "questions.json").write_text("{")
    with pytest.raises(dg.Failure) as raised:
        starter.materialize(["question_set"])
    assert raised.value.allow_retries is False


def test_a_project_file_broken_after_the_load_fails_the_step_with_its_line(starter: StarterProject) -> None:
    definitions = starter.definitions
    starter.file.write_text(starter.file.read_text().replace("model: extractive", "modle: extractive"))
    with pytest.raises(dg.Failure, match=r"evalplatform\.yaml:\d+: cells\.reader\.modle: .*Did you mean 'model'"):
        dg.materialize(
            list(definitions.assets or []),
            selection=[dg.AssetKey(["suites", "kettle", "question_set"])],
            resources=definitions.resources,
            instance=starter.instance,
        )


def test_a_run_that_its_budget_stops_fails_and_keeps_what_it_paid_for(starter: StarterProject) -> None:
    starter.edit(
        {
            "endpoints.here.prices": {"input_per_million_usd": 100.0, "output_per_million_usd": 100.0},
            "budgets": {"kettle": {"max_cost_usd": 0.1}},
        }
    )
    starter.materialize(SOURCES)
    stopped = starter.materialize(["arm_answers"], starter.cell_key, raise_on_error=False)
    assert not stopped.success
    assert "could pass the cap of $0.1" in failure_of(stopped)
    assert "asks only what is missing" in failure_of(stopped)

    (event,) = [event for event in stopped.all_node_events if event.is_step_failure]
    failure = event.step_failure_data.user_failure_data
    assert failure is not None
    assert failure.metadata["complete"].value is False
    assert failure.metadata["truncated_reason"].value == "budget_exhausted"
    paid = int(str(failure.metadata["calls_paid"].value))
    assert 0 < paid < 40
    assert failure.metadata["failures"].value == 40 - failure.metadata["states"].value["answered"]  # type: ignore[index]

    starter.edit({"budgets": {"kettle": {"max_cost_usd": 100.0}}})
    resumed = materializations(starter.materialize(["arm_answers"], starter.cell_key))["arm_answers"]
    assert (value_of(resumed, "complete"), value_of(resumed, "failures"), value_of(resumed, "calls_replayed")) == (True, 0, paid)


def test_scores_of_incomplete_answers_never_read_as_complete(starter: StarterProject) -> None:
    _write_questions(starter, {"id": "one", "question": "How hot?", "expected_facts": ["hot"]}, {"id": "two", "question": "How long?"})
    with running_stub(fail_first=1) as stub:
        starter.edit(
            {
                "endpoints.stub": {
                    "provider": "openai-compatible",
                    "base_url": stub.url,
                    "retry": {"attempts": 1},
                    "limits": {"max_concurrent": 1},
                },
                "cells.reader": {"model": "small", "endpoint": "stub"},
                "suites.kettle.arms": ["baseline", "profile:profiles/plain-speaker.md"],
            }
        )
        starter.register()
        first = starter.materialize_all()
        second = starter.materialize_all()
    assert (value_of(first["arm_answers"], "complete"), value_of(first["arm_answers"], "failures")) == (False, 4)
    assert value_of(first["arm_answers"], "calls_failed") == 4
    for name in ("arm_summary", "arms_report"):
        assert value_of(first[name], "complete") is False
    assert value_of(first["judged_scores"], "failures") == 4
    assert value_of(first["judged_scores"], "unscored_reasons")
    assert (value_of(second["arm_answers"], "complete"), value_of(second["arm_answers"], "failures")) == (True, 0)
    assert value_of(second["arms_report"], "complete") is True
