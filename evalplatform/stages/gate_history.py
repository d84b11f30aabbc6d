"""Reading the history that stands for a branch's baseline: newly from its remembered gates, or exactly as a gate pinned it."""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import islice

from pydantic import ValidationError

from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.gates.history import MOST_BATCHES, History, pooled_history
from evalplatform.kernel.errors import InputError
from evalplatform.runs.recordings import most_complete
from evalplatform.runs.records import Batch
from evalplatform.stages.gate_baseline import eligible_gates
from evalplatform.stages.runs_context import RunsContext

MOST_GATES = 4 * MOST_BATCHES
"""So many gates are looked at: a batch may have been gated several times."""


def read_history(context: RunsContext, *, branch: str, candidate: Batch | None, scenario_ids: Collection[str]) -> History:
    """Pool the history of a branch: the batches of its remembered gates, by when they were recorded, each recording once.

    Args:
        context: the agent side of the project.
        branch: whose history.
        candidate: the batch that is gated, whose own runs are no history of it; None where none is.
        scenario_ids: the scenarios that it is asked of.

    Raises:
        StorageError: the stores cannot be read.
        InputError: what they hold is not in order, or damaged.
    """
    gated = {batch.id: batch for _, batch in islice(eligible_gates(context, branch, but=candidate), MOST_GATES)}
    newest_first = sorted(gated.values(), key=lambda batch: (batch.header.recorded_at, batch.id), reverse=True)
    return _pooled(context, most_complete(newest_first), scenario_ids)


def pinned_history(context: RunsContext, batch_ids: Sequence[str], scenario_ids: Collection[str]) -> History:
    """Pool the history again from exactly the batches that a gate pinned.

    Raises:
        InputError: one of them is not there, damaged, or no longer whole, so that it gives other runs than it did.
        StorageError: the stores cannot be read.
    """
    batches = [context.batches.batch(batch_id) for batch_id in batch_ids]
    for batch in batches:
        if batch.retention != "whole":
            raise InputError(f"the pinned history cannot be read: {batch.id} is {batch.retention}.")
    return _pooled(context, batches, scenario_ids)


def _pooled(context: RunsContext, batches: Iterable[Batch], scenario_ids: Collection[str]) -> History:
    sides = (BatchRuns(batch, partial(context.batches.runs, batch.id)) for batch in batches)
    try:
        return pooled_history(sides, scenario_ids)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        raise InputError(f"a stored {error.title.lower()} is damaged: {where}: {problem['msg']}.") from None
