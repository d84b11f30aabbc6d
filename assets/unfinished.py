"""Which partitions of a suite unfinished runs and backfills are about."""

from collections.abc import Iterable
from dataclasses import dataclass

import dagster as dg
from dagster._core.execution.backfill import BulkActionsFilter, BulkActionStatus, PartitionBackfill  # there is no public way to them

from assets.declared import SUITE_TAG, asset_key

PARTITION_TAG = "dagster/partition"
RANGE_TAGS = ("dagster/asset_partition_range_start", "dagster/partition_range_start")
UNFINISHED_RUNS = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)
UNFINISHED_BACKFILLS = [BulkActionStatus.REQUESTED, BulkActionStatus.CANCELING, BulkActionStatus.FAILING]


@dataclass(frozen=True)
class UnfinishedWork:
    """What is under way in one suite.

    Attributes:
        partitions: the partition keys that single runs are about: a cell, or `CELL|JUDGE`.
        batches: whether there is a backfill, or a run over a range of partitions; it may be about any of them.
    """

    partitions: frozenset[str]
    batches: bool

    def names(self, key: str) -> bool:
        """Say whether a cell's or judge's key may be that of a partition under way."""
        return self.batches or any(key in partition.split("|") for partition in self.partitions)


def unfinished_work(instance: dg.DagsterInstance, suite_id: str) -> UnfinishedWork:
    """Return what runs and backfills of the suite have not finished."""
    runs = [run for run in instance.get_runs(dg.RunsFilter(statuses=UNFINISHED_RUNS)) if _is_of_suite(run, suite_id)]
    backfills = instance.get_backfills(filters=BulkActionsFilter(statuses=UNFINISHED_BACKFILLS))
    return UnfinishedWork(
        partitions=frozenset(run.tags[PARTITION_TAG] for run in runs if PARTITION_TAG in run.tags),
        batches=any(_is_in_suite(backfill_keys(backfill), suite_id) for backfill in backfills)
        or any(run.partitions_subset is not None or any(tag in run.tags for tag in RANGE_TAGS) for run in runs),
    )


def backfill_keys(backfill: PartitionBackfill) -> Iterable[dg.AssetKey]:
    """Return the assets that a backfill is about; none for one of a job."""
    return backfill.asset_selection or ()


def _is_of_suite(run: dg.DagsterRun, suite_id: str) -> bool:
    # A run from the UI gets its suite's tag only when it starts; until then its selection says so.
    return run.tags.get(SUITE_TAG) == suite_id or _is_in_suite(run.asset_selection or (), suite_id)


def _is_in_suite(keys: Iterable[dg.AssetKey], suite_id: str) -> bool:
    prefix = asset_key(suite_id, "any").path[:-1]
    return any(key.path[:-1] == prefix for key in keys)
