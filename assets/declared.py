"""What all assets of a suite are declared with alike: key, code version, group, owners, columns."""

from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

import dagster as dg

from assets.tables import TABLES

OWNERS = ["team:evaluation"]
SUITE_TAG = "evalplatform/suite"


def asset_key(suite_id: str, asset: str) -> dg.AssetKey:
    """Return the key of a suite's asset."""
    return dg.AssetKey(["suites", suite_id, asset])


def group_name(suite_id: str) -> str:
    """Return the suite's id as Dagster allows it in the name of a group or job."""
    return suite_id.replace("-", "_").replace(".", "_")


def keys_of(suite_id: str, stages: Collection[ModuleType]) -> list[dg.AssetKey]:
    """Return the keys of the stages' assets."""
    return [asset_key(suite_id, stage.ASSET) for stage in stages]


def suite_asset(
    suite_id: str,
    stage: ModuleType,
    *,
    description: str,
    kinds: Collection[str],
    reads: Collection[ModuleType] = (),
    partitions: dg.PartitionsDefinition[str] | None = None,
    pool: str | None = None,
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Return the decorator that declares a stage as an asset of its own."""
    decorator: Callable[[Callable[..., Any]], dg.AssetsDefinition] = dg.asset(
        **_declared(suite_id, stage, description, kinds, reads), partitions_def=partitions, pool=pool
    )
    return decorator


def suite_spec(
    suite_id: str,
    stage: ModuleType,
    *,
    description: str,
    kinds: Collection[str],
    reads: Collection[ModuleType] = (),
    mapping: dg.PartitionMapping | None = None,
) -> dg.AssetSpec:
    """Return the declaration of a stage as one of several assets of a body, which may leave it out.

    `mapping` says which partitions of what it reads a partition is made from, where Dagster cannot tell by itself.
    """
    declared = _declared(suite_id, stage, description, kinds, reads)
    deps = [dg.AssetDep(key, partition_mapping=mapping) for key in declared["deps"]]
    return dg.AssetSpec(**{**declared, "deps": deps}, skippable=True)


def _declared(suite_id: str, stage: ModuleType, description: str, kinds: Collection[str], reads: Collection[ModuleType]) -> dict[str, Any]:
    return {
        "key": asset_key(suite_id, stage.ASSET),
        "code_version": stage.CODE_VERSION,
        "description": description,
        "group_name": group_name(suite_id),
        "owners": OWNERS,
        "kinds": set(kinds),
        "tags": {SUITE_TAG: suite_id},
        "deps": keys_of(suite_id, reads),
        "metadata": {"dagster/column_schema": TABLES[stage.ASSET].schema()} if stage.ASSET in TABLES else {},
    }
