"""The IO manager on the project's object store: a downstream asset asks for a table by type and gets it as a DataFrame."""

import io
from pathlib import Path

import dagster as dg
import pandas as pd

from evalplatform.artifacts.records import UNPARTITIONED
from evalplatform.project.load import load_project
from evalplatform.stages.judged_scores import partition
from evalplatform.wiring import OpenedProject

MAIN_TABLES = {"arm_answers": "answers.parquet", "judged_scores": "scores.parquet"}


class ArtifactIOManager(dg.ConfigurableIOManager):
    """Loads the main table of an upstream suite asset, digest-checked, as a pandas DataFrame.

    The suite's own assets write their artifacts themselves (immutable versions, a pointer that moves last) and return no value, so there is
    nothing to store here; an asset that returns one is refused rather than pickled.
    """

    project_file: str

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Refuse values: artifacts are written by stages."""
        if obj is not None:
            raise dg.DagsterInvariantViolationError(
                f"{context.asset_key.to_user_string()} returned a value; write an artifact and return MaterializeResult, "
                "or give the asset an IO manager of its own."
            )

    def load_input(self, context: dg.InputContext) -> pd.DataFrame:
        """Return the main table of the upstream partition's current version."""
        _, suite_id, asset = context.asset_key.path
        with OpenedProject(load_project(Path(self.project_file))) as opened:
            suite = opened.suite_context(suite_id)
            key = _artifact_partition(context) if context.has_asset_partitions else UNPARTITIONED
            manifest = suite.upstream(asset, key)
            return pd.read_parquet(io.BytesIO(opened.catalog.read(manifest, MAIN_TABLES[asset])))


def _artifact_partition(context: dg.InputContext) -> str:
    key = context.asset_partition_key
    if isinstance(key, dg.MultiPartitionKey):
        return partition(key.keys_by_dimension["cell"], key.keys_by_dimension["judge"])
    return key
