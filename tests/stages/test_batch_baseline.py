"""The baseline that a batch's stored comparison has."""

from pathlib import Path

import pytest

from evalplatform.kernel.errors import InputError
from evalplatform.stages.batch_comparisons import chosen_batches
from evalplatform.stages.batch_diff import headline_batches
from tests.support.recorded_batches import recorded
from tests.support.runs_project import RunsProject


def test_a_recording_that_was_gone_on_with_is_the_baseline_as_a_whole_and_never_its_own(tmp_path: Path) -> None:
    project = RunsProject.written_to(tmp_path / "project")
    stopped, whole, later = project.push(
        recorded({"refund": "PU"}, days_ago=1, truncated_reason="the spend cap"),
        recorded({"refund": "PF"}, days_ago=1),
        recorded({"refund": "PP"}),
    )
    with project.opened() as opened:
        context = opened.runs_context()
        assert chosen_batches(context, later.id).baseline == whole
        for candidate in (stopped, whole):
            with pytest.raises(InputError, match="no batch that is still kept was recorded before"):
                chosen_batches(context, candidate.id)
    (before,) = project.push(recorded({"refund": "PP"}, days_ago=2))
    with project.opened() as opened:
        context = opened.runs_context()
        for candidate in (stopped, whole):
            chosen = chosen_batches(context, candidate.id)
            assert (chosen.candidate, chosen.baseline) == (candidate, before)


def test_a_partial_batch_is_no_baseline_and_is_compared_with_a_whole_one_itself(tmp_path: Path) -> None:
    project = RunsProject.written_to(tmp_path / "project")
    scenarios = {"refund": "P", "cancel": "P"}
    whole, partial, later = project.push(
        recorded(scenarios, days_ago=2, set_scenarios=2),
        recorded({"refund": "P"}, days_ago=1, set_scenarios=2),
        recorded(scenarios, set_scenarios=2),
    )
    with project.opened() as opened:
        context = opened.runs_context()
        assert [chosen_batches(context, batch.id).baseline for batch in (later, partial)] == [whole, whole]
        chosen = headline_batches(context.batches, context.gates)
        assert (chosen.candidate, chosen.baseline) == (later, whole)
