"""The IO manager on the project's object store: a downstream asset asks for a table by type and gets it as a DataFrame."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from evalplatform.artifacts.records import UNPARTITIONED
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.project.load import load_project
from evalplatform.stages import arm_answers, judged_scores, recorded_batches
from evalplatform.wiring import OpenedProject

if TYPE_CHECKING:
    import pandas as pd

MAIN_TABLES = {arm_answers.ASSET: arm_answers.ANSWERS_FILE, judged_scores.ASSET: judged_scores.SCORES_FILE}
RUNS_TABLES = {recorded_batches.ASSET: recorded_batches.RUNS_FILE}


class ArtifactIOManager(dg.ConfigurableIOManager):
    """Loads the main table of an upstream asset, digest-checked, as a pandas DataFrame.

    The platform's own assets write their artifacts themselves (immutable versions, a pointer that moves last) and return no value, so
    there is nothing to store here; an asset that returns one is refused rather than pickled.
    """

    project_file: str

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Refuse values: artifacts are written by stages."""
        if obj is not None:
            raise dg.DagsterInvariantViolationError(
                f"{context.asset_key.to_user_string()} returned a value; write an artifact and return MaterializeResult, "
                "or give the asset an IO manager of its own."
            )

    def load_input(self, context: dg.InputContext) -> "pd.DataFrame":
        """Return the main table of the upstream partition's current version; of several partitions, one below the other.

        Raises:
            UnknownNameError: the asset has no table.
            InputError: the partition was never materialized.
        """
        import pandas as pd

        *group, suite_id, asset = context.asset_key.path  # `suites/SUITE/ASSET`, or `runs/ASSET`
        files = MAIN_TABLES if group else RUNS_TABLES
        if asset not in files:
            raise UnknownNameError("asset with a table", asset, files)
        keys = context.asset_partition_keys if context.has_asset_partitions else [UNPARTITIONED]
        with OpenedProject(load_project(Path(self.project_file)), waits_at_start=True) as opened:
            home = opened.suite_context(suite_id) if group else opened.runs_context()
            manifests = [home.upstream(asset, _artifact_partition(key)) for key in keys]
            tables = [pd.read_parquet(io.BytesIO(opened.catalog.read(manifest, files[asset]))) for manifest in manifests]
        if len(tables) == 1:
            return tables[0]
        named = [table.assign(partition=manifest.artifact.partition) for table, manifest in zip(tables, manifests, strict=True)]
        return pd.concat(named, ignore_index=True)


def _artifact_partition(key: str) -> str:
    if isinstance(key, dg.MultiPartitionKey):
        return judged_scores.partition(key.keys_by_dimension["cell"], key.keys_by_dimension["judge"])
    return key
