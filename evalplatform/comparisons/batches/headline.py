"""The headline comparison: which two batches a project's page compares by itself, and where it looks for the first divergence."""

from collections.abc import Iterable
from datetime import datetime

from evalplatform.comparisons.batches.records import BatchComparison, HeadlineChoice, ScenarioChange
from evalplatform.runs.recordings import is_same_recording, most_complete
from evalplatform.runs.records import Batch


def headline_baseline(
    newest_first: Iterable[Batch], candidate: Batch | None = None, *, last_gate_baseline: str | None = None
) -> HeadlineChoice | None:
    """Choose the two batches of the headline comparison, and say why the baseline was taken.

    Expired batches are never taken, nor is one that was gone on with and stored again: only the most complete batch of a recording is.
    A partial batch, of fewer scenarios than its file has, is not taken by itself: all the other scenarios would have nothing to compare.
    Nor is a leg of a night.

    Args:
        newest_first: a project's batches, newest first, as stores give them; read only as far as needed.
        candidate: the batch in question; None takes the newest that is not partial.
        last_gate_baseline: the id of the batch that the last gate compared the candidate with, where that is known. It is taken where it is
            among the batches and is another than the candidate: a batch that was gated against itself says nothing of a change.

    Returns:
        The last gate's baseline, else the batch recorded just before the candidate, not partial and in a recording of its own; None where
        there is neither, or the candidate has expired.
    """
    kept = (batch for batch in most_complete(newest_first) if batch.retention != "expired" and not batch.is_leg)
    candidate = candidate or next((batch for batch in kept if not batch.is_partial), None)
    if candidate is None or candidate.retention == "expired":
        return None
    previous: Batch | None = None
    for batch in kept:
        if batch.id == last_gate_baseline and batch.id != candidate.id:
            return HeadlineChoice(baseline=batch, candidate=candidate, choice="last_gate")
        is_older = _age(batch) < _age(candidate) and not is_same_recording(batch, candidate)
        if previous is None and is_older and not batch.is_partial:
            previous = batch
        if previous is not None and last_gate_baseline in (None, candidate.id):
            break
    return None if previous is None else HeadlineChoice(baseline=previous, candidate=candidate, choice="previous_batch")


def first_divergence_row(comparison: BatchComparison) -> ScenarioChange | None:
    """Return the row whose two trajectories a headline opens at: the first newly failing one, else the first whose path drifted.

    Only rows with a trajectory on both sides are looked at; None where there is none. Where the trajectories part is for the caller to
    find, who can read them.
    """
    rows = [row for row in comparison.changes if row.path_changed is not None]
    failing = (row for row in rows if row.change == "newly_failing")
    return next(failing, None) or next((row for row in rows if row.path_drifted), None)


def _age(batch: Batch) -> tuple[datetime, str]:
    return batch.header.recorded_at, batch.id
