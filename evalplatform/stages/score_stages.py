"""The chain of score stages, in order: what is made of a cell's stored answers under one judge.

This tuple is the one place that lists them. Dagster's assets, the command line's run, staleness and backfills are all built from it, so a
new stage is one entry. None of them asks an answer.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType

from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.stages import arm_answers, arm_summary, arms_report, judged_scores
from evalplatform.stages.context import StageResult, SuiteContext

Inputs = Callable[[SuiteContext, Cell, JudgeCell | None, Mapping[str, str]], dict[str, str]]
Materialize = Callable[[SuiteContext, Cell, JudgeCell | None], StageResult]


@dataclass(frozen=True)
class ScoreStage:
    """One stage of the chain.

    Attributes:
        module: the stage; `ASSET` and `CODE_VERSION` are its own.
        kinds: what Dagster shows of its technology.
        description: what Dagster says of it.
        reads: the stages whose artifacts it reads, as Dagster draws them.
        inputs: the named digests that its data version stands for, by the data versions of what it reads; the stage's own function.
        materialize: makes the artifact of one cell under one judge.
        needs_judge: whether there is nothing to make of answers that nobody judges.
        asks_judge: whether it calls the judge's model; the others only compute.
    """

    module: ModuleType
    kinds: frozenset[str]
    description: str
    reads: tuple[ModuleType, ...]
    inputs: Inputs
    materialize: Materialize
    needs_judge: bool = False
    asks_judge: bool = False

    @property
    def asset(self) -> str:
        """The name of its asset."""
        return str(self.module.ASSET)

    @property
    def code_version(self) -> str:
        """The version of its code, raised by hand in the change that alters numbers."""
        return str(self.module.CODE_VERSION)


def _judged(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> StageResult:
    assert judge is not None  # it needs one
    return asyncio.run(judged_scores.materialize_judged_scores(context, cell, judge))


SCORE_STAGES = (
    ScoreStage(
        module=judged_scores,
        kinds=frozenset({"python", "parquet"}),
        description="A cell's stored answers, graded by one judge with stored material. **Asks the judge's model, never the cell's.**\n\n"
        "A partition is a cell under a judge.",
        reads=(arm_answers,),
        inputs=judged_scores.score_inputs,
        materialize=_judged,
        needs_judge=True,
        asks_judge=True,
    ),
    ScoreStage(
        module=arm_summary,
        kinds=frozenset({"python", "scipy"}),
        description="Means, paired deltas, interactions and costs of the arms, each with its uncertainty. Computation alone: asks nothing.",
        reads=(judged_scores, arm_answers),
        inputs=arm_summary.summary_inputs,
        materialize=arm_summary.materialize_arm_summary,
    ),
    ScoreStage(
        module=arms_report,
        kinds=frozenset({"python", "html"}),
        description="The report: one page with plots and every answer (HTML), Markdown, arms.v1 (JSON), scores (CSV). Asks nothing.\n\n"
        "The result table is in the metadata of each materialization, beside the command that downloads the files.",
        reads=(arm_summary, judged_scores, arm_answers),
        inputs=arms_report.report_inputs,
        materialize=arms_report.materialize_arms_report,
    ),
)


def stages_of(judge: JudgeCell | None) -> tuple[ScoreStage, ...]:
    """Return the stages that have something to make under that judge, or of answers that nobody judges."""
    return tuple(stage for stage in SCORE_STAGES if judge is not None or not stage.needs_judge)
