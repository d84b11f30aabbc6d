"""What power curves promise is what a gate catches, counted over drawn candidates."""

from fractions import Fraction
from math import sqrt
from random import Random

import numpy as np
import pytest

from evalplatform.gates.decision import decide_gate
from evalplatform.gates.records import GateScenario
from evalplatform.runs.records import GateTier
from evalplatform.stats.drop_power import any_drop_power, fewest_runs_to_catch, significance_power
from evalplatform.stats.wilson import wilson_interval
from tests.support.gate_suites import gated, pass_count

DRAWS = 20_000
LEVEL = Fraction(1, 25)


def caught_rate(baseline: tuple[int, int], runs: int, rate: float, *, tier: GateTier) -> float:
    """How often a gate over this one scenario flags it, over candidates drawn at a pass rate."""
    flagged = np.array([bool(decide_gate([gated("one", (*baseline, passed, runs), tier)]).gating) for passed in range(runs + 1)])
    drawn = np.random.default_rng([*baseline, runs, int(100 * rate)]).binomial(runs, rate, DRAWS)
    return float(flagged[drawn].mean())


@pytest.mark.parametrize("baseline", [(20, 20), (18, 20), (10, 10), (7, 12)], ids=str)
@pytest.mark.parametrize("tier", ["standard", "critical"])
def test_power_curves_agree_with_drawn_candidates(baseline: tuple[int, int], tier: GateTier) -> None:
    for runs in (4, 8, 12, 20, 50):
        for rate in (0.1, 0.3, 0.5, 0.7, 0.9):
            exact, history = Fraction(str(rate)), pass_count(*baseline)
            power = (
                any_drop_power(history, runs, pass_rate=exact)
                if tier == "critical"
                else significance_power(history, runs, pass_rate=exact, threshold=LEVEL)
            )
            allowed = 4.5 * sqrt(float(power * (1 - power)) / DRAWS) + 1e-12
            assert caught_rate(baseline, runs, rate, tier=tier) == pytest.approx(float(power), abs=allowed)


def test_what_is_planned_for_catches_the_target_at_least_8_times_in_10_beside_five_other_scenarios_that_move() -> None:
    """The plan reserves for five others: with them K is at most 6, and the power that was planned is a lower bound."""
    random, gates = Random(12), 200
    runs = fewest_runs_to_catch(pass_count(20, 20), target_drop_points=50, threshold=LEVEL / 6)
    assert runs == 12
    caught = 0
    for _ in range(gates):
        scenarios: list[GateScenario] = [gated("fell", (20, 20, sum(random.random() < 0.5 for _ in range(runs)), runs))]
        for other in range(5):
            history, candidate = (sum(random.random() < 0.85 for _ in range(side)) for side in (20, runs))
            scenarios.append(gated(f"other-{other}", (history, 20, candidate, runs)))
        decision = decide_gate([*scenarios, *(gated(f"steady-{place}", (20, 20, runs, runs)) for place in range(30))])
        assert decision.k <= 6
        caught += "fell" in {decided.scenario_id for decided in decision.gating}
    found = wilson_interval(caught, gates)
    assert found is not None
    assert found.ci_hi >= 0.8
