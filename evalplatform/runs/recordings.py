"""Batches of one recording: a bundle that lacked runs was stored, gone on with, and stored again. Only the most complete of them counts.

All of them hold the same runs, so that beside one another they would be compared with themselves, and counted twice.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from evalplatform.runs.records import Batch


def is_same_recording(a: Batch, b: Batch) -> bool:
    """Return whether two batches were recorded into one bundle: begun at the same moment, with the same declared.

    Imports are made at once and never gone on with, and their time is the trace's, which several may share.
    """
    return a.header.origin == "run" and a.header.recorded_at == b.header.recorded_at and a.header == b.header


def most_complete(newest_first: Iterable[Batch]) -> Iterator[Batch]:
    """Iterate over the batches in their order, of each recording only over the most complete one.

    That is one that was not truncated before one that was, and then that with the most graded runs.

    Args:
        newest_first: a project's batches as stores give them, so that those of one recording follow one another. It is read one batch
            beyond the one that is given.
    """
    for _, recorded_at_once in groupby(newest_first, key=lambda batch: batch.header.recorded_at):
        batches = list(recorded_at_once)
        continued = continued_as(batches)
        yield from (batch for batch in batches if batch.id not in continued)


def continued_as(batches: Iterable[Batch]) -> dict[str, str]:
    """Return, by the id of each batch that was gone on with, the id of the most complete batch of its recording."""
    found: dict[str, str] = {}
    for of_one in _recordings(batches):
        best = max(of_one, key=lambda batch: (not batch.truncated, batch.graded_runs, batch.id))
        found |= {batch.id: best.id for batch in of_one if batch.id != best.id}
    return found


def _recordings(batches: Iterable[Batch]) -> Iterator[list[Batch]]:
    """Iterate over the batches by recording; headers, which can be large, are compared only where the times are the same."""
    at: dict[object, list[list[Batch]]] = {}
    for batch in batches:
        of_moment = at.setdefault(batch.header.recorded_at, [])
        same = next((recording for recording in of_moment if is_same_recording(recording[0], batch)), None)
        if same is None:
            of_moment.append([batch])
        else:
            same.append(batch)
    for of_moment in at.values():
        yield from of_moment
