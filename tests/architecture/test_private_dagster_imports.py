"""What the product takes from Dagster's private modules. An upgrade may move any of it: this says which, without a run."""

import ast
from importlib import import_module

import pytest

from tests.architecture.test_layers import CODE, files, name_of, tree_of

PRIVATE = {
    "assets/checks.py": {
        "dagster._core.definitions.asset_checks.asset_check_evaluation.AssetCheckEvaluationTargetMaterializationData",
    },
    "assets/night_runs.py": {
        "dagster._core.definitions.run_request.InstigatorType",
        "dagster._core.scheduler.instigation.InstigatorStatus",
        "dagster._core.scheduler.instigation.ScheduleInstigatorData",
    },
    "assets/provenance.py": {
        "dagster._core.definitions.data_version.CODE_VERSION_TAG",
        "dagster._core.definitions.data_version.DATA_VERSION_IS_USER_PROVIDED_TAG",
        "dagster._core.definitions.data_version.DATA_VERSION_TAG",
        "dagster._core.definitions.data_version.NULL_EVENT_POINTER",
        "dagster._core.definitions.data_version.get_input_data_version_tag",
        "dagster._core.definitions.data_version.get_input_event_pointer_tag",
        "dagster._core.definitions.partitions.utils.get_tags_from_multi_partition_key",
    },
    "assets/reported_checks.py": {"dagster._core.storage.asset_check_execution_record.COMPLETED_ASSET_CHECK_EXECUTION_RECORD_STATUSES"},
    "assets/unfinished.py": {
        "dagster._core.execution.backfill.BulkActionStatus",
        "dagster._core.execution.backfill.BulkActionsFilter",
        "dagster._core.execution.backfill.PartitionBackfill",
    },
    "evalplatform/cli/orchestration/submit.py": {
        "dagster._core.definitions.assets.graph.asset_graph_subset.AssetGraphSubset",
        "dagster._core.execution.backfill.PartitionBackfill",
        "dagster._core.utils.make_new_backfill_id",
    },
    "evalplatform/cli/orchestration/sync.py": {"dagster._core.definitions.run_request.InstigatorType"},
    "resources/celery_launcher.py": {
        "dagster._core.launcher.CheckRunHealthResult",
        "dagster._core.launcher.WorkerStatus",
    },
    "resources/local_launcher.py": {
        "dagster._core.errors.DagsterUserCodeUnreachableError",
        "dagster._core.launcher.CheckRunHealthResult",
        "dagster._core.launcher.WorkerStatus",
        "dagster._core.storage.tags.GRPC_INFO_TAG",
        "dagster._grpc.client.DagsterGrpcClient",
        "dagster._grpc.types.CanCancelExecutionRequest",
        "dagster._grpc.types.CanCancelExecutionResult",
    },
    "resources/project.py": {"dagster._core.storage.tags.RETRY_NUMBER_TAG"},
}


def private_imports(tree: ast.Module) -> set[str]:
    """Return what a module imports from modules of Dagster and its parts (`dagster_celery`) whose names start with an underscore."""
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            imported |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return {name for name in imported if name.startswith("dagster") and "._" in name}


def test_every_private_import_is_listed_here() -> None:
    found = {name_of(path): private_imports(tree_of(path)) for path in files(CODE)}
    assert {name: imported for name, imported in found.items() if imported} == PRIVATE


@pytest.mark.parametrize("name", sorted(set().union(*PRIVATE.values())))
def test_a_private_import_is_where_dagster_has_it(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert hasattr(import_module(module), attribute)
