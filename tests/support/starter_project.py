"""The starter project under Dagster, in a folder of the test's own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
from ruamel.yaml import YAML

from assets.partitions import register_partitions
from evalplatform.cli.starter import write_starter
from evalplatform.definitions import build_definitions
from evalplatform.project.load import PROJECT_FILE_NAME, Project, load_project
from evalplatform.project.partition_keys import KeyChanges
from evalplatform.wiring import OpenedProject

SOURCES = ("question_set", "corpus")
SCORED = ("judged_scores", "arm_summary", "arms_report")
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass
class StarterProject:
    """A copy of the starter, and the Dagster instance that its assets are materialized in."""

    folder: Path
    instance: dg.DagsterInstance = field(default_factory=dg.DagsterInstance.ephemeral)

    @classmethod
    def written_to(cls, folder: Path) -> "StarterProject":
        write_starter(folder)
        starter = cls(folder)
        starter.register()
        return starter

    @property
    def file(self) -> Path:
        return self.folder / PROJECT_FILE_NAME

    @property
    def project(self) -> Project:
        return load_project(self.file)

    @property
    def definitions(self) -> dg.Definitions:
        return build_definitions(self.project)

    @property
    def cell_key(self) -> str:
        return self.project.cells_of("kettle")[0].key

    @property
    def score_key(self) -> dg.MultiPartitionKey:
        return dg.MultiPartitionKey({"cell": self.cell_key, "judge": self.project.judges_of("kettle")[0].key})

    def register(self) -> list[KeyChanges]:
        return register_partitions(self.instance, self.project)

    def edit(self, changes: Mapping[str, Any]) -> None:
        """Set values of the project file by dotted path."""
        yaml = YAML()
        data = yaml.load(self.file.read_text())
        for path, value in changes.items():
            *parents, last = path.split(".")
            place = data
            for name in parents:
                place = place.setdefault(name, {})
            place[last] = value
        with self.file.open("w") as out:
            yaml.dump(data, out)

    def materialize(
        self, names: Iterable[str], partition_key: str | None = None, *, raise_on_error: bool = True
    ) -> dg.ExecuteInProcessResult:
        definitions = self.definitions
        return dg.materialize(
            list(definitions.assets or []),
            selection=[key_of(name) for name in names],
            partition_key=partition_key,
            resources=definitions.resources,
            instance=self.instance,
            run_config=QUIET,
            raise_on_error=raise_on_error,
        )

    def add_cells(self, *ids: str) -> list[dg.MultiPartitionKey]:
        """Add offline cells to the suite, each with a sampling of its own, and return the keys of all its cells under its first judge."""
        for number, cell_id in enumerate(ids):
            self.edit({f"cells.{cell_id}": {"model": "extractive", "endpoint": "here", "sampling": {"max_tokens": 40 + number}}})
        self.edit({"suites.kettle.cells": [*self.project.settings.suites["kettle"].cells, *ids]})
        self.register()
        return self.score_keys()

    def score_keys(self, judge_id: str | None = None) -> list[dg.MultiPartitionKey]:
        """The keys of all cells under a judge, or under the first one."""
        judge = self.project.judges_of("kettle")[0] if judge_id is None else self.project.judge(judge_id)
        return [dg.MultiPartitionKey({"cell": cell.key, "judge": judge.key}) for cell in self.project.cells_of("kettle")]

    def answer(self) -> None:
        """Materialize the sources and the answers of every cell."""
        self.materialize(SOURCES)
        for cell in self.project.cells_of("kettle"):
            self.materialize(["arm_answers"], cell.key)

    def materialize_batch(self, names: Iterable[str], keys: Sequence[str], *, raise_on_error: bool = True) -> dg.ExecuteInProcessResult:
        """Materialize neighbouring partitions in one run, as a backfill of several does."""
        definitions = self.definitions
        return dg.materialize(
            list(definitions.assets or []),
            selection=[key_of(name) for name in names],
            resources=definitions.resources,
            instance=self.instance,
            run_config=QUIET,
            raise_on_error=raise_on_error,
            tags={"dagster/asset_partition_range_start": keys[0], "dagster/asset_partition_range_end": keys[-1]},
        )

    def materialize_all(self) -> dict[str, dg.AssetMaterialization]:
        """Materialize the suite's one cell under its one judge, in the order of the data; return what was recorded, by asset."""
        results = [self.materialize(SOURCES), self.materialize(["arm_answers"], self.cell_key), self.materialize(SCORED, self.score_key)]
        return {name: made for result in results for name, made in materializations(result).items()}

    def opened(self) -> OpenedProject:
        return OpenedProject(self.project)


def key_of(name: str) -> dg.AssetKey:
    return dg.AssetKey(["suites", "kettle", name])


def materializations(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetMaterialization]:
    return {event.materialization.asset_key.path[-1]: event.materialization for event in result.get_asset_materialization_events()}


def materialized_partitions(result: dg.ExecuteInProcessResult) -> dict[tuple[str, str | None], dg.AssetMaterialization]:
    """What a run recorded, by asset and partition; one event each."""
    recorded = [event.materialization for event in result.get_asset_materialization_events()]
    made = {(one.asset_key.path[-1], one.partition): one for one in recorded}
    assert len(made) == len(recorded)
    return made


def data_version_of(made: dg.AssetMaterialization) -> str:
    return (made.tags or {})["dagster/data_version"]


def value_of(made: dg.AssetMaterialization, name: str) -> Any:
    return made.metadata[name].value


def failure_of(result: dg.ExecuteInProcessResult) -> str:
    """The sentence that the failed step shows."""
    (event,) = [event for event in result.all_node_events if event.is_step_failure]
    data = event.step_failure_data
    return (data.user_failure_data.description if data.user_failure_data else None) or str(data.error)
