"""Handing a backfill to the Dagster daemon. Dagster is imported inside functions."""

import time
from pathlib import Path

from evalplatform.cli.orchestration.home import register
from evalplatform.cli.orchestration.instance import open_instance
from evalplatform.project.load import Project
from evalplatform.stages.backfill import BackfillWork


def submit_backfill(project: Project, home: Path, work: BackfillWork) -> str:
    """Hand a suite's work to the Dagster daemon as one backfill, and return the backfill's id; nothing runs before a daemon does."""
    # No public way hands over a backfill of chosen partitions, or names one.
    from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
    from dagster._core.execution.backfill import PartitionBackfill
    from dagster._core.utils import make_new_backfill_id

    from assets.declared import SUITE_TAG, asset_key
    from assets.partitions import suite_partitions

    partitions = suite_partitions(work.suite)
    subsets = {
        asset_key(work.suite, name): partitions.of_asset(name).subset_with_partition_keys(keys)
        for name, keys in keys_by_asset(project, work).items()
    }
    backfill_id = make_new_backfill_id()
    with open_instance(home) as instance:
        register(instance, project)
        backfill = PartitionBackfill.from_asset_graph_subset(
            backfill_id=backfill_id,
            backfill_timestamp=time.time(),
            tags={SUITE_TAG: work.suite},
            dynamic_partitions_store=instance,
            asset_graph_subset=AssetGraphSubset(  # type: ignore[call-arg]  # mypy does not see its fields
                partitions_subsets_by_asset_key=subsets,
                non_partitioned_asset_keys={asset_key(work.suite, name) for name in work.assets_of()},
            ),
            title=None,
            description=None,
            run_config=None,
        )
        instance.add_backfill(backfill)
    return backfill_id


def keys_by_asset(project: Project, work: BackfillWork) -> dict[str, list[str]]:
    """Return the partition keys to make of each asset that has partitions, as Dagster writes them."""
    cells = {cell.id: cell.key for cell in project.cells_of(work.suite)}
    judges = {judge.id: judge.key for judge in project.judges_of(work.suite)}
    keys: dict[str, list[str]] = {}
    for state in work.partitions:
        owners = [*([] if state.cell is None else [cells[state.cell]]), *([] if state.judge is None else [judges[state.judge]])]
        if owners:
            keys.setdefault(state.asset, []).append("|".join(owners))
    return keys
