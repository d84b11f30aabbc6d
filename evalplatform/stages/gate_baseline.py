"""What a gate against a branch compares with: the batch that the branch's last remembered gate gated, which is what the branch is now."""

from collections.abc import Iterator
from typing import NamedTuple

from evalplatform.comparisons.batches.records import BaselineChoice
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.ports.gates import GateStore
from evalplatform.runs.recordings import is_same_recording
from evalplatform.runs.records import Batch
from evalplatform.runs.remembered_gate import RememberedGate
from evalplatform.stages.runs_context import RunsContext


class GateBaseline(NamedTuple):
    """The baseline of a gate, and why it is that: the branch that was asked for, and the remembered gate it was found by."""

    batch: Batch
    choice: BaselineChoice
    branch: str | None = None
    gate: RememberedGate | None = None


def branch_baseline(context: RunsContext, branch: str, candidate: Batch, *, gate_branch: str | None) -> GateBaseline:
    """Return the baseline of a branch for a candidate.

    A flagged gate counts like a clean one: nobody is blamed for what the branch had already. A branch without a usable gate is seeded by
    the first push build of it: its batch is gated against itself.

    Args:
        context: the agent side of the project.
        branch: the branch to gate against.
        candidate: the batch in question.
        gate_branch: the branch that this gate itself is of; None for a pull request.

    Raises:
        InputError: nothing is remembered on the branch that could be a baseline, and this gate cannot seed it; the message says how to.
        StorageError: the stores cannot be read.
    """
    for gate, batch in eligible_gates(context, branch, but=candidate):
        return GateBaseline(batch, "branch", branch, gate)
    if gate_branch != branch:
        raise InputError(
            f"no gate that could be a baseline is remembered on the branch {branch!r}. A push build of that branch seeds one: "
            f"`evalplatform gate --baseline-branch {branch} --branch {branch} --record`.",
            field="--baseline-branch",
        )
    flaw = baseline_flaw(candidate)
    if flaw is not None:
        raise InputError(f"{candidate.id} cannot become the first baseline of the branch {branch!r}: it {flaw}.", field="--baseline-branch")
    return GateBaseline(candidate, "seed", branch)


def eligible_gates(context: RunsContext, branch: str, *, but: Batch | None) -> Iterator[tuple[RememberedGate, Batch]]:
    """Iterate over the branch's remembered gates whose candidate can stand for the branch, newest first, each with that batch.

    Those are the gates that were decided, of batches without a flaw; not those of `but`, nor of another batch of its recording.
    """
    for gate in context.gates.gates(branch=branch):
        batch = None if gate.standing == "failed_check" else _stored(context, gate.report.candidate)
        if batch is None or baseline_flaw(batch) is not None:
            continue
        if but is None or not (batch.id == but.id or is_same_recording(batch, but)):
            yield gate, batch


def baseline_flaw(batch: Batch) -> str | None:
    """Return why a batch cannot stand for its branch, or None where it can."""
    if batch.is_leg:
        return "is a leg of a night, and no batch of the branch"
    if batch.retention != "whole":
        return f"is {batch.retention}, so that its run sets are no longer whole"
    if batch.truncated:
        return "is truncated, so that planned runs are missing"
    if batch.is_partial:
        return "was recorded of some of the scenarios only"
    return None if batch.graded_runs else "has no graded run"


def last_gate_baseline(gates: GateStore, candidate_id: str) -> str | None:
    """Return the batch that the last remembered gate of a candidate compared it with; None where none is remembered."""
    last = next(gates.gates(candidate=candidate_id, limit=1), None)
    return None if last is None else last.report.baseline


def _stored(context: RunsContext, batch_id: str) -> Batch | None:
    try:
        return context.batches.batch(batch_id)
    except UnknownNameError:  # a batch may have been removed since
        return None
