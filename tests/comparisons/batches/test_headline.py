"""The headline: which baseline is taken and why, and which scenario it opens at."""

from collections.abc import Iterator

from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.headline import first_divergence_row, headline_baseline
from evalplatform.runs.records import Batch
from tests.support.batch_runs import run, runs, side


def recorded(hours: float, retention: str = "whole") -> Batch:
    return side({"s": runs(1)}, hours=hours, retention=retention).batch


OLD, MIDDLE, NEW = (recorded(hours) for hours in (0, 1, 2))


def test_the_newest_batch_is_compared_with_the_one_recorded_just_before() -> None:
    choice = headline_baseline([NEW, MIDDLE, OLD])
    assert choice is not None
    assert (choice.candidate, choice.baseline, choice.choice) == (NEW, MIDDLE, "previous_batch")


def test_the_last_gates_baseline_is_taken_where_it_is_still_there() -> None:
    choice = headline_baseline([NEW, MIDDLE, OLD], last_gate_baseline=OLD.id)
    assert choice is not None
    assert (choice.baseline, choice.choice) == (OLD, "last_gate")
    gone = headline_baseline([NEW, MIDDLE, recorded(0, "expired")], last_gate_baseline=OLD.id)
    assert gone is not None
    assert (gone.baseline, gone.choice) == (MIDDLE, "previous_batch")


def test_a_batch_that_was_gated_against_itself_is_compared_with_the_one_before() -> None:
    for candidate in (None, NEW):
        choice = headline_baseline([NEW, MIDDLE], candidate, last_gate_baseline=NEW.id)
        assert choice is not None
        assert (choice.candidate, choice.baseline) == (NEW, MIDDLE)


def test_expired_batches_are_neither_side() -> None:
    choice = headline_baseline([recorded(3, "expired"), NEW, recorded(1, "expired"), OLD])
    assert choice is not None
    assert (choice.candidate, choice.baseline) == (NEW, OLD)


def test_a_partial_batch_is_no_side_by_itself_and_is_compared_with_a_whole_one_where_it_is_named() -> None:
    partial = [side({"s": runs(1)}, hours=hours, set_scenarios=7).batch for hours in (0.5, 1.5, 3)]
    choice = headline_baseline([partial[2], NEW, partial[1], MIDDLE, partial[0], OLD])
    assert choice is not None
    assert (choice.candidate, choice.baseline) == (NEW, MIDDLE)
    named = headline_baseline([NEW, partial[1], partial[0], OLD], partial[1])
    assert named is not None
    assert (named.candidate, named.baseline) == (partial[1], OLD)
    gated = headline_baseline([NEW, partial[1], MIDDLE], last_gate_baseline=partial[1].id)
    assert gated is not None
    assert (gated.baseline, gated.choice) == (partial[1], "last_gate")
    assert headline_baseline([NEW, partial[1]]) is None
    whole = side({"s": runs(1)}, hours=3, set_scenarios=1).batch
    chosen = headline_baseline([whole, NEW])
    assert chosen is not None
    assert chosen.candidate == whole


def test_there_is_no_headline_with_one_batch_or_none() -> None:
    assert headline_baseline([]) is None
    assert headline_baseline([NEW]) is None
    assert headline_baseline([NEW, recorded(1, "expired")]) is None
    assert headline_baseline([NEW, OLD], OLD) is None
    assert headline_baseline([NEW, OLD], recorded(3, "expired")) is None


def test_a_named_candidate_is_compared_with_what_was_recorded_before_it_and_not_after() -> None:
    choice = headline_baseline([NEW, MIDDLE, OLD], MIDDLE)
    assert choice is not None
    assert choice.baseline == OLD


def test_a_long_history_is_read_only_as_far_as_needed() -> None:
    read: list[str] = []

    def history() -> Iterator[Batch]:
        for batch in (NEW, MIDDLE, OLD, recorded(-1), recorded(-2)):
            read.append(batch.id)
            yield batch

    assert headline_baseline(history()) is not None
    assert headline_baseline(history(), last_gate_baseline=NEW.id) is not None
    assert read == [NEW.id, MIDDLE.id, OLD.id] * 2  # one more tells that the recording of the middle one has no other batch


def test_a_batch_that_was_gone_on_with_is_neither_side_and_never_the_baseline_of_its_own_recording() -> None:
    whole = side({"s": runs(1, 1)}, hours=3).batch
    stopped = side({"s": [*runs(1), run("ungraded")]}, hours=3).batch.with_changes(truncated_reason="the spend cap")
    assert stopped.header == whole.header
    for first, second in ((whole, stopped), (stopped, whole)):
        for candidate in (None, whole, stopped):
            choice = headline_baseline([first, second, NEW], candidate)
            assert choice is not None
            assert (choice.candidate, choice.baseline) == (candidate or whole, NEW)
        later = recorded(4)
        choice = headline_baseline([later, first, second, NEW])
        assert choice is not None
        assert (choice.candidate, choice.baseline) == (later, whole)


def test_the_first_divergence_is_looked_for_in_the_first_newly_failing_scenario_that_has_both_trajectories() -> None:
    before = {name: [run("passed")] for name in ("a", "b", "c", "d")}
    after = {"a": [run("passed", tools=("x",))], "b": [run("harness_error")], "c": [run("failed")], "d": [run("failed")]}
    row = first_divergence_row(compare_batches(side(before), side(after)))
    assert row is not None
    assert row.scenario_id == "c"


def test_without_a_newly_failing_scenario_it_is_the_first_whose_path_drifted() -> None:
    before = {name: [run("passed")] for name in ("a", "b")}
    row = first_divergence_row(compare_batches(side(before), side({"a": [run()], "b": [run(tools=())]})))
    assert row is not None
    assert row.scenario_id == "b"
    assert first_divergence_row(compare_batches(side(before), side(before))) is None
