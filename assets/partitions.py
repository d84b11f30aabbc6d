"""Partitions of a suite's assets: its cells, and its cells under its judges; and the way back from a key to what it stands for."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import dagster as dg

from assets.pools import limit_pools
from assets.unfinished import unfinished_work
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.key_register import KeyOwner
from evalplatform.project.load import Project
from evalplatform.project.partition_keys import KeyChanges, key_changes
from evalplatform.stages.context import SuiteContext
from evalplatform.wiring import OpenedProject

CELL: KeyOwner = "cell"
JUDGE: KeyOwner = "judge"


@dataclass(frozen=True)
class SuitePartitions:
    """The partition definitions of one suite. Keys are cell and judge keys; `cell` and `judge` name the dimensions."""

    cells: dg.DynamicPartitionsDefinition
    judges: dg.DynamicPartitionsDefinition
    scores: dg.MultiPartitionsDefinition


def suite_partitions(suite_id: str) -> SuitePartitions:
    """Return a suite's partitions. They are dynamic: a cell added to the project file needs no reload, only the sensor's next tick."""
    cells = dg.DynamicPartitionsDefinition(name=partitions_name(suite_id, CELL))
    judges = dg.DynamicPartitionsDefinition(name=partitions_name(suite_id, JUDGE))
    return SuitePartitions(cells=cells, judges=judges, scores=dg.MultiPartitionsDefinition({CELL: cells, JUDGE: judges}))


def partitions_name(suite_id: str, owner: KeyOwner) -> str:
    """Return the name of a suite's dynamic partitions: its cells or its judges."""
    return f"{suite_id}.{owner}s"


def pending_changes(instance: dg.DagsterInstance, project: Project) -> list[KeyChanges]:
    """Return what brings the instance's partitions in line with the project file; nothing is changed.

    A key that an unfinished run may be about is not retired yet: Dagster fails a run whose partition is gone before our code can say why.
    """
    changes = key_changes(project, lambda suite_id, owner: instance.get_dynamic_partitions(partitions_name(suite_id, owner)))
    retiring = {change.suite_id for change in changes if change.retired}
    under_way = {suite_id: unfinished_work(instance, suite_id) for suite_id in retiring}
    return [change.keeping(under_way[change.suite_id].names) if change.retired else change for change in changes]


def claim_keys(project: Project, owners: Collection[Cell | JudgeCell]) -> None:
    """Claim the keys of cells and judges.

    Raises:
        InputError: a key stands for something else already.
        StorageError: the register cannot be read or written.
    """
    if owners:
        with OpenedProject(project) as opened:
            opened.key_register.claim_all(owners, first_seen=opened.clock.now())


def register_partitions(instance: dg.DagsterInstance, project: Project) -> list[KeyChanges]:
    """Add the keys that the project file asks for and retire those that it no longer does, and return what was changed.

    What retired keys made stays: the artifacts, and Dagster's events, which show again once a key is added again. Raises as `claim_keys`.
    """
    limit_pools(instance, project)
    changes = pending_changes(instance, project)
    claim_keys(project, [added for change in changes for added in change.added])
    for change in changes:
        name = partitions_name(change.suite_id, change.owner)
        if change.added:
            instance.add_dynamic_partitions(name, [owner.key for owner in change.added])
        for key in change.retired:
            instance.delete_dynamic_partition(name, key)
    return changes


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
