"""The gate of a stored batch as the platform sees it: against what its last remembered gate compared it with, else the batch before it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from evalplatform.comparisons.batches.records import HeadlineChoice, ScenarioChange
from evalplatform.gates.inputs import live_scenario_ids
from evalplatform.gates.records import HistoryPool
from evalplatform.kernel.errors import InputError
from evalplatform.reports.gate_view import GateView
from evalplatform.runs.records import Batch
from evalplatform.runs.remembered_gate import RememberedGate
from evalplatform.stages.batch_sides import BatchSide, stored_side
from evalplatform.stages.gate import NO_POOLS, GatedComparison, gated_comparison
from evalplatform.stages.gate_baseline import GateBaseline
from evalplatform.stages.gate_history import pinned_history
from evalplatform.stages.gate_view import gate_view
from evalplatform.stages.remember_gate import HISTORY_UNREADABLE
from evalplatform.stages.runs_context import RunsContext


class BatchGate(NamedTuple):
    """A gated batch: its two sides, the comparison with its decision, and what a report shows of it (None without a gate policy)."""

    baseline: BatchSide
    candidate: BatchSide
    gated: GatedComparison
    view: GateView | None


class PinnedBaseline(NamedTuple):
    """What a remembered gate adds to its baseline batch.

    Attributes:
        pools: the history of scenarios, by id, from exactly the batches that the gate pinned; empty where it pinned none.
        history: the ids of these batches, newest first; None where none were pinned, or they cannot be read.
        history_error: why they cannot be read, or could not when it was gated.
        branch: the branch that it was gated against.
    """

    pools: Mapping[str, HistoryPool] = NO_POOLS
    history: tuple[str, ...] | None = None
    history_error: str | None = None
    branch: str | None = None


NOTHING_PINNED = PinnedBaseline()


def pinned_baseline(context: RunsContext, candidate: Batch, remembered: RememberedGate | None) -> PinnedBaseline:
    """Return what the remembered gate of a batch pinned; nothing without one.

    Raises:
        StorageError: the stores cannot be read.
    """
    if remembered is None:
        return NOTHING_PINNED
    report = remembered.report
    if report.history_unreadable:
        return PinnedBaseline(history_error=HISTORY_UNREADABLE, branch=report.baseline_branch)
    if report.history is None:
        return PinnedBaseline(branch=report.baseline_branch)
    try:
        pools = pinned_history(context, report.history, live_scenario_ids(candidate.header)).pools
    except InputError as error:
        return PinnedBaseline(history_error=str(error), branch=report.baseline_branch)
    return PinnedBaseline(pools, report.history, None, report.baseline_branch)


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
    pinned = pinned_baseline(context, chosen.candidate, remembered)
    gated = gated_comparison(baseline.runs, candidate.runs, pools=pinned.pools, history_error=pinned.history_error, on_row=on_row)
    view = gate_view(gated, GateBaseline(chosen.baseline, chosen.choice, pinned.branch), history=pinned.history)
    return BatchGate(baseline, candidate, gated, view)
