"""What a backfill has to make, and what it would ask: chosen by the state of each partition, counted without a model call."""

from collections.abc import Collection, Iterable, Sequence

from evalplatform.judging.records import JudgeTask
from evalplatform.kernel.usage import known_sum
from evalplatform.kernel.values import Value
from evalplatform.project.cells import Cell
from evalplatform.stages import arm_answers, corpus, judged_scores, question_set
from evalplatform.stages.comparison_runs import summary_input
from evalplatform.stages.comparison_stages import COMPARISON_ASSETS
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.corpus import open_treatments
from evalplatform.stages.plan import PlannedBefore, PlannedCalls, SpendCap, planned_answers, planned_judgements, spend_cap
from evalplatform.stages.staleness import PartitionState, states_of

SOURCES = (question_set.ASSET, corpus.ASSET)


class LeftOut(Value):
    """A cell that a judge's backfill cannot score, since a judge never asks for answers; `reason` says what comes first."""

    cell: str
    judge: str
    reason: str


class BackfillWork(Value):
    """The partitions of a suite that a backfill makes, in the order of the data, and the cells that it leaves out.

    `fresh` counts those that it has nothing to do for; `kept` are the comparisons of cells among them, whose refusals stand.
    """

    suite: str
    partitions: tuple[PartitionState, ...]
    left_out: tuple[LeftOut, ...] = ()
    fresh: int = 0
    kept: tuple[PartitionState, ...] = ()

    def assets_of(self, *, cell: str | None = None, judge: str | None = None) -> tuple[str, ...]:
        """Return the assets to make of a cell under a judge; without a judge those of its answers, without both the sources.

        What compares cells is not among them, see `comparisons`.
        """
        return tuple(state.asset for state in self._of_one_cell if (state.cell, state.judge) == (cell, judge))

    def cells(self, *, judge: str | None = None) -> tuple[str, ...]:
        """Return the ids of the cells with something to make under a judge, or of those with answers to make."""
        return tuple(dict.fromkeys(state.cell for state in self._of_one_cell if state.cell is not None and state.judge == judge))

    def comparisons(self, judge: str) -> tuple[PartitionState, ...]:
        """Return the comparisons of cells to make under a judge; they are made after the scores that they read."""
        return tuple(state for state in self.partitions if state.asset in COMPARISON_ASSETS and state.judge == judge)

    @property
    def judges(self) -> tuple[str, ...]:
        """The ids of the judges with something to make."""
        return tuple(dict.fromkeys(state.judge for state in self.partitions if state.judge is not None))

    @property
    def _of_one_cell(self) -> tuple[PartitionState, ...]:
        return tuple(state for state in self.partitions if state.asset not in COMPARISON_ASSETS)


class BackfillPlan(Value):
    """A backfill resolved: its work, and the calls that it would make; answers and judge calls apart."""

    work: BackfillWork
    answers: tuple[PlannedCalls, ...]
    judgements: tuple[PlannedCalls, ...]
    spend_cap: SpendCap | None = None

    @property
    def price_usd(self) -> float | None:
        """The price of all that is to be asked, each call once; None when some of it is unknown."""
        prices = [planned.price_usd for planned in (*self.answers, *self.judgements)]
        return None if None in prices else (known_sum(prices) or 0.0)


def chosen_work(suite: str, states: Sequence[PartitionState], *, cell: str | None = None, judge: str | None = None) -> BackfillWork:
    """Choose what a backfill makes.

    Args:
        suite: the suite's id.
        states: the state of every partition of the suite.
        cell: the id of the only cell to make; the sources are made too, since answers are given from them. Nothing that compares cells is.
        judge: the id of a judge. Then only what is made of stored answers under it is chosen: cells without answers, or with answers that
            are stale, are left out and named. What compares cells is chosen where the others give it something new.
    """
    within = [state for state in states if cell is None or (state.cell in (None, cell) and state.asset not in COMPARISON_ASSETS)]
    if judge is None:
        chosen = [state for state in within if not state.is_fresh]
        return BackfillWork(suite=suite, partitions=tuple(chosen), fresh=len(within) - len(chosen), kept=_fresh_comparisons(within))
    answers = {state.cell: state for state in within if state.cell is not None and state.judge is None}
    left_out = {of_cell: reason for of_cell, state in answers.items() if (reason := _why_not_judged(state))}
    of_judge = [state for state in within if state.judge == judge]
    judged = [state for state in of_judge if state.asset not in COMPARISON_ASSETS and state.cell not in left_out]
    to_do = {state.cell for state in judged if _can_be_mended(state)}
    chosen = [state for state in judged if state.cell in to_do and not state.is_fresh]
    comparisons = [state for state in of_judge if state.asset in COMPARISON_ASSETS and _is_comparable(state, left_out)]
    chosen += [state for state in comparisons if _has_news(state, left_out)]
    return BackfillWork(
        suite=suite,
        partitions=tuple(chosen),
        left_out=tuple(LeftOut(cell=of_cell, judge=judge, reason=reason) for of_cell, reason in left_out.items()),
        fresh=len(judged) + len(comparisons) - len(chosen),
        kept=_fresh_comparisons(comparisons),
    )


def _fresh_comparisons(states: Iterable[PartitionState]) -> tuple[PartitionState, ...]:
    return tuple(state for state in states if state.asset in COMPARISON_ASSETS and state.is_fresh)


def _why_not_judged(answers: PartitionState) -> str | None:
    if answers.state == "missing":
        return "it has no answers yet"
    return "its answers are stale" if answers.state == "stale" else None


def _can_be_mended(state: PartitionState) -> bool:
    """Whether making this partition changes something; what only waits for incomplete answers stays as it is until those are asked."""
    return state.state in ("missing", "stale") or (state.state == "incomplete" and not state.because)


def _is_comparable(comparison: PartitionState, left_out: Collection[str]) -> bool:
    """Whether the cells that are not left out are enough for a comparison: both of a plugin delta, else one of them."""
    there = [cell not in left_out for cell in comparison.compared]
    return any(there) if comparison.cell is None else all(there)


def _has_news(comparison: PartitionState, left_out: Collection[str]) -> bool:
    """Whether making a comparison now changes something: cells that are left out are named in it, and stay so."""
    if comparison.state == "stale":
        return bool(set(comparison.because) - {summary_input(cell) for cell in left_out})
    return _can_be_mended(comparison)


async def backfill_work(context: SuiteContext, *, cell: str | None = None, judge: str | None = None) -> BackfillWork:
    """Return what a backfill of a suite makes, from the files as they are now. Asks no model. Raises as `suite_states` does."""
    questions = question_set.current_questions(context)
    async with open_treatments(context) as opened:
        return chosen_work(context.suite_id, states_of(context, questions, opened), cell=cell, judge=judge)


async def plan_backfill(context: SuiteContext, work: BackfillWork) -> BackfillPlan:
    """Count the calls of a backfill. Answers that are not to be made again are read from the store, and count no call.

    Raises:
        MissingSecretError: an endpoint's key is not in the environment.
        InputError, RetrievalError, StorageError: as `suite_states` does.
    """
    cells = {cell.id: cell for cell in context.project.cells_of(context.suite_id)}
    judges = {judge.id: judge for judge in context.project.judges_of(context.suite_id)}
    before = PlannedBefore()
    answers: list[PlannedCalls] = []
    tasks: dict[str, list[JudgeTask]] = {}
    if to_answer := work.cells():
        questions = question_set.current_questions(context)
        async with open_treatments(context) as opened:
            for cell_id in to_answer:
                planned, tasks[cell_id] = await planned_answers(context, cells[cell_id], questions.questions, opened.treatments, before)
                answers.append(planned)
    judgements = []
    for judge_id in work.judges:
        for cell_id in work.cells(judge=judge_id):
            if judged_scores.ASSET in work.assets_of(cell=cell_id, judge=judge_id):
                if cell_id not in tasks:
                    tasks[cell_id] = _stored_tasks(context, cells[cell_id])
                judgements.append(await planned_judgements(context, cells[cell_id], judges[judge_id], tasks[cell_id], before))
    cap = spend_cap(context, [*answers, *judgements])
    return BackfillPlan(work=work, answers=tuple(answers), judgements=tuple(judgements), spend_cap=cap)


def _stored_tasks(context: SuiteContext, cell: Cell) -> list[JudgeTask]:
    manifest = context.upstream(arm_answers.ASSET, cell.key)
    return judged_scores.stored_tasks(context, manifest, arm_answers.stored_answers(context, manifest))
