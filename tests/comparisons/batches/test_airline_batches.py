"""Real repeated runs of 50 scenarios: what one run a side shows against another, and what run sets make of it."""

import json
from collections import defaultdict

import pytest

from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from tests.support.batch_runs import RunFacts, run, side
from tests.support.requirements import data_folder

TRIALS = 4

Rewards = dict[str, list[float]]


@pytest.fixture(scope="module")
def rewards() -> Rewards:
    found: Rewards = defaultdict(lambda: [-1.0] * TRIALS)
    with (data_folder("airline-trajectories") / "runs.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            found[record["scenario"]][record["trial"]] = record["reward"]
    return dict(found)


def batch(rewards: Rewards, *trials: int) -> BatchRuns:
    def facts(reward: float) -> RunFacts:
        return run("passed" if reward == 1 else "failed")

    return side({name: [facts(of_trial[trial]) for trial in trials] for name, of_trial in rewards.items()}, hours=trials[0])


def test_two_single_runs_of_an_unchanged_agent_flip_scenarios_both_ways(rewards: Rewards) -> None:
    comparison = compare_batches(batch(rewards, 0), batch(rewards, 1))
    lost = sorted(name for name, trials in rewards.items() if trials[0] == 1 > trials[1])
    won = sorted(name for name, trials in rewards.items() if trials[0] < 1 == trials[1])
    assert lost
    assert won
    flips = [(row.change, row.scenario_id) for row in comparison.changes]
    assert flips == [("newly_failing", name) for name in lost] + [("newly_passing", name) for name in won]
    assert (comparison.verdict, comparison.compared, comparison.run_sets) == ("regressed", 50, None)


def test_two_runs_a_side_can_flag_nothing_however_many_scenarios_flip(rewards: Rewards) -> None:
    """26 of the 50 both pass and fail in four trials, and 2 against 2 cannot flag even a fall from all to none."""
    assert sum(len(set(trials)) > 1 for trials in rewards.values()) == 26
    comparison = compare_batches(batch(rewards, 0, 1), batch(rewards, 2, 3))
    run_sets = comparison.run_sets
    assert run_sets is not None
    assert (run_sets.tested, run_sets.flagged, run_sets.expected_flags, run_sets.chance_of_as_many) == (50, 0, 0, 1)
    assert run_sets.drops
    assert {drop.reading for drop in run_sets.drops} == {"cannot_flag"}
    assert run_sets.smallest_drops[0].most_passes is None
    assert comparison.verdict == "regressed"
    assert comparison.counts["newly_failing"] == 6
    assert comparison.run_set_disagreement.failing_not_flagged == ()  # none could have been flagged
