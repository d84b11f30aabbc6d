"""What a gate decides: the worked cases, every reading, and what decides nothing."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalplatform.gates.decision import decide_gate
from evalplatform.gates.records import GateDecision, GateScenario, ReplayDeterminism, ScenarioDecision
from evalplatform.runs.records import Outcome
from evalplatform.stats.pass_counts import PassCount
from tests.support.gate_suites import Table, gated, pass_count, suite_of

CASES = json.loads((Path(__file__).parents[1] / "cases" / "gates.json").read_text(encoding="utf-8"))["cases"]
WORDS = {
    "drop, significant": "drop_significant",
    "drop": "drop",
    "listed, not proven": "listed_not_proven",
    "pre-existing failing": "pre_existing_failing",
    "not significant": "not_significant",
    "no drop": "no_drop",
}


def by_id(decision: GateDecision) -> dict[str, ScenarioDecision]:
    return {decided.scenario_id: decided for decided in decision.scenarios}


def flipping(baseline: Outcome | None, candidate: Outcome | None, **more: Any) -> GateScenario:
    one = {"passed": pass_count(1, 1), "failed": pass_count(0, 1), "agent_error": pass_count(0, 1), "budget_stop": pass_count(0, 1)}
    none = PassCount(passed=0, graded=0)
    return GateScenario(
        scenario_id="one",
        rule="flip",
        baseline=one.get(baseline or "", none),
        candidate=one.get(candidate or "", none),
        baseline_outcome=baseline,
        candidate_outcome=candidate,
        **more,
    )


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "gate"], ids=lambda case: case["id"])
def test_the_worked_gates(case: dict[str, Any]) -> None:
    given, expected = case["input"]["scenarios"], case["expect"]
    decision = decide_gate([gated(each["name"], (each["k1"], each["n1"], each["k2"], each["n2"]), each["tier"]) for each in given])
    assert (decision.k, decision.threshold) == (expected["K"], Fraction(str(expected["threshold"])))
    assert decision.suite_p == pytest.approx(expected["suite_p"], rel=1e-9)
    assert (decision.suite_drop, decision.fails) == (expected["suite_drop"], expected["fails"])
    decided = by_id(decision)
    assert sorted(decided) == sorted(expected["scenarios"])
    for name, wanted in expected["scenarios"].items():
        found = decided[name]
        assert (found.reading, found.tier, found.gates) == (WORDS[wanted["reading"]], wanted["tier"], wanted["gates"])
        assert found.unstable_critical == wanted.get("unstable_critical", False)
        if "p" in wanted:
            assert found.p is not None
            assert float(found.p) == pytest.approx(wanted["p"], rel=1e-12)


@pytest.mark.parametrize(
    ("table", "reading"),
    [
        ((10, 10, 0, 10), "drop_significant"),
        ((24, 24, 0, 1), "drop_significant"),  # 1/25 exactly, which is not above 0.04
        ((10, 10, 6, 10), "listed_not_proven"),
        ((0, 10, 0, 10), "always_failing"),
        ((0, 10, 10, 10), "always_failing"),
        ((9, 10, 8, 10), "not_significant"),
        ((8, 10, 9, 10), "no_drop"),
        ((10, 10, 10, 10), "no_drop"),
        ((3, 3, 0, 3), "unverified"),  # 1/20
        ((1, 1, 0, 10), "unverified"),
        ((3, 3, 0, 4), "drop_significant"),
    ],
)
def test_a_standard_scenario_alone(table: Table, reading: str) -> None:
    decision = decide_gate([gated("one", table)])
    assert decision.scenarios[0].reading == reading
    assert decision.fails == (reading in {"drop_significant", "unverified"})


@pytest.mark.parametrize(
    ("table", "reading", "unstable"),
    [
        ((10, 10, 9, 10), "drop", False),
        ((7, 10, 7, 10), "pre_existing_failing", True),
        ((7, 10, 8, 10), "pre_existing_failing", True),
        ((7, 10, 10, 10), "no_drop", True),
        ((10, 20, 5, 10), "pre_existing_failing", True),  # equal rates of unequal counts are no drop
        ((10, 20, 4, 10), "drop", True),
        ((0, 10, 0, 10), "pre_existing_failing", False),
        ((10, 10, 10, 10), "no_drop", False),
        ((2, 2, 0, 2), "unverified", False),
    ],
)
def test_a_critical_scenario_alone(table: Table, reading: str, unstable: bool) -> None:
    decision = decide_gate([gated("one", table, "critical")])
    assert (decision.scenarios[0].reading, decision.scenarios[0].unstable_critical) == (reading, unstable)
    assert decision.fails == (reading in {"drop", "unverified"})
    assert (decision.k, decision.suite_scenarios, decision.suite_p) == (1, 0, 1.0)


def test_the_stricter_of_two_declared_tiers_applies_whichever_batch_declares_it() -> None:
    loosened = gated("one", (10, 10, 9, 10), "critical").with_changes(candidate_tier="standard")
    tightened = gated("one", (10, 10, 9, 10), "critical").with_changes(baseline_tier="standard")
    assert [decide_gate([each]).scenarios[0].reading for each in (loosened, tightened)] == ["drop", "drop"]


@pytest.mark.parametrize(
    ("baseline", "candidate", "reading", "reason"),
    [
        ("passed", "failed", "flipped", None),
        ("passed", "agent_error", "flipped", None),
        ("passed", "budget_stop", "flipped", None),
        ("passed", "harness_error", "flipped", None),
        ("passed", "passed", "not_flipped", None),
        ("failed", "passed", "not_flipped", None),
        ("failed", "failed", "not_flipped", None),
        ("agent_error", "failed", "not_flipped", None),
        ("failed", "harness_error", "unverified", "candidate_ungraded"),
        ("passed", None, "unverified", "candidate_ungraded"),
        ("harness_error", "passed", "unverified", "baseline_ungraded"),
        (None, "passed", "unverified", "baseline_ungraded"),
    ],
)
def test_one_run_a_side_gates_where_it_flipped(
    baseline: Outcome | None, candidate: Outcome | None, reading: str, reason: str | None
) -> None:
    decision = decide_gate([flipping(baseline, candidate)])
    assert (decision.scenarios[0].reading, decision.scenarios[0].unverified_reason) == (reading, reason)
    assert (decision.scenarios[0].p, decision.k) == (None, 1)
    assert decision.fails == (reading != "not_flipped")


def test_a_replay_beside_live_runs_is_unverified() -> None:
    decision = decide_gate([gated("one", (10, 10, 10, 10)).with_changes(legs_differ=True)])
    assert decision.scenarios[0].unverified_reason == "legs_differ"
    assert decision.fails


@pytest.mark.parametrize(("table", "reason"), [((0, 0, 5, 5), "baseline_ungraded"), ((5, 5, 0, 0), "candidate_ungraded")])
def test_a_side_without_a_graded_run_is_unverified_and_fails(table: Table, reason: str) -> None:
    decision = decide_gate([gated("one", table)])
    assert (decision.scenarios[0].unverified_reason, decision.fails) == (reason, True)


def test_critical_and_unverified_scenarios_and_single_runs_never_make_the_threshold_stricter() -> None:
    standard = [gated(f"s{place}", (9, 10, 9, 10)) for place in range(3)]
    alone = decide_gate(standard)
    others = [gated("critical", (9, 10, 8, 10), "critical"), gated("few", (2, 2, 1, 2)), flipping("passed", "failed")]
    beside = decide_gate([*standard, *others])
    assert (beside.k, beside.threshold, beside.suite_p) == (alone.k, alone.threshold, alone.suite_p)


def test_k_may_exceed_what_can_reach_the_final_threshold() -> None:
    both = decide_gate(suite_of([(3, 3, 0, 4), (3, 3, 0, 4)]))  # 1/35 each: above the half of 0.04
    assert (both.k, both.threshold) == (2, Fraction(1, 50))
    assert [decided.reading for decided in both.scenarios] == ["listed_not_proven"] * 2


def test_seven_scenarios_that_each_lost_one_of_ten_fail_together_and_six_do_not() -> None:
    seven, six = (decide_gate(suite_of([(10, 10, 9, 10)] * number)) for number in (7, 6))
    assert (seven.suite_drop, seven.gating, seven.fails) == (True, (), True)
    assert seven.suite_p == pytest.approx(2**-7, rel=1e-12)
    assert (six.suite_drop, six.fails) == (False, False)


def test_a_scenario_that_is_flagged_by_itself_is_left_out_of_the_suite_test() -> None:
    decision = decide_gate(suite_of([(10, 10, 0, 10), (10, 10, 9, 10)]))
    assert (decision.suite_scenarios, decision.suite_p) == (1, 0.5)


def test_a_seed_passes_whatever_it_is() -> None:
    decision = decide_gate(suite_of([(2, 2, 2, 2)]), is_seed=True)
    assert (decision.gating, decision.fails) == ((), False)


def test_an_unreadable_history_and_a_replay_that_came_out_otherwise_fail_a_gate_that_would_pass() -> None:
    clean = suite_of([(10, 10, 10, 10)])
    assert not decide_gate(clean, determinism=ReplayDeterminism(verified=3)).fails
    assert decide_gate(clean, determinism=ReplayDeterminism(verified=2, differing=("a",))).fails
    assert decide_gate(clean, history_error="the store did not answer").fails


def test_a_gate_over_nothing_decides_nothing() -> None:
    decision = decide_gate([])
    assert (decision.scenarios, decision.k, decision.suite_p, decision.fails) == ((), 1, 1.0, False)
