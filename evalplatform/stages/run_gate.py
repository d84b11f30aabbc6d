"""One gate from its two sides to its decision: the baseline found, the history of its branch read, replays run again, all compared."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from evalplatform.comparisons.batches.headline import headline_baseline
from evalplatform.comparisons.batches.records import ScenarioChange
from evalplatform.comparisons.label_records import VerdictAgreement
from evalplatform.gates.history import History
from evalplatform.gates.inputs import has_gate_policy, live_scenario_ids
from evalplatform.kernel.errors import InputError, StorageError
from evalplatform.reports.gate_view import GateView
from evalplatform.runs.recordings import most_complete
from evalplatform.runs.records import Batch
from evalplatform.runs.remembered_gate import GateReport, GateStrictness
from evalplatform.stages.batch_sides import BatchSide, bundle_side, is_bundle_path, matching_id, stored_side
from evalplatform.stages.gate import NO_POOLS, GatedComparison, gated_comparison
from evalplatform.stages.gate_baseline import GateBaseline, branch_baseline
from evalplatform.stages.gate_history import read_history
from evalplatform.stages.gate_view import gate_view
from evalplatform.stages.replay_determinism import replay_determinism
from evalplatform.stages.runs_context import RunsContext


@dataclass(frozen=True)
class GateRequest:
    """What a gate is asked for.

    Attributes:
        baseline: a batch id, what only one id begins or ends with, or a bundle's file; None for the branch's, or the batch before.
        baseline_branch: the branch whose last remembered gate gives the baseline and its history; None for none.
        candidate: as `baseline`; None for the newest stored batch that is not partial.
        branch: the branch that is gated, as it was named or as the CI build pushes it; None where neither says.
        takes_recorded_branch: whether the candidate's own recorded branch stands in for that; never in a build of a pull request.
        strictness: what is asked for beyond the rule.
    """

    baseline: str | None = None
    baseline_branch: str | None = None
    candidate: str | None = None
    branch: str | None = None
    takes_recorded_branch: bool = True
    strictness: GateStrictness = field(default_factory=GateStrictness)

    @property
    def reads_stored_batches(self) -> bool:
        """Whether a side is a stored batch."""
        return not all(name is not None and is_bundle_path(name) for name in (self.baseline, self.candidate))

    @property
    def needs_project(self) -> bool:
        """Whether a project has to be opened: not for two bundles, where no replay is run again."""
        return self.strictness.require_replay_determinism or self.reads_stored_batches


class GateSides(NamedTuple):
    """What a gate is between, before anything is compared.

    Attributes:
        baseline, candidate: its two sides.
        resolution: the baseline, and why it is that.
        branch: the branch that is gated; None of a pull request.
        history: what was pooled of the baseline's branch; None where none was asked for, or it could not be read.
        history_error: why it could not be read.
        strictness: what is asked for beyond the rule.
    """

    baseline: BatchSide
    candidate: BatchSide
    resolution: GateBaseline
    branch: str | None
    history: History | None
    history_error: str | None
    strictness: GateStrictness

    @property
    def pinned(self) -> tuple[str, ...] | None:
        """The ids of the batches that the history was read from, newest first; None where none was asked for."""
        return None if self.history is None else self.history.batches

    def report(self, key: str) -> GateReport:
        """Return what is reported of this gate to be remembered: no word of what came out."""
        return GateReport(
            key=key,
            baseline=self.baseline.batch.id,
            candidate=self.candidate.batch.id,
            strictness=self.strictness,
            history=self.pinned,
            history_unreadable=self.history_error is not None,
            branch=self.branch,
            baseline_branch=self.resolution.branch,
        )


class GateRun(NamedTuple):
    """A gate that was run: what it was between, and the comparison with its decision."""

    sides: GateSides
    gated: GatedComparison

    def view(self, *, judge_agreement: VerdictAgreement | None = None) -> GateView | None:
        """Return what a report shows of the gate, its certificate included; None where no gate policy decides. See `gate_view`."""
        sides = self.sides
        return gate_view(self.gated, sides.resolution, history=sides.pinned, strictness=sides.strictness, judge_agreement=judge_agreement)


def gate_sides(context: RunsContext | None, request: GateRequest) -> GateSides:
    """Find what a gate is between. A history that cannot be read is no error here: it fails the gate as unverified.

    Args:
        context: the agent side of the project; None where `request.needs_project` is False.
        request: what is asked for.

    Raises:
        InputError: no baseline or no candidate can be found.
        StorageError: the stores cannot be read.
    """
    candidate = _candidate(context, request)
    branch = request.branch or (candidate.batch.header.branch if request.takes_recorded_branch else None)
    resolution, baseline = _baseline(context, request, candidate, branch)
    history, history_error = _history(context, resolution, candidate.batch)
    return GateSides(baseline, candidate, resolution, branch, history, history_error, request.strictness)


def run_gate(context: RunsContext | None, sides: GateSides, *, on_row: Callable[[ScenarioChange], None] | None = None) -> GateRun:
    """Run a gate.

    Args:
        context: as for `gate_sides`.
        sides: what it is between.
        on_row: is given every scenario's row as it is made.

    Raises:
        InputError: the two batches are of different projects, or replay determinism cannot be told.
        StorageError: the stores cannot be read.
    """
    determinism = None
    if sides.strictness.require_replay_determinism:
        determinism = replay_determinism(_opened(context), sides.baseline, sides.candidate)
    gated = gated_comparison(
        sides.baseline.runs,
        sides.candidate.runs,
        pools=NO_POOLS if sides.history is None else sides.history.pools,
        is_seed=sides.resolution.choice == "seed",
        history_error=sides.history_error,
        determinism=determinism,
        on_row=on_row,
    )
    return GateRun(sides, gated)


def _candidate(context: RunsContext | None, request: GateRequest) -> BatchSide:
    if request.candidate is not None:
        return _side(context, request.candidate)
    batches = most_complete(_opened(context).batches.batches())
    newest = next((batch for batch in batches if batch.retention != "expired" and not (batch.is_partial or batch.is_leg)), None)
    if newest is None:
        raise InputError(
            "there is no batch to gate: none is stored that has not expired and is not partial; `evalplatform push BUNDLE` stores one, and "
            "--candidate names a partial one.",
            field="--candidate",
        )
    return _side(context, newest.id)


def _baseline(
    context: RunsContext | None, request: GateRequest, candidate: BatchSide, branch: str | None
) -> tuple[GateBaseline, BatchSide]:
    if request.baseline is not None:
        side = _side(context, request.baseline)
        return GateBaseline(side.batch, "named"), side
    opened = _opened(context)
    if request.baseline_branch is not None:
        found = branch_baseline(opened, request.baseline_branch, candidate.batch, gate_branch=branch)
        return found, candidate if found.choice == "seed" else _side(opened, found.batch.id)
    chosen = headline_baseline(opened.batches.batches(), candidate.batch)
    if chosen is None:
        raise InputError(
            f"there is no baseline for {candidate.batch.id}: no batch was recorded before it that has not expired and is not partial. "
            "Name one, or gate against a branch with --baseline-branch.",
            field="--baseline",
        )
    return GateBaseline(chosen.baseline, chosen.choice), _side(opened, chosen.baseline.id)


def _history(context: RunsContext | None, resolution: GateBaseline, candidate: Batch) -> tuple[History | None, str | None]:
    """Return the history that stands for the baseline, or why it cannot be read; neither where none is asked for."""
    if resolution.choice != "branch" or resolution.branch is None or not has_gate_policy(resolution.batch.header, candidate.header):
        return None, None
    scenario_ids = live_scenario_ids(candidate.header)
    try:
        return read_history(_opened(context), branch=resolution.branch, candidate=candidate, scenario_ids=scenario_ids), None
    except (StorageError, InputError) as error:
        return None, str(error)


def _side(context: RunsContext | None, name: str) -> BatchSide:
    if is_bundle_path(name):
        return bundle_side(Path(name))
    opened = _opened(context)
    return stored_side(matching_id(name, opened.batches.ids()), batches=opened.batches, objects=opened.objects)


def _opened(context: RunsContext | None) -> RunsContext:
    if context is None:
        raise ValueError("this gate needs a project")
    return context
