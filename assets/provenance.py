"""The tags by which Dagster knows what one partition was made from, for bodies that record several partitions themselves.

Dagster writes these tags for an output by itself, but once for all the partitions of a run. A batch has a data version, and upstream
partitions, for each of its keys; so what it records carries them one by one, and a partition is shown stale by its own inputs alone.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import dagster as dg

# The names of the tags that Dagster's staleness reads; there is no public way to them.
from dagster._core.definitions.data_version import (
    CODE_VERSION_TAG,
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    DATA_VERSION_TAG,
    NULL_EVENT_POINTER,
    get_input_data_version_tag,
    get_input_event_pointer_tag,
)
from dagster._core.definitions.partitions.utils import get_tags_from_multi_partition_key

from evalplatform.artifacts.records import ArtifactManifest

UpstreamPartitions = Mapping[dg.AssetKey, str | None]
"""Upstream assets, each with the partition that is read, or None where it has none."""

UNKNOWN_VERSION = "INITIAL"  # as Dagster calls the version of what it has no record of


def input_tags(instance: dg.DagsterInstance, upstream: UpstreamPartitions) -> dict[str, str]:
    """Return the tags that say which materializations of the upstream partitions are current. Take them before their files are read."""
    tags = {}
    for key, partition in upstream.items():
        wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=None if partition is None else [partition])
        record = next(iter(instance.fetch_materializations(wanted, limit=1).records), None)
        made = None if record is None else record.asset_materialization
        version = None if made is None else (made.tags or {}).get(DATA_VERSION_TAG)
        tags[get_input_data_version_tag(key)] = version or UNKNOWN_VERSION
        tags[get_input_event_pointer_tag(key)] = NULL_EVENT_POINTER if record is None else str(record.storage_id)
    return tags


def recorded_partition(
    made: dg.MaterializeResult[None], *, key: dg.MultiPartitionKey, code_version: str, inputs: Mapping[str, str]
) -> dg.AssetMaterialization:
    """Return what a body records of one partition: the result's metadata, and the tags that Dagster would have written."""
    assert made.asset_key is not None  # `materialized` gives it, and the version too
    assert made.data_version is not None
    tags = {
        DATA_VERSION_TAG: made.data_version.value,
        DATA_VERSION_IS_USER_PROVIDED_TAG: "true",
        CODE_VERSION_TAG: code_version,
        **inputs,
        **get_tags_from_multi_partition_key(key),
    }
    return dg.AssetMaterialization(asset_key=made.asset_key, partition=key, metadata=made.metadata, tags=tags)


def reported_tags(
    instance: dg.DagsterInstance,
    manifest: ArtifactManifest,
    key: str | None,
    *,
    upstream: Mapping[dg.AssetKey, Sequence[tuple[str | None, str]]],
) -> dict[str, str]:
    """Return the tags of a materialization that is reported from its manifest, as a run would have written them when it was made.

    `upstream` are the assets it was made from, each with the partition keys and data versions that were read. Dagster compares partitions
    by when they were recorded: where one of an asset's has another version by now, the asset is pointed at from before that was recorded,
    so that it counts as newer.
    """
    tags = {
        DATA_VERSION_TAG: manifest.data_version,
        DATA_VERSION_IS_USER_PROVIDED_TAG: "true",
        CODE_VERSION_TAG: manifest.code_version,
        **(get_tags_from_multi_partition_key(key) if isinstance(key, dg.MultiPartitionKey) else {}),
    }
    for asset, read in upstream.items():
        version_tag, pointer_tag = get_input_data_version_tag(asset), get_input_event_pointer_tag(asset)
        now = [input_tags(instance, {asset: partition}) for partition, _ in read]
        newer = [
            int(tags_now[pointer_tag])
            for tags_now, (_, version) in zip(now, read, strict=True)
            if tags_now[pointer_tag] != NULL_EVENT_POINTER and tags_now[version_tag] != version
        ]
        tags[version_tag] = read[0][1] if len(read) == 1 else _joined_version(version for _, version in read)
        # As a run does: the last event of any of the asset's partitions, so that those that were not read do not count as newer.
        tags[pointer_tag] = str(min(newer) - 1) if newer else input_tags(instance, {asset: None})[pointer_tag]
    return tags


def _joined_version(versions: Iterable[str]) -> str:
    """Return the one version that Dagster gives to several partitions of an asset."""
    return hashlib.sha256("".join(versions).encode()).hexdigest()
