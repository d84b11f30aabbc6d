"""Several partitions in one run: each is recorded, capped, shown stale and failed by itself."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus  # what the UI asks; there is no public way to
from dagster._core.loader import LoadingContextForTest

from evalplatform.stages.score_stages import SCORE_STAGES
from tests.support.model_stub import ModelStub, running_stub
from tests.support.starter_project import (
    SOURCES,
    StarterProject,
    data_version_of,
    failure_of,
    key_of,
    materializations,
    materialized_partitions,
    value_of,
)

SCORED = [stage.asset for stage in SCORE_STAGES if stage.asset != "verdicts"]  # the starter has no threshold
POINTER = "dagster/input_event_pointer/"
VERSION = "dagster/input_data_version/"


@pytest.fixture
def starter(tmp_path: Path) -> StarterProject:
    return StarterProject.written_to(tmp_path / "project")


def _answered(starter: StarterProject) -> list[dg.MultiPartitionKey]:
    keys = starter.add_cells("brief", "long")
    starter.answer()
    return keys


def _edit_document(starter: StarterProject) -> None:
    path = starter.folder / "docs/boiling.md"
    path.write_text(path.read_text() + "\nWater boils at 100 degrees.\n")


def _stale(starter: StarterProject, keys: list[dg.MultiPartitionKey]) -> set[tuple[str, str]]:
    graph = starter.definitions.resolve_asset_graph()
    resolver = CachingStaleStatusResolver(starter.instance, graph, loading_context=LoadingContextForTest(starter.instance))
    partitions = [(name, key) for key in keys for name in SCORED]
    return {(name, str(key)) for name, key in partitions if resolver.get_status(key_of(name), key) != StaleStatus.FRESH}


def test_every_partition_of_a_batch_has_its_own_version_as_stored(starter: StarterProject) -> None:
    keys = _answered(starter)
    made = materialized_partitions(starter.materialize_batch(SCORED, keys))
    assert set(made) == {(name, key) for key in keys for name in SCORED}
    with starter.opened() as opened:
        for (name, key), recorded in made.items():
            stored = opened.catalog.current(opened.suite_context("kettle").artifact(name, str(key).replace("|", "/")))
            assert stored is not None
            assert data_version_of(recorded) == stored.data_version
    assert len({data_version_of(made[name, key]) for key in keys for name in SCORED}) == len(made)


def test_a_batch_records_of_a_partition_what_a_run_of_its_own_does(starter: StarterProject, tmp_path: Path) -> None:
    keys = _answered(starter)
    batched = materialized_partitions(starter.materialize_batch(SCORED, keys))
    alone = StarterProject.written_to(tmp_path / "alone")
    _answered(alone)
    for key in keys:
        for name, single in materializations(alone.materialize(SCORED, key)).items():
            of_batch = batched[name, key]
            assert set(of_batch.metadata) == set(single.metadata)
            single_tags, batch_tags = dict(single.tags or {}), dict(of_batch.tags or {})
            assert set(batch_tags) == set(single_tags)
            told = {tag for tag in single_tags if not tag.startswith((POINTER, VERSION))}
            assert {tag: batch_tags[tag] for tag in told} == {tag: single_tags[tag] for tag in told}


def test_what_a_batch_made_is_fresh_and_an_edit_reaches_its_own_partition_alone(starter: StarterProject) -> None:
    keys = _answered(starter)
    starter.materialize_batch(SCORED, keys)
    assert _stale(starter, keys) == set()
    _edit_document(starter)
    starter.materialize(["corpus"])
    starter.materialize(["arm_answers"], keys[1].keys_by_dimension["cell"])
    assert _stale(starter, keys) == {(name, str(keys[1])) for name in SCORED if "arm_answers" in _reads(name)}
    starter.materialize_batch(SCORED, keys)
    assert _stale(starter, keys) == set()


def _reads(name: str) -> set[str]:
    (stage,) = [stage for stage in SCORE_STAGES if stage.asset == name]
    return {read.ASSET for read in stage.reads}


def test_a_batch_of_the_scores_alone_makes_the_rest_stale(starter: StarterProject) -> None:
    keys = _answered(starter)
    starter.materialize_batch(SCORED, keys)
    _edit_document(starter)
    starter.materialize(SOURCES)
    for key in keys[:2]:
        starter.materialize(["arm_answers"], key.keys_by_dimension["cell"])
    made = materialized_partitions(starter.materialize_batch(["judged_scores"], keys[:2]))
    assert set(made) == {("judged_scores", key) for key in keys[:2]}
    stale = _stale(starter, keys)
    assert {key for _, key in stale} == {str(key) for key in keys[:2]}
    assert "judged_scores" not in {name for name, _ in stale}
    assert {"arm_summary", "arms_report"} <= {name for name, _ in stale}


def test_a_report_can_be_made_without_what_it_reads(starter: StarterProject) -> None:
    keys = _answered(starter)
    starter.materialize_batch(SCORED, keys)
    made = materialized_partitions(starter.materialize_batch(["arms_report"], keys))
    assert set(made) == {("arms_report", key) for key in keys}
    assert {value_of(report, "unchanged") for report in made.values()} == {True}
    assert set(materializations(starter.materialize(["arms_report"], keys[0]))) == {"arms_report"}


def test_a_partition_that_fails_leaves_the_others_materialized_and_is_named(starter: StarterProject) -> None:
    keys = starter.add_cells("brief", "long")
    starter.materialize(SOURCES)
    for key in (keys[0], keys[2]):
        starter.materialize(["arm_answers"], key.keys_by_dimension["cell"])
    result = starter.materialize_batch(SCORED, keys, raise_on_error=False)
    assert not result.success
    assert {key for _, key in materialized_partitions(result)} == {keys[0], keys[2]}
    lines = failure_of(result).splitlines()
    assert lines[0] == "1 of 3 partitions failed; 2 finished and stay materialized."
    assert lines[1].startswith(f"{keys[1]}: the suite 'kettle' has no arm_answers of partition")
    assert len(lines) == 2

    starter.materialize(["arm_answers"], keys[1].keys_by_dimension["cell"])
    again = materialized_partitions(starter.materialize_batch(SCORED, keys))
    unchanged = {key for (name, key), made in again.items() if name == "judged_scores" and value_of(made, "unchanged")}
    assert unchanged == {keys[0], keys[2]}


def test_a_batch_that_only_a_user_can_mend_is_not_tried_again(starter: StarterProject) -> None:
    keys = starter.add_cells("brief")
    starter.materialize(SOURCES)
    with pytest.raises(dg.Failure) as raised:
        starter.materialize_batch(SCORED, keys)
    assert raised.value.allow_retries is False


@pytest.fixture
def judge_stub() -> Iterator[ModelStub]:
    with running_stub() as stub:
        yield stub


def test_a_spend_cap_holds_for_each_partition_of_a_batch_by_itself(starter: StarterProject, judge_stub: ModelStub) -> None:
    keys = _answered(starter)
    starter.edit(
        {
            "endpoints.paid": {
                "provider": "openai-compatible",
                "base_url": judge_stub.url,
                "limits": {"max_concurrent": 1},
                "prices": {"input_per_million_usd": 100.0, "output_per_million_usd": 100.0},
            },
            "judges.strict": {"kind": "rubric", "model": "judge-large", "endpoint": "paid", "sampling": {"max_tokens": 50}},
            "suites.kettle.judges": ["strict"],
            "budgets": {"kettle": {"max_cost_usd": 0.4}},
        }
    )
    starter.register()
    result = starter.materialize_batch(SCORED, starter.score_keys(), raise_on_error=False)
    assert failure_of(result).startswith(f"{len(keys)} of 3 partitions failed")
    with starter.opened() as opened:
        spent_usd = [asyncio.run(opened.ledger.spend(f"{result.run_id}.{number}")).known_usd for number in (1, 2, 3)]
    assert all(0.2 < one <= 0.4 for one in spent_usd)


def test_a_run_is_found_by_its_cells_and_its_judge(starter: StarterProject) -> None:
    keys = _answered(starter)
    run = starter.instance.get_run_by_id(starter.materialize_batch(SCORED, keys).run_id)
    assert run is not None
    assert run.tags["evalplatform/suite"] == "kettle"
    assert run.tags["evalplatform/cell"] == ", ".join(key.keys_by_dimension["cell"] for key in keys)
    assert run.tags["evalplatform/judge"] == keys[0].keys_by_dimension["judge"]
