"""The sensor that takes up pushed batches: which partitions it adds, what it asks for, and that it asks once."""

from pathlib import Path

import dagster as dg
import pytest

from evalplatform.kernel.errors import InputError
from sensors import batches as module
from sensors.batches import BatchesCursor
from tests.support.recorded_batches import recorded
from tests.support.runs_project import QUIET, RunsProject


@pytest.fixture
def runs(tmp_path: Path) -> RunsProject:
    return RunsProject.written_to(tmp_path / "project")


def asked(look: dg.SensorResult) -> list[tuple[str | None, list[str]]]:
    """The partitions that a look asks runs for, in order, each with the assets."""
    return [(request.partition_key, [key.path[-1] for key in request.asset_selection or []]) for request in look.run_requests or []]


def registered(runs: RunsProject) -> set[str]:
    return set(runs.instance.get_dynamic_partitions("runs.batches"))


def keys(look: dg.SensorResult) -> list[str | None]:
    return [request.run_key for request in look.run_requests or []]


def test_a_pushed_batch_gets_its_partition_and_is_compared_with_the_one_before_it(runs: RunsProject) -> None:
    first, second = runs.push(recorded({"refund": "P"}, days_ago=1), recorded({"refund": "F"}))
    look = runs.look()
    assert registered(runs) == {first.id, second.id}
    assert asked(look) == [(first.id, ["batches"]), (second.id, ["batches", "batch_comparisons", "gate_decisions"])]
    assert [(request.tags or {})["evalplatform/batch"] for request in look.run_requests or []] == [first.id, second.id]
    assert [runs.run(request).success for request in look.run_requests or []] == [True, False]  # the second one's gate fails, and blocks
    after = runs.look(look.cursor)
    assert (asked(after), BatchesCursor.read(after.cursor)) == ([], BatchesCursor())

    (third,) = runs.push(recorded({"refund": "P"}, days_ago=-1))
    assert asked(runs.look(after.cursor)) == [(third.id, ["batches", "batch_comparisons", "gate_decisions"])]
    assert registered(runs) == {first.id, second.id, third.id}


def test_a_project_without_a_batch_has_nothing_to_take_up(runs: RunsProject) -> None:
    (batch,) = runs.push(recorded({"refund": "P"}))
    runs.folder.joinpath(".evalplatform/evalplatform.db").unlink()
    look = runs.look()
    assert asked(look) == []
    assert look.skip_reason == dg.SkipReason("No batch was pushed yet.")
    assert batch.id not in registered(runs)


def test_a_batch_that_failed_is_asked_for_again_only_by_a_new_attempt(runs: RunsProject) -> None:
    (batch,) = runs.push(recorded({"refund": "P"}))
    look = runs.look()
    again = runs.look(look.cursor)
    assert asked(again) == []
    assert "1 batch asked for and not finished, or failed." in str(again.skip_reason)
    assert keys(look) == [f"runs:{batch.id}:batch:1"]
    assert keys(runs.look('{"attempt": 2}')) == [f"runs:{batch.id}:batch:2"]


def test_a_lost_cursor_asks_under_the_same_keys_so_that_nothing_starts_twice(runs: RunsProject) -> None:
    runs.push(recorded({"refund": "P"}, days_ago=1), recorded({"refund": "F"}))
    assert keys(runs.look()) == keys(runs.look())


def test_a_batch_pushed_late_is_taken_up_and_gives_the_first_one_its_comparison(runs: RunsProject) -> None:
    (newer,) = runs.push(recorded({"refund": "F"}))
    look = runs.look()
    for request in look.run_requests or []:
        runs.run(request)
    (older,) = runs.push(recorded({"refund": "P"}, days_ago=9))
    late = runs.look(look.cursor)
    assert asked(late) == [(older.id, ["batches"]), (newer.id, ["batches", "batch_comparisons", "gate_decisions"])]
    assert keys(late)[1] not in keys(look)  # Dagster would start no run under a key that it has seen


def test_a_burst_is_taken_up_in_bounded_steps_the_newest_first(runs: RunsProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REGISTERED", 3)
    monkeypatch.setattr(module, "MAX_REQUESTS", 2)
    pushed = runs.push(*(recorded({"refund": "P"}, days_ago=number) for number in range(5)))
    newest_first = [batch.id for batch in pushed]
    cursor, taken_up = None, []
    for known in (3, 5, 5):
        look = runs.look(cursor)
        cursor = look.cursor
        assert registered(runs) == set(newest_first[:known])
        taken_up.append([partition for partition, _ in asked(look)])
    assert taken_up == [newest_first[1::-1], newest_first[3:1:-1], newest_first[4:]]  # the newest of a look last, so that it is shown


def test_nothing_more_is_asked_for_while_many_batches_are_under_way(runs: RunsProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNDER_WAY", 1)
    (batch,) = runs.push(recorded({"refund": "P"}))
    (other,) = runs.push(recorded({"refund": "P"}, days_ago=1))
    job = runs.definitions.resolve_job_def("compare_batches")
    run = runs.instance.create_run_for_job(job, tags={"dagster/partition": other.id}, run_config=QUIET)
    look = runs.look()
    assert asked(look) == []
    assert registered(runs) == {batch.id, other.id}
    runs.instance.report_run_failed(run)
    assert {partition for partition, _ in asked(runs.look(look.cursor))} == {batch.id, other.id}


def test_a_batch_that_somebody_has_under_way_is_left_to_them(runs: RunsProject) -> None:
    first, second = runs.push(recorded({"refund": "P"}, days_ago=1), recorded({"refund": "F"}))
    job = runs.definitions.resolve_job_def("compare_batches")
    runs.instance.create_run_for_job(job, tags={"dagster/partition": second.id}, run_config=QUIET)
    assert [partition for partition, _ in asked(runs.look())] == [first.id]


def test_a_batch_of_another_project_in_the_same_database_is_not_taken_up(runs: RunsProject) -> None:
    runs.push(recorded({"refund": "P"}))
    runs.file.write_text(runs.file.read_text().replace("project: probe", "project: other"))
    assert asked(runs.look()) == []


def test_a_cursor_that_is_none_fails_with_what_to_write(runs: RunsProject) -> None:
    runs.push(recorded({"refund": "P"}))
    with pytest.raises(InputError, match="no cursor of this sensor"):
        runs.look("{]")
