"""Takes up batches that were pushed into the batch store: each gets its partition, and is compared with the batch before it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import dagster as dg
from pydantic import Field, ValidationError

from assets.batch_partitions import BATCH_PARTITIONS, BATCH_TAG, partitions_request, registered_batches
from assets.runs import COMPARE_JOB
from assets.runs_materialized import runs_key
from assets.unfinished import PARTITION_TAG, UNFINISHED_RUNS
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value
from evalplatform.project.load import load_project
from evalplatform.stages import batch_comparisons, gate_decisions, recorded_batches
from evalplatform.wiring import OpenedProject

SENSOR_NAME = "recorded_batches"
EVERY_SECONDS = 30
MAX_REGISTERED = 100
"""The most partitions that one look adds."""
MAX_REQUESTS = 25
"""The most runs that one look asks for."""
MAX_UNDER_WAY = 50
"""With so many batches being taken up, a look asks for nothing more."""

Wanted = Literal["batch", "comparison"]
"""What a run is asked for: a batch with its comparison, or, of the first batch of all, the batch alone."""

_DESCRIPTION = (
    "Adds a partition for each batch that was pushed, and has it compared with the one recorded just before it. Asks no model. At most "
    f"{MAX_REGISTERED} partitions and {MAX_REQUESTS} runs a look, of the newest that are left; each batch is asked for once, and again "
    'what failed when you set the cursor to {"attempt": 2}.'
)


class BatchesCursor(Value):
    """What the looks so far have asked for and not seen recorded.

    Attributes:
        attempt: goes into the run keys, which Dagster remembers for ever. Write `{"attempt": 2}` as the cursor to have asked again what
            failed, then 3, and so on.
        asked: by batch, what was asked for.
    """

    attempt: Annotated[int, Field(strict=True, ge=1)] = 1
    asked: dict[str, Wanted] = Field(default_factory=dict)

    @classmethod
    def read(cls, text: str | None) -> "BatchesCursor":
        """Return the cursor, or raise InputError where what stands there is none."""
        if not text:
            return cls()
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise InputError(f'{text[:100]!r} is no cursor of this sensor; write {{"attempt": 2}} to ask again.', field="cursor") from error


def recorded_batches_sensor(project_file: Path) -> dg.SensorDefinition:
    """Return the sensor. It runs from the start: what it asks for costs nothing.

    A look reads the ids of the stored batches and Dagster's index of partitions. What is pushed late, with an earlier recorded time, is
    found like everything else.
    """

    @dg.sensor(
        name=SENSOR_NAME,
        job_name=COMPARE_JOB,
        minimum_interval_seconds=EVERY_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=_DESCRIPTION,
    )
    def recorded(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        cursor = BatchesCursor.read(context.cursor)
        with OpenedProject(load_project(project_file)) as opened:
            stored = opened.batch_store.ids(with_legs=False)
        registered = registered_batches(context.instance)
        unregistered = [batch_id for batch_id in stored if batch_id not in registered]
        added = unregistered[:MAX_REGISTERED]
        requests, left = requested(context.instance, stored, known=registered | set(added), cursor=cursor)
        if not added and not requests:
            context.update_cursor(left.model_dump_json())
            return dg.SkipReason(_nothing_to_do(len(stored), left))
        return dg.SensorResult(
            run_requests=requests, dynamic_partitions_requests=[partitions_request(added)] if added else [], cursor=left.model_dump_json()
        )

    return recorded


def requested(
    instance: dg.DagsterInstance, newest_first: Sequence[str], *, known: Collection[str], cursor: BatchesCursor
) -> tuple[list[dg.RunRequest], BatchesCursor]:
    """Return the runs to ask for now, and the cursor that knows of them.

    Args:
        instance: knows what was recorded, and what is under way.
        newest_first: the ids of all stored batches.
        known: those that have a partition, or get one at this look.
        cursor: what was asked for before.
    """
    missing = dict(_missing(instance, newest_first))
    asked = {batch_id: wanted for batch_id, wanted in cursor.asked.items() if missing.get(batch_id) == wanted}
    under_way = _under_way(instance)
    if len(under_way) >= MAX_UNDER_WAY:
        return [], BatchesCursor(attempt=cursor.attempt, asked=asked)
    open_ = ((batch_id, wanted) for batch_id, wanted in missing.items() if batch_id in known and batch_id not in {*asked, *under_way})
    chosen = list(islice(open_, MAX_REQUESTS))[::-1]  # the newest is made last: what an asset's page shows is what was made last
    requests = [_request(batch_id, wanted, attempt=cursor.attempt) for batch_id, wanted in chosen]
    return requests, BatchesCursor(attempt=cursor.attempt, asked={**asked, **dict(chosen)})


def _missing(instance: dg.DagsterInstance, newest_first: Sequence[str]) -> Iterator[tuple[str, Wanted]]:
    """Iterate over the batches of which something was never recorded. The first batch of all has none before it to be compared with."""
    taken_up = instance.get_materialized_partitions(runs_key(recorded_batches.ASSET))
    compared = instance.get_materialized_partitions(runs_key(batch_comparisons.ASSET))
    for batch_id in newest_first:
        if batch_id != newest_first[-1]:
            if batch_id not in compared:
                yield batch_id, "comparison"
        elif batch_id not in taken_up:
            yield batch_id, "batch"


def _under_way(instance: dg.DagsterInstance) -> set[str]:
    runs: Iterable[dg.DagsterRun] = instance.get_runs(dg.RunsFilter(job_name=COMPARE_JOB, statuses=UNFINISHED_RUNS))
    return {run.tags[PARTITION_TAG] for run in runs if PARTITION_TAG in run.tags}


def _request(batch_id: str, wanted: Wanted, *, attempt: int) -> dg.RunRequest:
    # With the partition's tags Dagster takes the key as resolved. It would otherwise look it up, which it cannot do for one just added.
    partition_tags = BATCH_PARTITIONS.get_tags_for_partition_key(batch_id)
    stages = (recorded_batches,) if wanted == "batch" else (recorded_batches, batch_comparisons, gate_decisions)
    return dg.RunRequest(
        run_key=f"runs:{batch_id}:{wanted}:{attempt}",
        partition_key=batch_id,
        asset_selection=[runs_key(stage.ASSET) for stage in stages],
        tags={**partition_tags, BATCH_TAG: batch_id},
    )


def _nothing_to_do(stored: int, cursor: BatchesCursor) -> str:
    if not stored:
        return "No batch was pushed yet."
    sentences = ["Every stored batch has its partition and was compared, or was asked for."]
    if cursor.asked:
        noun = "batch" if len(cursor.asked) == 1 else "batches"
        sentences.append(f"{len(cursor.asked):,} {noun} asked for and not finished, or failed.")
    return " ".join(sentences)
