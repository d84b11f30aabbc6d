"""Partitions of a suite's assets: its cells, and its cells under its judges."""

from dataclasses import dataclass

import dagster as dg

from evalplatform.project.load import Project

CELL = "cell"
JUDGE = "judge"


@dataclass(frozen=True)
class SuitePartitions:
    """The partition definitions of one suite. Keys are cell and judge keys; `cell` and `judge` name the dimensions."""

    cells: dg.DynamicPartitionsDefinition
    judges: dg.DynamicPartitionsDefinition
    scores: dg.MultiPartitionsDefinition


def suite_partitions(suite_id: str) -> SuitePartitions:
    """Return a suite's partitions. They are dynamic: a cell added to the project file needs no reload, only a sync."""
    cells = dg.DynamicPartitionsDefinition(name=f"{suite_id}.cells")
    judges = dg.DynamicPartitionsDefinition(name=f"{suite_id}.judges")
    return SuitePartitions(cells=cells, judges=judges, scores=dg.MultiPartitionsDefinition({CELL: cells, JUDGE: judges}))


def declared_keys(project: Project) -> dict[str, list[str]]:
    """Return the keys that the project file asks for, by the name of the dynamic partitions they belong to."""
    keys: dict[str, list[str]] = {}
    for suite_id in project.settings.suites:
        partitions = suite_partitions(suite_id)
        keys[partitions.cells.name or ""] = [cell.key for cell in project.cells_of(suite_id)]
        keys[partitions.judges.name or ""] = [judge.key for judge in project.judges_of(suite_id)]
    return keys


def register_partitions(instance: dg.DagsterInstance, project: Project) -> int:
    """Add the declared keys that the instance does not know yet, and return how many there were."""
    added = 0
    for name, keys in declared_keys(project).items():
        known = set(instance.get_dynamic_partitions(name))
        missing = [key for key in keys if key not in known]
        if missing:
            instance.add_dynamic_partitions(name, missing)
        added += len(missing)
    return added
