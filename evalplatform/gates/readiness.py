"""What a gate can catch as things stand: the plan of its next run, and what other targets would cost and cover."""

from collections.abc import Sequence
from typing import Literal

from evalplatform.comparisons.label_records import VerdictAgreement
from evalplatform.gates.gate_plan import GatePlan, PlannedRunSet, PlanScenario, plan_gate
from evalplatform.gates.records import MOST_POOLED_RUNS, HistoryPool
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value
from evalplatform.runs.gate_policy import GatePolicy

WHAT_IF_POINTS = (60, 50, 40)

ReadinessReading = Literal["stable", "some_failures", "not_covered", "always_failing", "unstable_critical", "not_enough_history"]
"""`not_covered`: no number of runs up to 50 reaches the target; `always_failing`: no drop is possible; `unstable_critical`: a critical
scenario whose history both passed and failed, so that it will fail on noise; `not_enough_history`: under 10 pooled runs."""


class ReadinessRow(Value):
    """One live scenario: its history, what is planned of it, and how it reads."""

    scenario_id: str
    pool: HistoryPool | None
    planned: PlannedRunSet
    reading: ReadinessReading


class WhatIf(Value):
    """What another target drop would take: runs of a gate, and in how many scenarios it is caught.

    Both are None where no plan can be made, for the `reason`.
    """

    target_drop_points: int
    total_runs: int | None
    caught: int | None
    reason: str | None = None


class Readiness(Value):
    """What a gate can catch.

    Attributes:
        target_drop_points: the policy's target of the standard tier.
        rows: the live scenarios, by id.
        plan: of the next gate.
        agreement: of the model judge with people's labels of runs; its reason says why there is none.
        what_if: the same at other targets.
    """

    target_drop_points: int
    rows: tuple[ReadinessRow, ...]
    plan: GatePlan
    agreement: VerdictAgreement
    what_if: tuple[WhatIf, ...]

    @property
    def caught(self) -> int:
        """In how many scenarios the target drop is caught."""
        return self.plan.caught

    @property
    def with_full_history(self) -> int:
        """How many scenarios have a history of 20 runs."""
        return sum(row.pool is not None and len(row.pool.newest_first) >= MOST_POOLED_RUNS for row in self.rows)

    @property
    def with_enough_history(self) -> int:
        """How many scenarios have 10 or more pooled runs."""
        return sum(row.pool is not None and row.pool.is_enough for row in self.rows)

    @property
    def is_day_one(self) -> bool:
        """Whether no scenario has enough history yet, so that nothing can be said of what the gate catches."""
        return self.with_enough_history == 0


def gate_readiness(scenarios: Sequence[PlanScenario], policy: GatePolicy, *, agreement: VerdictAgreement) -> Readiness:
    """Return what a gate can catch, by the same pools, thresholds and plan that a gate uses.

    Every history's pass rate is taken as the true one; with 20 runs that rate is itself uncertain, so this is the gate's design target and
    no promise about one gate.

    Args:
        scenarios: the live scenarios with their history.
        policy: what is to be caught.
        agreement: of the model judge with people's labels.

    Raises:
        InputError: the cap is below what every scenario needs at least.
    """
    plan = plan_gate(scenarios, policy)
    pools = {scenario.scenario_id: scenario.pool for scenario in scenarios}
    rows = tuple(_row(planned, pools[planned.scenario_id]) for planned in plan.rows)
    return Readiness(
        target_drop_points=policy.target_drop,
        rows=rows,
        plan=plan,
        agreement=agreement,
        what_if=tuple(_what_if(scenarios, policy, points) for points in WHAT_IF_POINTS),
    )


def _row(planned: PlannedRunSet, pool: HistoryPool | None) -> ReadinessRow:
    return ReadinessRow(scenario_id=planned.scenario_id, pool=pool, planned=planned, reading=_reading(planned))


def _reading(planned: PlannedRunSet) -> ReadinessReading:
    if planned.baseline is None:
        return "not_enough_history"
    if planned.baseline.passed == 0:
        return "always_failing"
    is_mixed = planned.baseline.passed < planned.baseline.graded
    if planned.tier == "critical" and is_mixed:
        return "unstable_critical"
    if planned.status == "not_covered":
        return "not_covered"
    return "some_failures" if is_mixed else "stable"


def _what_if(scenarios: Sequence[PlanScenario], policy: GatePolicy, points: int) -> WhatIf:
    try:
        plan = plan_gate(scenarios, policy.with_changes(target_drop=points))
    except InputError as error:
        return WhatIf(target_drop_points=points, total_runs=None, caught=None, reason=str(error))
    return WhatIf(target_drop_points=points, total_runs=plan.total_runs, caught=plan.caught)
