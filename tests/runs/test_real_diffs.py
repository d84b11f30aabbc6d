"""Real runs of one agent on the same scenarios: every pair is told apart whole, and the other way round as its mirror image."""

from collections import defaultdict
from itertools import combinations

import pytest

from evalplatform.runs.signature import signature, units_of
from evalplatform.runs.traces.trace import TraceRun, read_traces
from evalplatform.runs.trajectory import Trajectory
from evalplatform.runs.trajectory_diff import diff_trajectories
from tests.support.requirements import data_folder


@pytest.fixture(scope="module")
def trials() -> dict[str, dict[int, Trajectory]]:
    found: dict[str, dict[int, Trajectory]] = defaultdict(dict)
    for run in read_traces(data_folder("airline-trajectories") / "runs.jsonl"):
        assert isinstance(run, TraceRun)
        assert run.trial is not None
        assert run.trajectory is not None
        found[run.scenario_id][run.trial] = run.trajectory
    return found


def test_every_two_trials_of_a_scenario_are_told_apart_whole(trials: dict[str, dict[int, Trajectory]]) -> None:
    pairs = [(one[a], one[b]) for one in trials.values() for a, b in combinations(sorted(one), 2)]
    assert len(pairs) == 300
    for a, b in pairs:
        diff = diff_trajectories(a, b)
        assert diff_trajectories(b, a) == diff.mirrored
        assert bool(diff.changes) == (signature(a).tokens != signature(b).tokens)
        named = {step for change in diff.changes for step in (change.a.steps if change.a else ())}
        named_b = {step for change in diff.changes for step in (change.b.steps if change.b else ())}
        left = [unit.token for unit in units_of(a) if unit.step not in named]
        assert left == [unit.token for unit in units_of(b) if unit.step not in named_b]


def test_a_scenario_that_flips_parts_where_one_run_looked_up_a_second_reservation(trials: dict[str, dict[int, Trajectory]]) -> None:
    change = diff_trajectories(trials["airline-05"][0], trials["airline-05"][1]).first_divergence
    assert change is not None
    assert change.a is not None
    assert (change.kind, change.a.tool, change.a.steps) == ("missing_in_b", "get_reservation_details", (14, 15))
