"""Several cells of one suite, taken through the main job side by side, so that they share limits, calls and the spend cap.

All cells ask in one event loop: an endpoint has one limiter for all of them, and what two cells ask alike at once is asked once. A cell
goes on to its judge as soon as its own answers are there.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evalplatform.calls.counts import CallCounts
from evalplatform.calls.desk import CallDesk
from evalplatform.calls.progress import Progress
from evalplatform.kernel.errors import EvalplatformError, InputError
from evalplatform.kernel.usage import Usage
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.stages import judged_scores
from evalplatform.stages.arm_answers import materialize_arm_answers
from evalplatform.stages.checks.stored import blocks, judge_check_results, refuse_blocked, refuse_where_blocked
from evalplatform.stages.context import StageResult, SuiteContext
from evalplatform.stages.corpus import materialize_corpus
from evalplatform.stages.pipeline import CellRun, added_counts
from evalplatform.stages.question_set import materialize_question_set
from evalplatform.stages.score_chain import StageMade, score_events
from evalplatform.stages.score_stages import stages_of


@dataclass(frozen=True)
class CellFailed:
    """A cell that ended without a report, and why. `counts` are the calls that it had made or replayed by then."""

    error: EvalplatformError
    counts: CallCounts


@dataclass(frozen=True)
class MatrixRun:
    """What became of each cell, by its id, in the matrix's order. `check_counts` are the calls of what was checked before any was asked."""

    cells: dict[str, CellRun | CellFailed]
    check_counts: CallCounts

    @property
    def counts(self) -> CallCounts:
        """The calls of the whole matrix."""
        return added_counts([], self.check_counts, *(outcome.counts for outcome in self.cells.values()))

    @property
    def unchanged(self) -> bool:
        """Whether everything was stored already, so that nothing was computed or asked."""
        return all(isinstance(outcome, CellRun) and outcome.unchanged for outcome in self.cells.values())


def run_matrix(context: SuiteContext, cells: Sequence[Cell], judge: JudgeCell | None) -> MatrixRun:
    """Take every cell through every stage, skipping what is stored already; a cell that fails stops no other.

    Args:
        context: the suite; its spend cap holds for all cells together.
        cells: the cells, each once.
        judge: who grades all of them, or None.

    Raises:
        EvalplatformError: found before the first answer is asked for: the questions, the arms or their files cannot be used, an endpoint
            cannot be opened, the judge cannot be asked, a model has no known price under a spend cap, or a key stands for another cell.
    """
    shared = (materialize_question_set(context), materialize_corpus(context))
    plan = _PlanCheck(context, cells, judge)
    asked = asyncio.run(_all_asked(context, cells, judge, plan))
    outcomes = {cell.id: _finished(context, cell, judge, (*shared, *of_cell.stages), of_cell.error) for cell, of_cell in asked}
    return MatrixRun(cells=outcomes, check_counts=plan.counts)


@dataclass
class _Asked:
    """What asking one cell's models left: the stages made, and what ended it early."""

    stages: list[StageResult]
    error: EvalplatformError | None = None


class _PlanCheck:
    """Checks once, before the first answer of any cell is asked for, that every cell and the judge can be asked."""

    def __init__(self, context: SuiteContext, cells: Sequence[Cell], judge: JudgeCell | None) -> None:
        self.counts = CallCounts()
        self.failure: EvalplatformError | None = None
        self._context, self._cells, self._judge = context, cells, judge
        self._made = False
        self._lock = asyncio.Lock()

    async def __call__(self) -> None:
        """Return where the plan can be finished, and raise why it cannot, to every cell that asks."""
        async with self._lock:
            if not self._made:
                self._made = True
                try:
                    await self._check()
                except EvalplatformError as error:
                    self.failure = error
        if self.failure is not None:
            raise self.failure

    async def _check(self) -> None:
        for owner in (*self._cells, *(() if self._judge is None else (self._judge,))):
            self._context.claim_key(owner)
        asked = [(cell.endpoint, cell.provider, cell.model, f"cells.{cell.id}.model") for cell in self._cells]
        if self._judge is not None:
            of_judge = self._judge.settings
            asked.append((self._judge.endpoint, of_judge.provider, of_judge.model, f"judges.{self._judge.id}.model"))
        for endpoint, provider, model, field in asked:
            async with self._context.open_desk(endpoint) as desk:  # its key is there, and its settings make sense
                _refuse_unknown_price(desk, provider, model, field)
        if self._judge is not None:
            self.counts = await judged_scores.check_judge(self._context, self._judge)


def _refuse_unknown_price(desk: CallDesk, provider: str, model: str, field: str) -> None:
    """Raise InputError where a spend cap would stop every call of the model: nobody knows what one costs."""
    if desk.budget is not None and desk.endpoint.prices.cost_usd(provider, model, Usage(prompt_tokens=1, completion_tokens=1)) is None:
        raise InputError(
            f"{provider}:{model} has no known price, so a spend cap cannot be kept. Give its endpoint `prices`, or run without a cap.",
            field=field,
        )


async def _all_asked(context: SuiteContext, cells: Sequence[Cell], judge: JudgeCell | None, plan: _PlanCheck) -> list[tuple[Cell, _Asked]]:
    asked = await asyncio.gather(*(_asked(context, cell, judge, plan) for cell in cells))
    if plan.failure is not None:  # not of one cell: nobody was asked anything
        raise plan.failure
    return list(zip(cells, asked, strict=True))


async def _asked(context: SuiteContext, cell: Cell, judge: JudgeCell | None, plan: _PlanCheck) -> _Asked:
    """Ask a cell's model, then its judge."""
    done = _Asked([])
    try:
        done.stages.append(await materialize_arm_answers(context, cell, before_asking=plan))
        if judge is not None:
            await asyncio.to_thread(_refuse_before_judging, context, cell, judge)
            done.stages.append(await judged_scores.materialize_judged_scores(_telling_cell(context, cell), cell, judge))
    except EvalplatformError as error:
        done.error = error
    return done


def _refuse_before_judging(context: SuiteContext, cell: Cell, judge: JudgeCell) -> None:
    """Raise CheckFailedError where a check that blocks fails before the judge is asked. It opens an event loop: not for within one."""
    if blocks(context.suite.checks):
        refuse_where_blocked(context, cell, None)
        refuse_blocked(context, judge_check_results(context, cell, judge), partition=judged_scores.partition(cell.key, judge.key))


def _telling_cell(context: SuiteContext, cell: Cell) -> SuiteContext:
    """Return the context with a judge's progress told by cell: one judge grades several at once."""

    def told(progress: Progress) -> None:
        context.on_progress(progress.model_copy(update={"stage": f"{progress.stage} of {cell.id}"}))

    return replace(context, on_progress=told)


def _finished(
    context: SuiteContext, cell: Cell, judge: JudgeCell | None, asked: Sequence[StageResult], error: EvalplatformError | None
) -> CellRun | CellFailed:
    """Make of stored answers and scores what follows from them without a call."""
    done = list(asked)
    stages = stages_of(context.suite, judge)
    computed = {stage.asset for stage in stages if not stage.asks_judge}
    try:
        if error is not None:
            raise error
        events = score_events(context, cell, judge, stages, made=computed, checked=blocks(context.suite.checks))
        done += [event.result for event in events if isinstance(event, StageMade)]
    except EvalplatformError as failure:
        return CellFailed(error=failure, counts=added_counts([stage for stage in done if not stage.unchanged]))
    return CellRun(stages=tuple(done))
