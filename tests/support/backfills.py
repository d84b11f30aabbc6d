"""What a person asks of Dagster before a backfill goes: the sources materialized, partitions chosen."""

import time
from collections.abc import Collection

import dagster as dg
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
from dagster._core.definitions.events import AssetKeyPartitionKey
from dagster._core.execution.backfill import PartitionBackfill
from dagster._core.utils import make_new_backfill_id

from evalplatform.definitions import build_definitions
from evalplatform.project.load import Project
from tests.support.starter_project import QUIET


def materialize_sources(project: Project, instance: dg.DagsterInstance) -> None:
    """Materialize every suite's question set and corpus in this process."""
    definitions = build_definitions(project)
    keys = [dg.AssetKey(["suites", suite_id, name]) for suite_id in project.settings.suites for name in ("question_set", "corpus")]
    dg.materialize(
        list(definitions.assets or []),  # type: ignore[arg-type]
        selection=keys,
        resources=definitions.resources,
        instance=instance,
        run_config=QUIET,
    )


def request_backfill(project: Project, instance: dg.DagsterInstance, assets: Collection[dg.AssetKey], keys: Collection[str]) -> str:
    """Ask for the same partitions of each asset, and return the backfill's id; the daemon takes it up."""
    backfill = PartitionBackfill.from_asset_graph_subset(
        backfill_id=make_new_backfill_id(),
        asset_graph_subset=AssetGraphSubset.from_asset_partition_set(
            {AssetKeyPartitionKey(asset, key) for asset in assets for key in keys}, build_definitions(project).resolve_asset_graph()
        ),
        dynamic_partitions_store=instance,
        backfill_timestamp=time.time(),
        tags={},
        title=None,
        description=None,
        run_config=None,
    )
    instance.add_backfill(backfill)
    return backfill.backfill_id
