"""The sensor that asks a new judge to grade stored answers: when it asks, for what, and how often."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.kernel.errors import InputError
from sensors import new_judges as module
from sensors.new_judges import AskedCursor, new_judges_sensor
from tests.support.model_stub import ModelStub, running_stub
from tests.support.starter_project import QUIET, SCORED, SOURCES, StarterProject, materializations, value_of

# Dagster says this of its own tags of two partition dimensions.
pytestmark = pytest.mark.filterwarnings("ignore:Non-compliant tag keys:DeprecationWarning")

CELLS = {
    "reader": {"model": "extractive", "endpoint": "here", "sampling": {"max_tokens": 120}},
    "brief": {"model": "extractive", "endpoint": "here", "sampling": {"max_tokens": 30}},
}


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with running_stub() as stub:
        yield stub


@pytest.fixture
def starter(tmp_path: Path) -> StarterProject:
    starter = StarterProject.written_to(tmp_path / "project")
    starter.edit({"cells": CELLS, "suites.kettle.cells": list(CELLS)})
    starter.register()
    starter.materialize(SOURCES)
    return starter


def answered(starter: StarterProject, *cells: str, scored: bool = True) -> None:
    """Answer in the cells, and have the first judge grade them."""
    facts = starter.project.judge("facts").key
    for cell in cells:
        key = starter.project.cell(cell).key
        starter.materialize(["arm_answers"], key)
        if scored:
            starter.materialize(SCORED, dg.MultiPartitionKey({"cell": key, "judge": facts}))


def with_new_judge(starter: StarterProject, stub: ModelStub) -> str:
    """Add a rubric judge to the suite, and return its key."""
    endpoint = {"provider": "openai-compatible", "base_url": stub.url}
    judge = {"kind": "rubric", "model": "grader", "endpoint": "remote"}
    starter.edit({"endpoints.remote": endpoint, "judges.strict": judge, "suites.kettle.judges": ["facts", "strict"]})
    starter.register()
    return starter.project.judge("strict").key


def look(starter: StarterProject, cursor: str | None = None) -> tuple[list[dg.RunRequest], str, str | None]:
    """One tick: what it asks for, the cursor it leaves, and why it asks for nothing."""
    sensor = new_judges_sensor(starter.file, "kettle")
    with dg.build_sensor_context(instance=starter.instance, definitions=starter.definitions, cursor=cursor) as context:
        done = sensor.evaluate_tick(context)
    return list(done.run_requests or []), done.cursor or "", done.skip_message


def asked_keys(requests: list[dg.RunRequest]) -> set[str]:
    return {str(request.partition_key) for request in requests}


def test_a_new_judge_is_asked_once_for_every_cell_that_is_answered(starter: StarterProject, stub: ModelStub) -> None:
    answered(starter, "reader")
    assert look(starter)[0] == []  # every judge has graded what is there
    judge, cell = with_new_judge(starter, stub), starter.project.cell("reader").key
    (request,), cursor, _ = look(starter)
    with starter.opened() as opened:
        manifest = opened.suite_context("kettle").upstream("arm_answers", cell)
    key = dg.AssetKey(["suites", "kettle", "arm_answers"])
    recorded = starter.instance.get_latest_storage_id_by_partition(key, dg.DagsterEventType.ASSET_MATERIALIZATION)[cell]
    assert request.run_key == f"kettle:{cell}:{judge}:{manifest.data_version}@{recorded}:1"
    assert str(request.partition_key) == f"{cell}|{judge}"
    tags = {name: value for name, value in request.tags.items() if name.startswith("evalplatform/")}
    assert tags == {"evalplatform/suite": "kettle", "evalplatform/cell": cell, "evalplatform/judge": judge}
    assert look(starter, cursor)[0] == []

    answered(starter, "brief", scored=False)  # the answers of a further cell arrive
    requests, cursor, _ = look(starter, cursor)
    brief = starter.project.cell("brief").key
    assert asked_keys(requests) == {f"{brief}|{judge}", f"{brief}|{starter.project.judge('facts').key}"}


def test_the_run_that_is_asked_for_grades_without_an_answer_call_and_the_pair_is_settled(starter: StarterProject, stub: ModelStub) -> None:
    answered(starter, "reader")
    with_new_judge(starter, stub)
    (request,), cursor, _ = look(starter)
    job = starter.definitions.resolve_job_def("kettle__judge_cells")
    ran = job.execute_in_process(partition_key=request.partition_key, instance=starter.instance, run_config=QUIET)
    scores = materializations(ran)["judged_scores"]
    assert value_of(scores, "answer_calls") == 0
    assert value_of(scores, "calls_paid") == stub.requests > 0
    requests, cursor, why = look(starter, cursor)
    assert requests == []
    assert AskedCursor.read(cursor) == AskedCursor()
    assert why == "Every judge has graded the complete answers of every cell, or was asked to."


def test_a_pair_that_failed_is_asked_for_again_only_when_its_answers_change_or_by_a_new_attempt(
    starter: StarterProject, stub: ModelStub
) -> None:
    answered(starter, "reader")
    with_new_judge(starter, stub)
    (first,), cursor, _ = look(starter)
    requests, _, why = look(starter, cursor)  # the run has failed: nothing was recorded
    assert requests == []
    assert "1 partition asked for and not finished, or failed." in (why or "")

    (again,), _, _ = look(starter, '{"attempt": 2}')
    assert again.run_key == f"{(first.run_key or '').removesuffix(':1')}:2"

    edit_document(starter)
    answered(starter, "reader")
    (changed,), _, _ = look(starter, cursor)
    assert (changed.run_key or "").endswith(":1")
    assert changed.run_key != first.run_key


def edit_document(starter: StarterProject) -> str:
    """Give some arms another text to read, and return the text that was there."""
    document = starter.folder / "docs/boiling.md"
    before = document.read_text()
    document.write_text(before + "\nWater boils at 100 degrees.\n")
    starter.materialize(SOURCES)
    return before


def test_answers_that_come_back_to_an_earlier_version_are_asked_for_under_a_key_of_their_own(
    starter: StarterProject, stub: ModelStub
) -> None:
    """Dagster starts no run whose key it remembers, so that a key used twice would lose what it asks for."""
    answered(starter, "reader")
    with_new_judge(starter, stub)
    (first,), cursor, _ = look(starter)
    before = edit_document(starter)
    answered(starter, "reader")
    (changed,), cursor, _ = look(starter, cursor)
    (starter.folder / "docs/boiling.md").write_text(before)
    starter.materialize(SOURCES)
    answered(starter, "reader")
    (back,), cursor, _ = look(starter, cursor)
    assert len({first.run_key, changed.run_key, back.run_key}) == 3
    assert look(starter, cursor)[0] == []


def test_answers_that_a_stopped_run_has_replaced_in_the_store_are_waited_for(starter: StarterProject, stub: ModelStub) -> None:
    """Dagster goes on naming the complete version; a run would grade what is current in the store."""
    answered(starter, "reader", "brief")
    with_new_judge(starter, stub)
    edit_document(starter)
    prices = {"input_per_million_usd": 100.0, "output_per_million_usd": 100.0}
    starter.edit({"endpoints.here.prices": prices, "budgets": {"kettle": {"max_cost_usd": 0.001}}})
    assert not starter.materialize(["arm_answers"], starter.project.cell("reader").key, raise_on_error=False).success
    requests, cursor, _ = look(starter)
    assert {str(request.partition_key).split("|")[0] for request in requests} == {starter.project.cell("brief").key}
    starter.edit({"budgets": {"kettle": {"max_cost_usd": 100.0}}})
    answered(starter, "reader")
    assert {str(request.partition_key).split("|")[0] for request in look(starter, cursor)[0]} == {starter.project.cell("reader").key}


def test_answers_that_are_not_complete_are_waited_for_and_looked_at_once(
    starter: StarterProject, stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter.edit({"endpoints.remote": {"provider": "openai-compatible", "base_url": stub.url}, "cells.brief.endpoint": "remote"})
    starter.register()
    stub.fail_after, stub.fail_status = 34, 422  # of 36
    answered(starter, "brief", scored=False)
    requests, cursor, why = look(starter)
    assert requests == []
    assert "1 cell with answers that are not complete." in (why or "")

    def refuse(*arguments: Any) -> None:
        pytest.fail("a cell's manifest was read again")

    with monkeypatch.context() as patched:
        patched.setattr(ArtifactCatalog, "current", refuse)
        assert look(starter, cursor)[0] == []
    stub.fail_after = None
    answered(starter, "brief", scored=False)  # asks what failed
    assert len(look(starter, cursor)[0]) == 1


def test_one_look_asks_for_a_bounded_number_and_the_next_goes_on(
    starter: StarterProject, stub: ModelStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_REQUESTS", 1)
    answered(starter, "reader", "brief")
    judge = with_new_judge(starter, stub)
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        requests, cursor, _ = look(starter, cursor)
        seen += sorted(asked_keys(requests))
    assert seen == [f"{starter.project.cell(cell).key}|{judge}" for cell in ("reader", "brief")]


@pytest.mark.parametrize("tags", [("partition",), ("asset_partition_range_start", "asset_partition_range_end")])
def test_what_is_under_way_already_is_not_asked_for(starter: StarterProject, stub: ModelStub, tags: tuple[str, ...]) -> None:
    answered(starter, "reader")
    pair = f"{starter.project.cell('reader').key}|{with_new_judge(starter, stub)}"
    job = starter.definitions.resolve_job_def("kettle__judge_cells")
    run_tags = {"evalplatform/suite": "kettle", **{f"dagster/{name}": pair for name in tags}}
    run = starter.instance.create_run_for_job(job, tags=run_tags, run_config=QUIET)
    requests, cursor, _ = look(starter)
    assert requests == []
    starter.instance.report_run_failed(run)
    assert asked_keys(look(starter, cursor)[0]) == {pair}


def test_only_registered_partitions_are_asked_for(starter: StarterProject, stub: ModelStub) -> None:
    answered(starter, "reader")
    judge = with_new_judge(starter, stub)
    starter.instance.delete_dynamic_partition("kettle.judges", judge)
    assert look(starter)[0] == []


def test_the_sensor_is_stopped_until_somebody_starts_it_and_says_that_it_spends(starter: StarterProject) -> None:
    sensor = new_judges_sensor(starter.file, "kettle")
    assert sensor.default_status is dg.DefaultSensorStatus.STOPPED
    assert "Spends money" in (sensor.description or "")
    (shipped,) = [found for found in starter.definitions.sensors or [] if found.name == "kettle__new_judges"]
    assert isinstance(shipped, dg.SensorDefinition)
    assert shipped.job_name == "kettle__judge_cells"


@pytest.mark.parametrize("cursor", ["2", '{"attempt": 0}', '{"attempt": "2"}', '{"attempts": 2}'])
def test_a_cursor_that_is_none_is_answered_with_the_form(starter: StarterProject, cursor: str) -> None:
    with pytest.raises(InputError, match=r'cursor: .* is no cursor of this sensor; write \{"attempt": 2\} to ask again'):
        look(starter, cursor)
