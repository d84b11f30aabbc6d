"""The chain of score stages, in order: what is made of a cell's stored answers under one judge.

This tuple is the one place that lists them. Dagster's assets, the command line's run, staleness and backfills are all built from it, so a
new stage is one entry. None of them asks an answer.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Concatenate, ParamSpec, TypeVar

from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.schema import SuiteSettings
from evalplatform.stages import arm_answers, arm_summary, arms_report, judged_scores, score_moves, verdicts
from evalplatform.stages.checks.check import CheckResult
from evalplatform.stages.checks.stored import judge_check_results, score_check_results
from evalplatform.stages.context import StageResult, SuiteContext

Rest = ParamSpec("Rest")
Result = TypeVar("Result")
Inputs = Callable[[SuiteContext, Cell, JudgeCell | None, Mapping[str, str]], dict[str, str]]
Materialize = Callable[[SuiteContext, Cell, JudgeCell | None], StageResult]
Partition = Callable[[SuiteContext, Cell, JudgeCell | None], str]
Checks = Callable[[SuiteContext, Cell, JudgeCell | None], tuple[CheckResult, ...]]


def _no_checks(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> tuple[CheckResult, ...]:
    return ()


def _cell_and_judge(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> str:
    return arm_summary.partition(cell, judge)


def _given_judge(
    function: Callable[Concatenate[SuiteContext, Cell, JudgeCell, Rest], Result],
) -> Callable[Concatenate[SuiteContext, Cell, JudgeCell | None, Rest], Result]:
    """Return a function of a stage that needs a judge as every stage has it; `stages_of` gives nobody such a stage without one."""

    def called(context: SuiteContext, cell: Cell, judge: JudgeCell | None, /, *args: Rest.args, **kwargs: Rest.kwargs) -> Result:
        assert judge is not None
        return function(context, cell, judge, *args, **kwargs)

    return called


def _always(suite: SuiteSettings) -> bool:
    return True


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
        partition: the partition of that artifact.
        needs_judge: whether there is nothing to make of answers that nobody judges.
        asks_judge: whether it calls the judge's model; the others only compute.
        wanted_by: whether a suite asks for it. Dagster has no asset of a stage that its suite does not want: left out of a backfill, it
            would count as failed.
        checks_before: the checks of its asset that can be made before it is.
        checks: the checks of what it made.
    """

    module: ModuleType
    kinds: frozenset[str]
    description: str
    reads: tuple[ModuleType, ...]
    inputs: Inputs
    materialize: Materialize
    partition: Partition = _cell_and_judge
    needs_judge: bool = False
    asks_judge: bool = False
    wanted_by: Callable[[SuiteSettings], bool] = _always
    checks_before: Checks = _no_checks
    checks: Checks = _no_checks

    @property
    def asset(self) -> str:
        """The name of its asset."""
        return str(self.module.ASSET)

    @property
    def code_version(self) -> str:
        """The version of its code, raised by hand in the change that alters numbers."""
        return str(self.module.CODE_VERSION)


def _judged(context: SuiteContext, cell: Cell, judge: JudgeCell) -> StageResult:
    return asyncio.run(judged_scores.materialize_judged_scores(context, cell, judge))


def _before_judging(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> tuple[CheckResult, ...]:
    return () if judge is None else judge_check_results(context, cell, judge)


def _of_scores(context: SuiteContext, cell: Cell, judge: JudgeCell | None) -> tuple[CheckResult, ...]:
    return () if judge is None else score_check_results(context, cell, judge)


SCORE_STAGES = (
    ScoreStage(
        module=judged_scores,
        kinds=frozenset({"python", "parquet"}),
        description="A cell's stored answers, graded by one judge with stored material. **Asks the judge's model, never the cell's.**\n\n"
        "A partition is a cell under a judge.",
        reads=(arm_answers,),
        inputs=_given_judge(judged_scores.score_inputs),
        materialize=_given_judge(_judged),
        needs_judge=True,
        asks_judge=True,
        checks_before=_before_judging,
        checks=_of_scores,
    ),
    ScoreStage(
        module=verdicts,
        kinds=frozenset({"python", "parquet"}),
        description="Which answers pass at the suite's `pass_points`, and how often each arm does. Computed from stored points: asks "
        "nothing, and another threshold keeps its verdicts beside these.",
        reads=(judged_scores,),
        inputs=verdicts.verdict_inputs,
        materialize=_given_judge(verdicts.materialize_verdicts),
        partition=_given_judge(verdicts.partition),
        needs_judge=True,
        wanted_by=verdicts.wanted_by,
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
        module=score_moves,
        kinds=frozenset({"python", "parquet"}),
        description="What moved each score since the scores before it: the judge (the same answer, judged in another way), the answers "
        "(another answer, judged in the same way), or what cannot be told. Computed from stored scores: asks nothing.\n\n"
        "The scores before are the newest finished ones by the same judge id, also those from before it was edited; else by another judge.",
        reads=(judged_scores, arm_answers),
        inputs=_given_judge(score_moves.move_inputs),
        materialize=_given_judge(score_moves.materialize_score_moves),
        needs_judge=True,
    ),
    ScoreStage(
        module=arms_report,
        kinds=frozenset({"python", "html"}),
        description="The report: one page with plots and every answer (HTML), Markdown, arms.v1 (JSON), scores (CSV). Asks nothing.\n\n"
        "The result table is in the metadata of each materialization, beside links to the page and to every file.",
        reads=(arm_summary, verdicts, judged_scores, arm_answers),
        inputs=arms_report.report_inputs,
        materialize=arms_report.materialize_arms_report,
    ),
)


def suite_stages(suite: SuiteSettings) -> tuple[ScoreStage, ...]:
    """Return the stages that a suite asks for; none of them reads one that is left out."""
    left_out = [stage.module for stage in SCORE_STAGES if not stage.wanted_by(suite)]
    return tuple(
        replace(stage, reads=tuple(read for read in stage.reads if read not in left_out))
        for stage in SCORE_STAGES
        if stage.module not in left_out
    )


def stages_of(suite: SuiteSettings, judge: JudgeCell | None) -> tuple[ScoreStage, ...]:
    """Return the suite's stages that have something to make under that judge, or of answers that nobody judges."""
    return tuple(stage for stage in suite_stages(suite) if judge is not None or not stage.needs_judge)
