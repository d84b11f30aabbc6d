"""The run plan: how often a scenario runs so that its gate catches the target drop, and what the cap leaves of that."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.gates.gate_plan import GatePlan, PlanScenario, plan_gate
from evalplatform.gates.records import HistoryPool
from evalplatform.kernel.errors import InputError
from evalplatform.runs.gate_policy import GatePolicy
from evalplatform.runs.records import GateTier
from evalplatform.stats.drop_power import significance_power

CASES = json.loads((Path(__file__).parents[1] / "cases" / "gates.json").read_text(encoding="utf-8"))["cases"]


def planned(scenario_id: str, passed: int, graded: int = 20, tier: GateTier = "standard") -> PlanScenario:
    marks = (True,) * passed + (False,) * (graded - passed)
    pool = HistoryPool(newest_first=marks, stop="limit" if graded == 20 else "end") if graded else None
    return PlanScenario(scenario_id=scenario_id, tier=tier, pool=pool)


def runs_of(plan: GatePlan) -> dict[str, int]:
    return plan.runs_by_scenario


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "run_plan"], ids=lambda case: case["id"])
def test_the_worked_plan(case: dict[str, Any]) -> None:
    given_, expected = case["input"]["hist"], case["expect"]
    plan = plan_gate([planned(each["name"], each["k"], each["n"], each["tier"]) for each in given_], GatePolicy())
    rows = [
        {"name": row.scenario_id, "tier": row.tier, "status": row.status, "want": row.want, "K": row.k, "runs": row.runs}
        for row in plan.rows
    ]
    assert rows == expected["rows"]
    assert (plan.total_runs, plan.cap_binds, [row.scenario_id for row in plan.short]) == (
        expected["total"],
        expected["cap_binds"],
        expected["short"],
    )


def test_what_cannot_be_planned_runs_as_often_as_the_policy_says_and_is_named() -> None:
    policy = GatePolicy(runs=7)
    plan = plan_gate([planned("new", 0, 0), planned("short", 9, 9), planned("dead", 0), planned("low", 8)], policy)
    assert {row.scenario_id: row.status for row in plan.rows} == {
        "new": "not_enough_history",
        "short": "not_enough_history",
        "dead": "always_failing",
        "low": "not_covered",  # a rate of 40% cannot fall by 50 points
    }
    assert set(runs_of(plan).values()) == {7}


def test_only_others_that_may_move_make_the_threshold_stricter_and_critical_ones_never_do() -> None:
    movers = [planned(f"m{place}", 19) for place in range(9)]
    steady = [planned(f"s{place}", 20) for place in range(20)]
    critical = [planned(f"c{place}", 15, tier="critical") for place in range(20)]
    by_id = {row.scenario_id: row for row in plan_gate([*movers, *steady, *critical], GatePolicy(max_runs_per_gate=5_000)).rows}
    assert by_id["s0"].k == 10  # nine others, and itself
    assert by_id["m0"].k == 9
    assert by_id["c0"].k is None
    assert (by_id["s0"].want, by_id["c0"].status) == (12, "covered")


def test_each_tier_has_a_target_of_its_own() -> None:
    policy = GatePolicy(target_drop_by_tier={"critical": 30})
    plan = plan_gate([planned("a", 20), planned("b", 20, tier="critical")], policy)
    assert [(row.target_drop_points, row.want) for row in plan.rows] == [(50, 12), (30, 5)]


def test_the_fewest_runs_reach_the_power_and_one_fewer_does_not() -> None:
    row = plan_gate([planned("a", 20)], GatePolicy()).rows[0]
    assert row.baseline is not None
    powers = [
        significance_power(row.baseline, runs, pass_rate=Fraction(1, 2), threshold=Fraction(1, 150)) for runs in range(2, row.want + 1)
    ]
    assert powers[-1] >= Fraction(4, 5) > max(powers[:-1])


def test_a_cap_funds_whole_wants_in_the_order_covered_critical_small_name_and_deals_out_the_rest() -> None:
    # wants: b and c 12 each (covered), a 5 (covered, critical), z 10 (no history)
    scenarios = [planned("b", 20), planned("c", 20), planned("a", 20, tier="critical"), planned("z", 0, 0)]
    policy = GatePolicy(target_drop_by_tier={"critical": 30}, max_runs_per_gate=24)
    plan = plan_gate(scenarios, policy)
    # floors 2, 2, 2, 4 leave 14: a gets 3 more, b 10 more; the last one goes to c
    assert runs_of(plan) == {"a": 5, "b": 12, "c": 3, "z": 4}
    assert (plan.total_runs, plan.cap_binds) == (24, True)
    assert [row.scenario_id for row in plan.short] == ["c", "z"]


def test_a_cap_below_every_floor_is_refused_with_what_is_needed() -> None:
    with pytest.raises(InputError, match="2 scenarios need 6 runs at least") as refused:
        plan_gate([planned("a", 20), planned("new", 0, 0)], GatePolicy(max_runs_per_gate=5))
    assert refused.value.field == "gate.max_runs_per_gate"


histories = st.tuples(st.integers(0, 20), st.sampled_from([0, 4, 10, 15, 20]), st.sampled_from(["critical", "standard"]))


@given(st.lists(histories, max_size=12), st.integers(1, 200), st.sampled_from([30, 50, 80]))
def test_no_plan_is_above_its_cap_or_any_want_or_below_what_can_be_verified(
    drawn: list[tuple[int, int, GateTier]], cap: int, target: int
) -> None:
    scenarios = [planned(f"s{place:02d}", min(passed, graded), graded, tier) for place, (passed, graded, tier) in enumerate(drawn)]
    policy = GatePolicy(target_drop=target, max_runs_per_gate=cap)
    try:
        plan = plan_gate(scenarios, policy)
    except InputError:
        return
    assert plan.total_runs == sum(row.runs for row in plan.rows) <= cap
    assert all(min(row.want, 2) <= row.runs <= row.want for row in plan.rows)
    assert plan.cap_binds == (sum(row.want for row in plan.rows) > cap)
    assert plan.cap_binds or not plan.short
    if plan.short:
        assert plan.total_runs == cap  # nothing that could be spent is left
    assert plan == plan_gate(scenarios[::-1], policy)
