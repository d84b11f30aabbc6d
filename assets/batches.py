"""A run over several partitions of a body: key by key, and one that fails leaves the others be.

What a key finished is recorded at once, as a materialization of that partition; the run fails at its end with the names of those that did.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg

from assets.partitions import multi_partition_key
from evalplatform.kernel.errors import EvalplatformError
from evalplatform.kernel.text import plural
from evalplatform.stages.context import SuiteContext
from resources.project import OpenSuite, failure_of, id_of_spending

# Measured, see docs/backfills.md: a run's start costs as much as seven partitions do, and beyond 25 little of it is left to save.
PARTITIONS_PER_RUN = 25
MAX_SHOWN_KEYS = 10

Recorded = dg.MaterializeResult[None] | dg.AssetMaterialization | dg.AssetCheckEvaluation
MakePartition = Callable[[SuiteContext, dg.MultiPartitionKey], Iterator[Recorded]]
"""Makes one partition of the suite that was opened for it, and yields what is recorded."""


def keys_of_run(context: dg.AssetExecutionContext) -> list[dg.MultiPartitionKey]:
    """Return the partition keys of the body's run, each once; a launch may give one as the plain text `CELL|JUDGE`, or a range of them."""
    keys = context.partition_keys if context.has_partition_key_range else [context.partition_key]
    return list(dict.fromkeys(multi_partition_key(key) for key in keys))


@dataclass
class Batch:
    """Several partitions made by one run, each with a run id of its own for the ledger, so that a spend cap is a partition's."""

    context: dg.AssetExecutionContext
    open_suite: OpenSuite
    make: MakePartition
    failures: dict[dg.MultiPartitionKey, dg.Failure] = field(default_factory=dict)

    def recorded(self, keys: Sequence[dg.MultiPartitionKey]) -> Iterator[Recorded]:
        """Yield what is finished, key by key, and raise at the end where a key failed."""
        for number, key in enumerate(keys, start=1):
            self.context.log.info(f"partition {number} of {len(keys)}: {key}")
            try:
                yield from self.make(self.open_suite(f"{id_of_spending(self.context.run)}.{number}"), key)
            except Exception as error:
                self.context.log.error(f"partition {key}: {error}", exc_info=not isinstance(error, dg.Failure | EvalplatformError))
                self.failures[key] = failure_of(error)
        if self.failures:
            raise failure_of_batch(self.failures, partitions=len(keys))


def failure_of_batch(failures: Mapping[dg.MultiPartitionKey, dg.Failure], *, partitions: int) -> dg.Failure:
    """Return the one failure of a run of which some partitions failed. It is tried again unless a retry can mend none of them."""
    reasons = {str(key): failure.description or "" for key, failure in failures.items()}
    shown = [f"{key}: {reason}" for key, reason in list(reasons.items())[:MAX_SHOWN_KEYS]]
    left = len(reasons) - len(shown)
    finished = partitions - len(failures)
    return dg.Failure(
        description="\n".join(
            [
                f"{len(failures)} of {plural(partitions, 'partition')} failed; {finished} finished and stay materialized.",
                *shown,
                *([f"and {left} more"] if left else []),
            ]
        ),
        metadata={"failed_partitions": dg.MetadataValue.json(reasons), "finished_partitions": finished},
        allow_retries=any(failure.allow_retries for failure in failures.values()),
    )
