"""A real agent against itself, 50 scenarios of 4 recorded trials: what each kind of gate makes of nothing having changed."""

import json
import os
from collections import defaultdict
from random import Random

import pytest

from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.gates.decision import decide_gate
from evalplatform.runs.gate_policy import GatePolicy
from evalplatform.stages.gate import GatedComparison, gated_comparison
from evalplatform.stats.wilson import wilson_interval
from tests.support.batch_runs import run, side
from tests.support.gate_suites import drawn_suite
from tests.support.requirements import data_folder

SOAK = os.environ.get("EVALPLATFORM_SOAK") == "1"
GATES = 2_000 if SOAK else 60
TRIALS = 4

Passes = dict[str, list[bool]]


@pytest.fixture(scope="module")
def passes() -> Passes:
    """Whether each trial of a scenario passed."""
    found: Passes = defaultdict(lambda: [False] * TRIALS)
    with (data_folder("airline-trajectories") / "runs.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            found[record["scenario"]][record["trial"]] = record["reward"] == 1
    return dict(found)


def gate(passes: Passes, baseline: tuple[int, ...], candidate: tuple[int, ...]) -> GatedComparison:
    def batch(trials: tuple[int, ...]) -> BatchRuns:
        runs = {name: [run("passed" if of_trial[trial] else "failed") for trial in trials] for name, of_trial in passes.items()}
        return side(runs, hours=trials[0], policy=GatePolicy().model_dump(mode="json"))

    return gated_comparison(batch(baseline), batch(candidate))


def test_one_trial_against_another_fails_by_the_scenarios_that_flip_of_themselves(passes: Passes) -> None:
    for before in range(TRIALS):
        for after in set(range(TRIALS)) - {before}:
            decision = gate(passes, (before,), (after,)).decision
            assert decision is not None
            flipped = {name for name, trials in passes.items() if trials[before] and not trials[after]}
            assert {decided.scenario_id for decided in decision.gating} == flipped
            assert {decided.reading for decided in decision.gating} == {"flipped"}
            assert decision.fails
            print(f"trial {before} against {after}: {len(flipped)} of {len(passes)} flip")


def test_two_trials_against_two_leave_every_scenario_unverified_and_the_gate_fails_saying_so(passes: Passes) -> None:
    gated = gate(passes, (0, 1), (2, 3))
    assert gated.decision is not None
    assert {(decided.reading, decided.unverified_reason) for decided in gated.decision.scenarios} == {("unverified", "too_few_runs")}
    assert len(gated.decision.gating) == 50
    assert (gated.decision.k, gated.decision.suite_scenarios, gated.decision.suite_drop) == (1, 0, False)
    assert (gated.is_answered, gated.fails) == (True, True)


def test_ten_runs_against_ten_from_each_scenarios_own_rate_fail_at_most_one_time_in_twenty(passes: Passes) -> None:
    random = Random(50)
    rates = [sum(trials) / TRIALS for trials in passes.values()]
    failed = sum(decide_gate(drawn_suite(rates, runs=(10, 10), random=random)).fails for _ in range(GATES))
    found = wilson_interval(failed, GATES)
    assert found is not None
    print(f"{failed} of {GATES} gates in which nothing changed fail: {found}")
    assert found.ci_lo <= 1 / 20
    assert not SOAK or found.ci_hi <= 1 / 20


def test_the_same_ten_runs_against_ten_fail_where_one_agent_lost_half_of_what_it_could(passes: Passes) -> None:
    """The other side: a gate that never fails would pass the test above."""
    random = Random(51)
    rates = [sum(trials) / TRIALS for trials in passes.values()]
    caught = 0
    for _ in range(10):
        before, after = (drawn_suite(each, runs=(10, 10), random=random) for each in (rates, [rate / 2 for rate in rates]))
        caught += decide_gate(one.with_changes(candidate=other.candidate) for one, other in zip(before, after, strict=True)).fails
    assert caught == 10
