"""The matrix project under Dagster, in its own home: it can be copied with all that was made."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from evalplatform.cli.orchestration.home import prepare_dagster_home
from evalplatform.project.load import load_project
from tests.support.matrix_project import JUDGE
from tests.support.starter_project import StarterProject

COMPARISONS = ("matrix_rollup", "model_comparison")


class MatrixInstance(StarterProject):
    """The matrix project, and the Dagster instance in its folder."""

    @classmethod
    @contextmanager
    def opened_at(cls, folder: Path) -> Iterator["MatrixInstance"]:
        """Open the instance of a project for a `with` block, with its partitions registered."""
        with dg.DagsterInstance.from_config(str(prepare_dagster_home(load_project(folder / "evalplatform.yaml")))) as instance:
            matrix = cls(folder, instance)
            matrix.register()
            yield matrix

    @property
    def judge_key(self) -> str:
        return self.project.judge(JUDGE).key

    def delta_key(self, cell_id: str) -> dg.MultiPartitionKey:
        """The partition key of a cell under the judge."""
        return dg.MultiPartitionKey({"cell": self.project.cell(cell_id).key, "judge": self.judge_key})

    def stored(self, asset: str, partition: str, file: str) -> bytes:
        """A file of the current version of an artifact."""
        with self.opened() as opened:
            context = opened.suite_context("kettle")
            return opened.catalog.read(context.upstream(asset, partition), file)


def copied(made: Path, folder: Path) -> Path:
    """Copy a project with its store, its ledger and its Dagster home."""
    return shutil.copytree(made, folder)
