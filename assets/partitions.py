"""Partitions of a suite's assets: its cells, and its cells under its judges; and the way back from a key to what it stands for."""

from collections.abc import Sequence
from dataclasses import dataclass

import dagster as dg

from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.load import Project
from evalplatform.stages.context import SuiteContext

CELL = "cell"
JUDGE = "judge"


@dataclass(frozen=True)
class SuitePartitions:
    """The partition definitions of one suite. Keys are cell and judge keys; `cell` and `judge` name the dimensions."""

    cells: dg.DynamicPartitionsDefinition
    judges: dg.DynamicPartitionsDefinition
    scores: dg.MultiPartitionsDefinition


def suite_partitions(suite_id: str) -> SuitePartitions:
    """Return a suite's partitions. They are dynamic: a cell added to the project file needs no reload, only the sensor's next tick."""
    cells = dg.DynamicPartitionsDefinition(name=f"{suite_id}.cells")
    judges = dg.DynamicPartitionsDefinition(name=f"{suite_id}.judges")
    return SuitePartitions(cells=cells, judges=judges, scores=dg.MultiPartitionsDefinition({CELL: cells, JUDGE: judges}))


def missing_keys(instance: dg.DagsterInstance, project: Project) -> dict[str, list[str]]:
    """Return the keys that the project file asks for and the instance does not know, by the name of their dynamic partitions."""
    declared: dict[str, list[str]] = {}
    for suite_id in project.settings.suites:
        partitions = suite_partitions(suite_id)
        declared[partitions.cells.name or ""] = [cell.key for cell in project.cells_of(suite_id)]
        declared[partitions.judges.name or ""] = [judge.key for judge in project.judges_of(suite_id)]
    missing = {}
    for name, keys in declared.items():
        known = set(instance.get_dynamic_partitions(name))
        missing[name] = [key for key in keys if key not in known]
    return {name: keys for name, keys in missing.items() if keys}


def register_partitions(instance: dg.DagsterInstance, project: Project) -> int:
    """Add the keys that the instance does not know yet, and return how many there were."""
    missing = missing_keys(instance, project)
    for name, keys in missing.items():
        instance.add_dynamic_partitions(name, keys)
    return sum(len(keys) for keys in missing.values())


def cell_of_key(suite: SuiteContext, key: str) -> Cell:
    """Return the suite's cell with that partition key.

    Raises:
        dagster.Failure: no cell of the project file has it: the cell was edited or removed since the partition was made.
    """
    cells = {cell.key: cell for cell in suite.project.cells_of(suite.suite_id)}
    if key not in cells:
        raise _retired(CELL, key, list(cells))
    return cells[key]


def cell_and_judge_of_key(suite: SuiteContext, key: str) -> tuple[Cell, JudgeCell]:
    """Return the cell and the judge of a partition key of two dimensions, also where a launch gives it as the plain text `CELL|JUDGE`.

    Raises:
        dagster.Failure: as `multi_partition_key` and `cell_of_key` do.
    """
    keys = multi_partition_key(key).keys_by_dimension
    cell_key, judge_key = keys[CELL], keys[JUDGE]
    judges = {judge.key: judge for judge in suite.project.judges_of(suite.suite_id)}
    if judge_key not in judges:
        raise _retired(JUDGE, judge_key, list(judges))
    return cell_of_key(suite, cell_key), judges[judge_key]


def multi_partition_key(key: str) -> dg.MultiPartitionKey:
    """Return a partition key of two dimensions, also where a launch gives it as the plain text `CELL|JUDGE`.

    Raises:
        dagster.Failure: the text is not of that form.
    """
    if isinstance(key, dg.MultiPartitionKey):
        return key
    cell_key, _, judge_key = key.partition("|")  # Dagster orders dimensions by name; no key of ours holds a |
    if not cell_key or not judge_key:
        raise dg.Failure(
            description=f"The partition key {key!r} names no cell and judge: this asset's keys are CELL|JUDGE.", allow_retries=False
        )
    return dg.MultiPartitionKey({CELL: cell_key, JUDGE: judge_key})


def _retired(what: str, key: str, known: Sequence[str]) -> dg.Failure:
    return dg.Failure(
        description=f"No {what} of the project file has the key {key!r} any more (now: {', '.join(known) or 'none'}). "
        "What it made is kept; edit the project file back to add to it.",
        allow_retries=False,
    )
