"""The history that stands for a baseline: which runs are pooled, why the pool ends, and that pooling what was pinned is the same."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.gates.history import MOST_BATCHES, History, pooled_history
from evalplatform.runs.bundle import BundleSummary
from evalplatform.runs.records import Run
from tests.support.compared_batches import Told, batch_of


def side(summary: BundleSummary) -> BatchRuns:
    return BatchRuns(summary.batch, lambda: iter(summary.runs))


def history_of(*oldest_first: BundleSummary, scenarios: tuple[str, ...] = ("lookup",)) -> History:
    return pooled_history((side(summary) for summary in reversed(oldest_first)), scenarios)


def batches_of(*letters: str, **header: str) -> list[BundleSummary]:
    return [batch_of({"lookup": Told(told)}, hours=hour, **header) for hour, told in enumerate(letters)]


def test_the_newest_twenty_graded_runs_are_pooled_and_the_limit_ends_the_pool() -> None:
    found = history_of(*batches_of("F" * 10, "P" * 12, "P" * 12))
    pool = found.pools["lookup"]
    assert (pool.passes.passed, pool.passes.graded, pool.stop) == (20, 20, "limit")
    assert len(pool.batches) == len(found.batches) == 2


def test_within_a_batch_the_last_run_is_the_newest() -> None:
    assert history_of(*batches_of("PPF", "FPP")).pools["lookup"].newest_first == (True, True, False, False, True, True)


def test_runs_without_a_verdict_and_replays_are_not_pooled() -> None:
    (live,) = batches_of("PHUPF")
    assert history_of(live).pools["lookup"].passes.graded == 3
    replay = live._replace(runs=tuple(run.with_changes(leg="replay") for run in live.runs))
    assert history_of(replay).pools == {}


def test_a_change_of_agent_model_or_judge_ends_the_pool() -> None:
    for changed in ({"agent": "other"}, {"model": "m2"}, {"judge": "other"}):
        (older,) = batches_of("P" * 6, **changed)
        newer = batch_of({"lookup": Told("P" * 6)}, hours=5)
        found = history_of(older, newer)
        assert (found.pools["lookup"].passes.graded, found.pools["lookup"].stop) == (6, "identity")
        assert found.batches == (newer.batch.id, older.batch.id)  # without the older one the pool would not end there


def test_a_change_of_the_results_cuts_the_pool_and_fewer_than_ten_runs_stand_for_nothing() -> None:
    pool = history_of(*batches_of("P" * 15, "F" * 5)).pools["lookup"]
    assert (pool.passes.passed, pool.passes.graded, pool.stop, pool.is_enough) == (0, 5, "change", False)


def test_a_history_that_is_shorter_than_the_limit_ends_where_there_is_no_more() -> None:
    pool = history_of(*batches_of("P" * 6, "P" * 6)).pools["lookup"]
    assert (pool.passes.graded, pool.stop, pool.is_enough) == (12, "end", True)


def test_a_scenario_that_is_not_asked_for_and_one_without_a_run_have_no_pool() -> None:
    found = history_of(*batches_of("PP"), scenarios=("refund",))
    assert found.pools == {}


def test_no_batch_is_read_once_every_pool_has_ended_and_never_more_than_fifty() -> None:
    read: list[str] = []

    def runs(summary: BundleSummary) -> Iterator[Run]:
        read.append(summary.batch.id)
        return iter(summary.runs)

    def sides(summaries: list[BundleSummary]) -> Iterator[BatchRuns]:
        for summary in reversed(summaries):
            yield BatchRuns(summary.batch, lambda summary=summary: runs(summary))  # type: ignore[misc]

    pooled_history(sides(batches_of(*["P" * 10] * 5)), ("lookup",))
    assert len(read) == 2
    read.clear()
    pooled_history(sides(batches_of(*["P"] * 60)), ("never-run",))
    assert len(read) == MOST_BATCHES


@given(st.lists(st.text("PFH", max_size=7), min_size=1, max_size=8), st.lists(st.booleans(), min_size=8, max_size=8))
def test_pooling_the_pinned_batches_again_gives_the_same_pools(letters: list[str], changed: list[bool]) -> None:
    batches = [
        batch_of({"lookup": Told(told), "refund": Told(told[::-1])}, hours=hour, agent="other" if other else "shop-agent")
        for hour, (told, other) in enumerate(zip(letters, changed, strict=False))
    ]
    found = history_of(*batches, scenarios=("lookup", "refund"))
    by_id = {summary.batch.id: summary for summary in batches}
    again = pooled_history((side(by_id[batch_id]) for batch_id in found.batches), ("lookup", "refund"))
    assert again == found
