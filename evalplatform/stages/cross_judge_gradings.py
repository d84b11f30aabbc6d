"""One judge's grading of one run, from stored scores or by asking: the points, how it ended, and what it took."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evalplatform.calls.counts import CallCounts
from evalplatform.calls.failures import Failures, failures_of
from evalplatform.comparisons.cross_judge_records import Measure
from evalplatform.comparisons.question_scores import QuestionScores, question_scores
from evalplatform.comparisons.records import JudgedScore, ScorePoints
from evalplatform.judging.judge import judge_model_stamp
from evalplatform.judging.run import JUDGE_FAILED
from evalplatform.project.cells import JudgeCell
from evalplatform.reports.arms_v1 import STORED_MATERIAL
from evalplatform.stages import arm_answers, judged_scores, question_set
from evalplatform.stages.context import StageResult, SuiteContext
from evalplatform.stages.cross_judge_files import FileRun, file_points, file_tasks
from evalplatform.stages.facts import PanelFacts, ScoreFacts, answer_facts, score_facts
from evalplatform.stages.judged_scores import grade_tasks, placed_scores
from evalplatform.stages.tables import SCORES

Made = TypeVar("Made")


@dataclass(frozen=True)
class Grading:
    """One judge's grading of one run. `scores` are its rows as Parquet, where nothing else keeps them."""

    measure: Measure
    failures: Failures
    complete: bool
    truncated_message: str | None
    counts: CallCounts
    answer_calls: int
    scores: bytes | None = None


def stored_grading(context: SuiteContext, judge: JudgeCell, made: StageResult) -> Grading:
    """Return the grading that a cell's scores under a judge are; calls are those of this run, none where the scores were there already."""
    answers = context.made_from(made.manifest, arm_answers.ASSET)
    facts = score_facts(made.manifest)
    tables = question_scores(
        judged_scores.stored_points(context, made.manifest),
        arms=[arm.name for arm in answer_facts(answers).arms],
        question_ids=[question.id for question in question_set.asked_questions(context, answers).questions],
        draws=arm_answers.stored_draws(answers),
    )
    return Grading(
        measure=_measure(judge, tables),
        failures=_stored_failures(facts),
        complete=facts.complete,
        truncated_message=facts.truncated_message,
        counts=CallCounts() if made.unchanged else facts.calls,
        answer_calls=0 if made.unchanged else facts.answer_calls,
    )


async def file_grading(context: SuiteContext, run: FileRun, judge: JudgeCell) -> Grading:
    """Have a judge grade the answers of a file's run. Raises as `grade_tasks` does."""
    graded = await grade_tasks(context, judge, file_tasks(run))
    scores = placed_scores(run.answers, graded.judged)
    tables = file_points(run, [ScorePoints(row.question_id, row.arm, 0, row.points, row.reason) for row in scores])
    stopped = graded.judged.stopped
    return Grading(
        measure=_measure(judge, tables),
        failures=failures_of(reason for row in scores for reason in _reasons(row) if reason.startswith(JUDGE_FAILED)),
        complete=graded.judged.is_complete,
        truncated_message=None if stopped is None else str(stopped),
        counts=graded.tally.counts(),
        answer_calls=graded.tally.asked["answer"],
        scores=SCORES.write(scores),
    )


def _reasons(score: JudgedScore) -> Iterator[str]:
    """Yield why a score has no points or, of a panel's score that has them, why votes are lost."""
    if score.reason is not None:
        yield score.reason
    elif score.judgement.panel is not None:
        yield from (vote.reason for vote in score.judgement.panel.lost if vote.reason is not None)


def _stored_failures(facts: ScoreFacts) -> Failures:
    votes = facts.panel or PanelFacts()
    counts = Counter(facts.failure_reasons) + Counter(votes.failed_votes)
    return Failures(counts=dict(counts), first=facts.first_failure or votes.first_failed_vote)


async def all_of(work: Sequence[Coroutine[None, None, Made]]) -> list[Made]:
    """Return every result; an error is raised once all have ended, since what the others ask is paid for."""
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


def added_failures(gradings: Iterable[Grading]) -> Failures:
    """Return the judge calls of several gradings that failed, together."""
    counts: Counter[str] = Counter()
    first: str | None = None
    for grading in gradings:
        counts.update(grading.failures.counts)
        first = first or grading.failures.first
    return Failures(counts=dict(counts), first=first)


def _measure(judge: JudgeCell, tables: Mapping[str, QuestionScores]) -> Measure:
    settings = judge.settings
    return Measure(
        name=judge.id,
        judge=settings.model,
        judge_key=judge.key,
        judge_model=judge_model_stamp(settings.model, judge.roles),
        judge_provider=settings.provider,
        judge_temperature=settings.sampling.temperature,
        judge_prompt_digest=judge.prompt_digest,
        judge_context=STORED_MATERIAL,
        points={arm: table.points for arm, table in tables.items()},
        unscored_reasons={arm: table.unscored_reasons for arm, table in tables.items()},
    )
