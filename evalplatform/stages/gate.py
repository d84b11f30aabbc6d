"""One gate: two batches compared, and what their gate policy makes of that. Everything that gates or shows a gate goes through here."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.records import BatchComparison, ScenarioChange
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.gates.decision import decide_gate
from evalplatform.gates.inputs import gate_scenario, has_gate_policy
from evalplatform.gates.records import GateDecision, GateScenario, HistoryPool, ReplayDeterminism

NO_POOLS: Mapping[str, HistoryPool] = {}


class GatedComparison(NamedTuple):
    """A comparison, and what the gate decides of it.

    `decision` is None where neither batch ran under a policy, so that the flip rule decides, and where nothing could be compared.
    `is_seed` and `determinism` are what was given: they count under the flip rule too.
    """

    comparison: BatchComparison
    decision: GateDecision | None
    is_seed: bool = False
    determinism: ReplayDeterminism | None = None

    @property
    def is_answered(self) -> bool:
        """Whether the gate has an answer. Under a policy, what could not be compared is unverified, which is one; a seed has nothing that
        could have got worse."""
        return self.decision is not None or self.is_seed or self.comparison.verdict != "incomparable"

    @property
    def fails(self) -> bool:
        """Whether the gate fails, where it has an answer."""
        if self.decision is not None:
            return self.decision.fails
        return self.comparison.would_fail or (self.determinism is not None and bool(self.determinism.differing))


def gated_comparison(
    baseline: BatchRuns,
    candidate: BatchRuns,
    *,
    pools: Mapping[str, HistoryPool] = NO_POOLS,
    is_seed: bool = False,
    history_error: str | None = None,
    determinism: ReplayDeterminism | None = None,
    on_row: Callable[[ScenarioChange], None] | None = None,
) -> GatedComparison:
    """Compare two batches and decide the gate.

    Args:
        baseline, candidate: the two batches.
        pools: the history of scenarios, by id, that stands for the baseline; empty without a branch baseline.
        is_seed: both are the same batch, which becomes its branch's first baseline.
        history_error: why the history could not be read; None where it could, or was not asked for.
        determinism: what running the replays again showed; None where it was not asked for.
        on_row: is given every scenario's row as it is made.

    Raises:
        InputError: the batches are of different projects, or the runs of one are not in order.
    """
    before, after = baseline.batch.header, candidate.batch.header
    given: list[GateScenario] = []

    def add(row: ScenarioChange) -> None:
        scenario = gate_scenario(row, before, after, pools=pools)
        if scenario is not None:
            given.append(scenario)
        if on_row is not None:
            on_row(row)

    comparison = compare_batches(baseline, candidate, on_row=add)
    if not given or not has_gate_policy(before, after):
        return GatedComparison(comparison, None, is_seed, determinism)
    decision = decide_gate(given, is_seed=is_seed, history_error=history_error, determinism=determinism)
    return GatedComparison(comparison, decision, is_seed, determinism)
