"""The partitions of monitoring: nights by their key, the sentinel's by local day. Of one dimension each, and no time partitions.

A night is not a span of time that could be filled in later: an agent is asked when the night is due, or never. So a partition is there once
its night was asked for or recorded, and none stands for a day on which nothing was due.
"""

from collections.abc import Iterable
from datetime import date

import dagster as dg

from evalplatform.kernel.errors import InputError
from evalplatform.runs.night import Night, Slot

SENTINEL_DAYS = dg.DynamicPartitionsDefinition(name="monitoring.days")
NIGHTS = dg.DynamicPartitionsDefinition(name="monitoring.nights")
NIGHT_TAG = "evalplatform/night"
"""Of every run of a night: what the queue counts, so that nights leave slots to everything else."""
ATTEMPT_TAG = "evalplatform/attempt"


def partition_of(night: Night) -> str:
    """Return a night's partition key."""
    return night.slot.local_date.isoformat() if night.source == "sentinel" else night.key


def partitions_of(night: Night) -> dg.DynamicPartitionsDefinition:
    """Return the partitions that a night's is one of."""
    return SENTINEL_DAYS if night.source == "sentinel" else NIGHTS


def night_of_partition(key: str) -> tuple[str, Slot]:
    """Return the stream and the slot of a night's partition.

    Raises:
        InputError: it is no key of a night.
    """
    stream, _, slot_id = key.rpartition(".")
    try:
        return stream, Slot.of_id(slot_id)
    except ValueError:
        raise InputError(f"{key!r} is no key of a night, such as checkout.20261201t013000z-2026-12-01.", field="partition") from None


def day_of_partition(key: str) -> date:
    """Return the local day of a partition of the sentinel.

    Raises:
        InputError: it is no day.
    """
    try:
        return date.fromisoformat(key)
    except ValueError:
        raise InputError(f"{key!r} is no day, such as 2026-12-01.", field="partition") from None


def unregistered(instance: dg.DagsterInstance, partitions: dg.DynamicPartitionsDefinition, keys: Iterable[str]) -> list[str]:
    """Return those of the keys that Dagster has no partition of, each once, in their order."""
    registered = set(instance.get_dynamic_partitions(name_of(partitions)))
    return [key for key in dict.fromkeys(keys) if key not in registered]


def register(instance: dg.DagsterInstance, partitions: dg.DynamicPartitionsDefinition, keys: Iterable[str]) -> list[str]:
    """Add a partition for each of the keys that has none, and return these."""
    added = unregistered(instance, partitions, keys)
    if added:
        instance.add_dynamic_partitions(name_of(partitions), added)
    return added


def name_of(partitions: dg.DynamicPartitionsDefinition) -> str:
    """Return the name that Dagster's instance knows partitions by."""
    assert partitions.name is not None  # it is given above
    return partitions.name
