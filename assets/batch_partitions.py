"""The partitions of the agent side: one a batch, named by the batch's id.

They are only ever added. What a batch made stays when its runs are compacted or expire, and so does its partition.
"""

from collections.abc import Iterable

import dagster as dg

BATCH_PARTITIONS = dg.DynamicPartitionsDefinition(name="runs.batches")
BATCH_TAG = "evalplatform/batch"


def registered_batches(instance: dg.DagsterInstance) -> frozenset[str]:
    """Return the ids of the batches that Dagster has a partition of."""
    return frozenset(instance.get_dynamic_partitions(_name()))


def unregistered_batches(instance: dg.DagsterInstance, batch_ids: Iterable[str]) -> list[str]:
    """Return those of the batches that Dagster has no partition of, in their order."""
    registered = registered_batches(instance)
    return [batch_id for batch_id in batch_ids if batch_id not in registered]


def register_batches(instance: dg.DagsterInstance, batch_ids: Iterable[str]) -> list[str]:
    """Add a partition for each batch that has none, and return their ids."""
    added = unregistered_batches(instance, batch_ids)
    if added:
        instance.add_dynamic_partitions(_name(), added)
    return added


def partitions_request(batch_ids: Iterable[str]) -> dg.AddDynamicPartitionsRequest:
    """Return what a sensor asks for to have partitions added."""
    return BATCH_PARTITIONS.build_add_request(list(batch_ids))


def _name() -> str:
    assert BATCH_PARTITIONS.name is not None  # it is given above
    return BATCH_PARTITIONS.name
