"""A cell's stored answers taken through score stages, and what happens on the way: the one order of checks and stages, for every driver."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.stages import arm_summary
from evalplatform.stages.checks.check import CheckResult
from evalplatform.stages.checks.stored import refuse_blocked, refuse_where_blocked
from evalplatform.stages.context import StageResult, SuiteContext
from evalplatform.stages.score_stages import ScoreStage


@dataclass(frozen=True)
class StageBegun:
    """A stage is made next."""

    stage: ScoreStage


@dataclass(frozen=True)
class StageMade:
    """A stage was made, or found stored."""

    stage: ScoreStage
    result: StageResult


@dataclass(frozen=True)
class ChecksMade:
    """The checks of a stage's asset were made. Where one of them blocks, the chain ends once this was told."""

    results: tuple[CheckResult, ...]


Event = StageBegun | StageMade | ChecksMade


def score_events(
    context: SuiteContext,
    cell: Cell,
    judge: JudgeCell | None,
    stages: Sequence[ScoreStage],
    *,
    made: Collection[str] | None = None,
    checked: bool = True,
) -> Iterator[Event]:
    """Make stages of the chain, in order, and tell of each step.

    A chain may be entered at any stage, so what is stored is checked before the first. A stage's own checks are made of what it made; those
    that can be made before it, are, so that it is not made where they block.

    Args:
        context: the suite.
        cell: who answered.
        judge: who grades, or None.
        stages: the stages, in the order of the chain.
        made: the names of the assets that are made; the others are only checked. None is all of them.
        checked: whether to make the stages' checks. Where none of the suite blocks, a driver that shows none can do without.

    Raises:
        InputError: the key of the cell or judge stands for something else.
        CheckFailedError: a check that blocks failed.
    """
    partition = arm_summary.partition(cell, judge)
    if stages:
        for owner in (cell, judge):
            if owner is not None:  # what is stored under its key could be of another one
                context.claim_key(owner)
        refuse_where_blocked(context, cell, None if stages[0].asks_judge else judge)
    for stage in stages:
        before = stage.checks_before(context, cell, judge) if checked else ()
        if any(result.blocks for result in before):
            yield ChecksMade(before)
            refuse_blocked(context, before, partition=partition)
        if made is None or stage.asset in made:
            yield StageBegun(stage)
            yield StageMade(stage, stage.materialize(context, cell, judge))
        if checked:
            found = (*before, *stage.checks(context, cell, judge))
            yield ChecksMade(found)
            refuse_blocked(context, found, partition=partition)
