"""How often each live scenario has to run, so that its gate catches the target drop 8 times in 10, given its history."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from pydantic import Field

from evalplatform.gates.records import SINGLE_LEVEL, HistoryPool
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value
from evalplatform.runs.gate_policy import GatePolicy
from evalplatform.runs.records import GateTier
from evalplatform.stats.drop_power import fewest_runs_to_catch
from evalplatform.stats.pass_counts import PassCount

PlanStatus = Literal["covered", "not_covered", "always_failing", "not_enough_history"]
"""`not_covered`: no number of runs up to 50 catches the target drop; `always_failing`: no drop is possible."""

RESERVED_K = 6
"""The least K that a plan reckons with: a reserve for five other scenarios moving in the same gate."""
FLOOR = 2
FLOOR_WITHOUT_HISTORY = 4
"""With a baseline batch of a few runs, fewer could not be verified; 2 against a pool can."""


class PlanScenario(Value):
    """A live scenario that is planned: its tier, and its history where it has one."""

    scenario_id: str
    tier: GateTier = "standard"
    pool: HistoryPool | None = None

    @property
    def passes(self) -> PassCount | None:
        """The pooled passes, or None with fewer than 10 pooled runs."""
        return self.pool.passes if self.pool is not None and self.pool.is_enough else None


class PlannedRunSet(Value):
    """How often one scenario runs.

    Attributes:
        scenario_id, tier: which.
        status: whether its history lets the target drop be caught.
        baseline: the pooled passes that stand for its true pass rate; None with fewer than 10 runs.
        target_drop_points: the drop that is to be caught.
        want: the fewest runs that catch it, or the policy's `runs` where none do or the history is too short.
        k: the K that the plan reckons with; None for a critical scenario, which is outside of it.
        runs: what is planned: `want`, or less where the cap binds.
    """

    scenario_id: str
    tier: GateTier
    status: PlanStatus
    baseline: PassCount | None
    target_drop_points: int
    want: int = Field(ge=1)
    k: int | None
    runs: int = Field(ge=1)

    @property
    def reaches_target(self) -> bool:
        """Whether the target drop is caught in it at least 8 times in 10: its history lets that be, and the cap leaves it what it needs."""
        return self.status == "covered" and self.runs >= self.want


class GatePlan(Value):
    """The plan of a gate.

    Attributes:
        rows: one a live scenario, by id.
        max_runs: the cap.
        total_runs: of all scenarios together; never above the cap.
        cap_binds: whether what is wanted is more than the cap.
    """

    rows: tuple[PlannedRunSet, ...]
    max_runs: int
    total_runs: int
    cap_binds: bool

    @property
    def short(self) -> tuple[PlannedRunSet, ...]:
        """The scenarios that run less often than they should, since the cap binds."""
        return tuple(row for row in self.rows if row.runs < row.want)

    @property
    def caught(self) -> int:
        """In how many scenarios the target drop is caught."""
        return sum(row.reaches_target for row in self.rows)

    @property
    def runs_by_scenario(self) -> dict[str, int]:
        """How often each scenario runs, by id."""
        return {row.scenario_id: row.runs for row in self.rows}


def plan_gate(scenarios: Sequence[PlanScenario], policy: GatePolicy) -> GatePlan:
    """Return how often each live scenario runs.

    A history's pass rate is taken as the true one. The threshold of a standard scenario is that of a gate in which it alone drops: K is one
    more than the number of other standard scenarios that could count, and at least 6.

    Args:
        scenarios: the live scenarios; replays run once and are outside of every plan.
        policy: what is to be caught, and what may be spent.

    Raises:
        InputError: the cap is below what every scenario needs at least.

    References:
        the rule of the cap and the reserve of 6 are decisions of the gates specification, section (d).
    """
    ordered = sorted(scenarios, key=lambda scenario: scenario.scenario_id)
    movers = [scenario.scenario_id for scenario in ordered if scenario.tier == "standard" and _may_move(scenario.passes)]
    rows = [_wanted(scenario, policy, others=len(movers) - (scenario.scenario_id in movers)) for scenario in ordered]
    wanted = sum(row.want for row in rows)
    if wanted > policy.max_runs_per_gate:
        funded = _funded(rows, policy.max_runs_per_gate)
        rows = [row.with_changes(runs=funded[row.scenario_id]) for row in rows]
    return GatePlan(
        rows=tuple(rows),
        max_runs=policy.max_runs_per_gate,
        total_runs=sum(row.runs for row in rows),
        cap_binds=wanted > policy.max_runs_per_gate,
    )


def _may_move(passes: PassCount | None) -> bool:
    """Return whether a scenario may count for K although it does not drop: one that always passed or never did cannot."""
    return passes is None or 0 < passes.passed < passes.graded


def _wanted(scenario: PlanScenario, policy: GatePolicy, *, others: int) -> PlannedRunSet:
    k = None if scenario.tier == "critical" else max(RESERVED_K, 1 + others)
    target = policy.target_drop_of(scenario.tier)
    passes = scenario.passes
    need: int | None = None
    status: PlanStatus = "not_enough_history"
    if passes is not None and passes.passed == 0:
        status = "always_failing"
    elif passes is not None:
        threshold: Fraction | None = None if k is None else SINGLE_LEVEL / k
        need = fewest_runs_to_catch(passes, target_drop_points=target, threshold=threshold)
        status = "not_covered" if need is None else "covered"
    want = policy.runs if need is None else need
    return PlannedRunSet(
        scenario_id=scenario.scenario_id,
        tier=scenario.tier,
        status=status,
        baseline=passes,
        target_drop_points=target,
        want=want,
        k=k,
        runs=want,
    )


def _funded(rows: Sequence[PlannedRunSet], max_runs: int) -> Mapping[str, int]:
    """Return the runs of each scenario under a cap that does not reach for all.

    First everyone gets a floor; then as many as possible get all they want; then what is left is dealt out one run at a time.
    """
    funded = {row.scenario_id: min(row.want, FLOOR if row.baseline is not None else FLOOR_WITHOUT_HISTORY) for row in rows}
    left = max_runs - sum(funded.values())
    if left < 0:
        raise InputError(
            f"is {max_runs:,}, and {len(rows):,} scenarios need {max_runs - left:,} runs at least: with fewer, some could not be verified.",
            field="gate.max_runs_per_gate",
        )
    in_order = sorted(rows, key=lambda row: (row.status != "covered", row.tier != "critical", row.want, row.scenario_id))
    for row in in_order:
        missing = row.want - funded[row.scenario_id]
        if missing <= left:
            funded[row.scenario_id] = row.want
            left -= missing
    while left:
        short = [row for row in in_order if funded[row.scenario_id] < row.want][:left]
        if not short:
            break
        for row in short:
            funded[row.scenario_id] += 1
        left -= len(short)
    return funded
