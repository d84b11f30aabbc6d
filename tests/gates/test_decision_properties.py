"""What must hold of every gate, whatever its suite: order, mirror images, scenarios that can show nothing, one more failure, tiers, K."""

from fractions import Fraction
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.gates.decision import decide_gate
from evalplatform.gates.records import GateDecision
from evalplatform.stats.stratified_drop import exact_stratified_drop_p
from tests.support.gate_suites import Table, gated, pass_count, suite_of, tables

suites = st.lists(tables(), max_size=10)
LEVEL = Fraction(1, 25)


def shown(decision: GateDecision) -> dict[str, object]:
    """What a gate says, with the suite's p-value to nine digits: in which order scenarios are summed is left free."""
    return {
        "k": decision.k,
        "suite": (decision.suite_scenarios, f"{decision.suite_p:.8e}", decision.suite_drop),
        "readings": {decided.scenario_id: (decided.reading, decided.p) for decided in decision.scenarios},
        "fails": decision.fails,
    }


@settings(deadline=None, max_examples=60)
@given(suites, st.lists(tables(), max_size=4), st.randoms())
def test_the_order_of_scenarios_decides_nothing(standard: list[Table], critical: list[Table], shuffler: Random) -> None:
    made = [*suite_of(standard), *(gated(f"c{place}", table, "critical") for place, table in enumerate(critical))]
    shuffled = shuffler.sample(made, len(made))
    assert shown(decide_gate(shuffled)) == shown(decide_gate(made))
    assert [decided.scenario_id for decided in decide_gate(shuffled).scenarios] == sorted(one.scenario_id for one in made)


@settings(deadline=None, max_examples=60)
@given(suites)
def test_a_fall_from_passing_and_its_mirror_image_among_failures_weigh_the_same(made: list[Table]) -> None:
    mirrored = [(n2 - k2, n2, n1 - k1, n1) for k1, n1, k2, n2 in made]
    one, other = decide_gate(suite_of(made)), decide_gate(suite_of(mirrored))
    assert (one.k, one.threshold, one.suite_scenarios, one.suite_drop, one.fails) == (
        other.k,
        other.threshold,
        other.suite_scenarios,
        other.suite_drop,
        other.fails,
    )
    for first, second in zip(one.scenarios, other.scenarios, strict=True):
        assert (first.p, first.smallest_p, first.gates) == (second.p, second.smallest_p, second.gates)


@settings(deadline=None, max_examples=60)
@given(suites, st.lists(st.tuples(st.integers(4, 20), st.integers(4, 20), st.booleans()), min_size=1, max_size=8))
def test_scenarios_that_always_pass_or_never_do_make_nothing_stricter(made: list[Table], steady: list[tuple[int, int, bool]]) -> None:
    alone = decide_gate(suite_of(made))
    unmoved = [gated(f"u{place}", (n1 * passes, n1, n2 * passes, n2)) for place, (n1, n2, passes) in enumerate(steady)]
    beside = decide_gate([*suite_of(made), *unmoved])
    assert (beside.k, beside.threshold, beside.suite_drop, beside.fails) == (alone.k, alone.threshold, alone.suite_drop, alone.fails)
    assert f"{beside.suite_p:.8e}" == f"{alone.suite_p:.8e}"
    assert beside.scenarios[: len(made)] == alone.scenarios


@settings(deadline=None, max_examples=100)
@given(tables(), st.sampled_from(["standard", "critical"]))
def test_a_further_failure_of_the_candidate_and_a_further_pass_of_the_baseline_only_strengthen_a_drop(table: Table, tier: str) -> None:
    k1, n1, k2, n2 = table
    before = decide_gate([gated("one", table, tier)])  # type: ignore[arg-type]
    if before.scenarios[0].p is None:
        return
    stronger = [(k1, n1, k2, n2 + 1), (k1 + 1, n1 + 1, k2, n2)]
    stronger += [(k1, n1, k2 - 1, n2)] if k2 else []
    stronger += [(k1 + 1, n1, k2, n2)] if k1 < n1 else []
    for changed in stronger:
        after = decide_gate([gated("one", changed, tier)])  # type: ignore[arg-type]
        assert after.scenarios[0].p is not None
        assert after.scenarios[0].p <= before.scenarios[0].p
        assert after.fails or not before.fails


@settings(deadline=None, max_examples=60)
@given(st.lists(tables(8), min_size=1, max_size=6), st.data())
def test_a_further_failure_anywhere_never_weakens_the_suite_test(made: list[Table], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(made) - 1))
    k1, n1, k2, n2 = made[place]
    if k2:
        worse = [*made[:place], (k1, n1, k2 - 1, n2), *made[place + 1 :]]
        before, after = (
            exact_stratified_drop_p([(pass_count(*each[:2]), pass_count(*each[2:])) for each in suite]) for suite in (made, worse)
        )
        assert after <= before


def test_a_further_failure_elsewhere_can_make_the_threshold_stricter() -> None:
    """The price of margins that are given: a scenario that begins to fail is one more test, and a drop beside it is proven no longer."""
    dropped = (9, 10, 4, 10)
    before, after = (decide_gate(suite_of([dropped, (8, 10, k2, 10)])) for k2 in (8, 7))
    assert (before.k, before.scenarios[0].reading) == (1, "drop_significant")
    assert (after.k, after.scenarios[0].reading) == (2, "listed_not_proven")


@settings(deadline=None, max_examples=60)
@given(suites, st.data())
def test_what_fails_as_standard_fails_as_critical_and_no_scenario_beside_it_reads_milder(made: list[Table], data: st.DataObject) -> None:
    if not made:
        return
    place = data.draw(st.integers(0, len(made) - 1))
    standard = suite_of(made)
    raised = [one.with_changes(candidate_tier="critical") if at == place else one for at, one in enumerate(standard)]
    before, after = decide_gate(standard), decide_gate(raised)
    assert after.k <= before.k
    for first, second in zip(before.scenarios, after.scenarios, strict=True):
        assert second.gates or not first.gates
    assert after.fails or not before.gating


@settings(deadline=None, max_examples=100)
@given(suites)
def test_k_is_the_least_for_which_no_more_scenarios_can_reach_the_threshold(made: list[Table]) -> None:
    decision = decide_gate(suite_of(made))
    smallest = [decided.smallest_p for decided in decision.scenarios if decided.smallest_p is not None]
    suffices = [k for k in range(1, len(made) + 2) if sum(p <= LEVEL / k for p in smallest) <= k]
    assert (decision.k, decision.threshold) == (suffices[0], LEVEL / suffices[0])


@settings(deadline=None, max_examples=60)
@given(suites)
def test_what_fails_and_why_follows_from_counts_k_and_levels_alone(made: list[Table]) -> None:
    """Oracle: the rule written out once more, from the definition of each p-value."""
    from scipy.stats import hypergeom

    decision = decide_gate(suite_of(made))
    for decided, (k1, n1, k2, n2) in zip(decision.scenarios, made, strict=True):
        if decided.p is None:
            assert float(hypergeom.pmf(n1, n1 + n2, n1, n1)) > 0.04
            continue
        assert abs(float(decided.p) - hypergeom.sf(k1 - 1, n1 + n2, k1 + k2, n1)) < 1e-12
        assert decided.gates == (decided.p <= decision.threshold)
    single = [decided for decided in decision.scenarios if decided.gates]
    assert decision.fails == (bool(single) or decision.suite_p <= 0.01)
