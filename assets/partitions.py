"""Partitions of a suite's assets: its cells, its judges, its cells under its judges; and the way back from a key to what it stands for."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

import dagster as dg

from assets.pools import limit_pools
from assets.unfinished import unfinished_work
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.key_register import KeyOwner
from evalplatform.project.load import Project
from evalplatform.project.partition_keys import KeyChanges, KeyGroup, key_changes
from evalplatform.stages import arm_answers
from evalplatform.stages.comparison_stages import COMPARISON_STAGES
from evalplatform.stages.context import SuiteContext
from evalplatform.wiring import OpenedProject

Owner = TypeVar("Owner", Cell, JudgeCell)

CELL: KeyOwner = "cell"
JUDGE: KeyOwner = "judge"
PLUGIN_CELL: KeyGroup = "plugin_cell"


@dataclass(frozen=True)
class SuitePartitions:
    """The partition definitions of one suite. Keys are cell and judge keys; `cell` and `judge` name the dimensions.

    `plugin_cells` are those of the cells whose plugins can be measured, so that no partition of `deltas` has nothing to make.
    """

    cells: dg.DynamicPartitionsDefinition
    judges: dg.DynamicPartitionsDefinition
    plugin_cells: dg.DynamicPartitionsDefinition
    scores: dg.MultiPartitionsDefinition
    deltas: dg.MultiPartitionsDefinition

    def of_asset(self, asset: str) -> dg.DynamicPartitionsDefinition | dg.MultiPartitionsDefinition:
        """Return the partitions of one of the suite's assets that have some."""
        if asset == arm_answers.ASSET:
            return self.cells
        comparison = next((stage for stage in COMPARISON_STAGES if stage.asset == asset), None)
        if comparison is None:
            return self.scores
        return self.deltas if comparison.of_plugin_cells else self.judges


def suite_partitions(suite_id: str) -> SuitePartitions:
    """Return a suite's partitions. They are dynamic: a cell added to the project file needs no reload, only the sensor's next tick."""
    cells = dg.DynamicPartitionsDefinition(name=partitions_name(suite_id, CELL))
    judges = dg.DynamicPartitionsDefinition(name=partitions_name(suite_id, JUDGE))
    plugin_cells = dg.DynamicPartitionsDefinition(name=partitions_name(suite_id, PLUGIN_CELL))
    return SuitePartitions(
        cells=cells,
        judges=judges,
        plugin_cells=plugin_cells,
        scores=dg.MultiPartitionsDefinition({CELL: cells, JUDGE: judges}),
        deltas=dg.MultiPartitionsDefinition({CELL: plugin_cells, JUDGE: judges}),
    )


def partitions_name(suite_id: str, group: KeyGroup) -> str:
    """Return the name of a suite's dynamic partitions: its cells, its judges, or its cells whose plugins can be measured."""
    return f"{suite_id}.{group}s"


def pending_changes(instance: dg.DagsterInstance, project: Project) -> list[KeyChanges]:
    """Return what brings the instance's partitions in line with the project file; nothing is changed.

    A key that an unfinished run may be about is not retired yet: Dagster fails a run whose partition is gone before our code can say why.
    """
    changes = key_changes(project, lambda suite_id, group: instance.get_dynamic_partitions(partitions_name(suite_id, group)))
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
        name = partitions_name(change.suite_id, change.group)
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
    return _found(CELL, key, {cell.key: cell for cell in suite.project.cells_of(suite.suite_id)})


def judge_of_key(suite: SuiteContext, key: str) -> JudgeCell:
    """Return the suite's judge with that partition key, or raise dagster.Failure as `cell_of_key` does."""
    return _found(JUDGE, key, {judge.key: judge for judge in suite.project.judges_of(suite.suite_id)})


def cell_and_judge_of_key(suite: SuiteContext, key: str) -> tuple[Cell, JudgeCell]:
    """Return the cell and the judge of a partition key of two dimensions, also where a launch gives it as the plain text `CELL|JUDGE`.

    Raises:
        dagster.Failure: as `multi_partition_key` and `cell_of_key` do.
    """
    keys = multi_partition_key(key).keys_by_dimension
    judge = judge_of_key(suite, keys[JUDGE])
    return cell_of_key(suite, keys[CELL]), judge


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


def _found(what: KeyOwner, key: str, known: Mapping[str, Owner]) -> Owner:
    if key in known:
        return known[key]
    raise dg.Failure(
        description=f"No {what} of the project file has the key {key!r} any more (now: {', '.join(known) or 'none'}). "
        "What it made is kept; edit the project file back to add to it.",
        allow_retries=False,
    )
