"""The gate of a stored batch as the platform sees it: against what its last remembered gate compared it with, else the batch before it."""

from collections.abc import Callable
from typing import NamedTuple

from evalplatform.comparisons.batches.records import HeadlineChoice, ScenarioChange
from evalplatform.gates.inputs import live_scenario_ids
from evalplatform.kernel.errors import InputError
from evalplatform.reports.gate_view import GateView
from evalplatform.runs.remembered_gate import RememberedGate
from evalplatform.stages.batch_sides import BatchSide, stored_side
from evalplatform.stages.gate import NO_POOLS, GatedComparison, gated_comparison
from evalplatform.stages.gate_baseline import GateBaseline
from evalplatform.stages.gate_history import pinned_history
from evalplatform.stages.gate_view import gate_view
from evalplatform.stages.runs_context import RunsContext


class BatchGate(NamedTuple):
    """A gated batch: its two sides, the comparison with its decision, and what a report shows of it (None without a gate policy)."""

    baseline: BatchSide
    candidate: BatchSide
    gated: GatedComparison
    view: GateView | None


def remembered_for(context: RunsContext, chosen: HeadlineChoice) -> RememberedGate | None:
    """Return the last remembered gate of exactly these two batches, or None."""
    last = next(context.gates.gates(candidate=chosen.candidate.id, limit=1), None)
    return last if last is not None and last.report.baseline == chosen.baseline.id else None


def batch_gate(
    context: RunsContext,
    chosen: HeadlineChoice,
    remembered: RememberedGate | None,
    *,
    on_row: Callable[[ScenarioChange], None] | None = None,
) -> BatchGate:
    """Compare a batch with its baseline and decide its gate: with the history that its remembered gate pinned, where there is one.

    Args:
        context: the agent side of the project.
        chosen: the two batches, and why the baseline is that.
        remembered: the gate of `remembered_for`.
        on_row: is given every scenario's row as it is made.

    Raises:
        StorageError: the stores cannot be read.
    """
    sides = [stored_side(batch.id, batches=context.batches, objects=context.objects) for batch in (chosen.baseline, chosen.candidate)]
    baseline, candidate = sides
    pinned = None if remembered is None else remembered.report.history
    pools, history_error = NO_POOLS, None
    if pinned is not None:
        try:
            pools = pinned_history(context, pinned, live_scenario_ids(chosen.candidate.header)).pools
        except InputError as error:
            history_error = str(error)
    gated = gated_comparison(baseline.runs, candidate.runs, pools=pools, history_error=history_error, on_row=on_row)
    branch = None if remembered is None else remembered.report.baseline_branch
    strictness = None if remembered is None else remembered.report.strictness.with_changes(require_replay_determinism=False)
    view = gate_view(gated, GateBaseline(chosen.baseline, chosen.choice, branch), history=pinned, strictness=strictness)
    return BatchGate(baseline, candidate, gated, view)
