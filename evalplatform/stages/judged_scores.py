"""Stage `judged_scores` [cell x judge]: grade stored answers with stored material. It asks no answer."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalplatform.answering.records import ArmAnswer
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.calls.counts import CallCounts, CallTally
from evalplatform.calls.desk import CallDesk
from evalplatform.calls.failures import failures_of
from evalplatform.calls.progress import ProgressMeter
from evalplatform.comparisons.panel_spread import lost_votes
from evalplatform.comparisons.records import JudgedScore, ScoreCost, ScorePoints, ScoreProvenance
from evalplatform.judging.judge import judge_kinds
from evalplatform.judging.probe import probe_pinned_judge
from evalplatform.judging.records import JudgeTask
from evalplatform.judging.run import JUDGE_FAILED, JudgedTasks, judge_all
from evalplatform.kernel.digests import bytes_digest
from evalplatform.kernel.errors import InputError
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.questions.records import Fact, Question
from evalplatform.stages import arm_answers, question_set
from evalplatform.stages.context import StageKey, StageResult, SuiteContext, stored_result, unchanged_result, versions_of
from evalplatform.stages.facts import PanelFacts, ScoreFacts, as_facts
from evalplatform.stages.partition_lock import partition_held
from evalplatform.stages.tables import SCORES, read_score_costs, read_score_points, read_score_provenance

ASSET = "judged_scores"
CODE_VERSION = "1"
SCORES_FILE = "scores.parquet"


def partition(cell_key: str, judge_key: str) -> str:
    """Return the artifact partition of a cell under a judge."""
    return f"{cell_key}/{judge_key}"


async def materialize_judged_scores(context: SuiteContext, cell: Cell, judge: JudgeCell) -> StageResult:
    """Grade a cell's current answers by one judge; only what this judge has not graded is asked."""
    answers_manifest = context.upstream(arm_answers.ASSET, cell.key)
    key = StageKey(
        context.artifact(ASSET, partition(cell.key, judge.key)),
        inputs=score_inputs(context, cell, judge, versions_of((answers_manifest,))),
        code_version=CODE_VERSION,
        lineage=(answers_manifest,),
    )
    if (known := unchanged_result(context, key)) is not None:
        return known
    async with partition_held(context, key, stage=_progress_name(judge)) as stored_meanwhile:
        return stored_meanwhile or await _graded(context, key, judge, answers_manifest)


async def _graded(context: SuiteContext, key: StageKey, judge: JudgeCell, answers_manifest: ArtifactManifest) -> StageResult:
    """Ask the judge what is not in the ledger, and store the scores."""
    answers = arm_answers.stored_answers(context, answers_manifest)
    tasks = stored_tasks(context, answers_manifest, answers)
    graded = await grade_tasks(context, judge, tasks)
    return _stored(context, key, judge, placed_scores(answers, graded.judged), graded)


@dataclass(frozen=True)
class GradedTasks:
    """What a judge said of tasks, and the calls that it took."""

    judged: JudgedTasks
    tally: CallTally


async def grade_tasks(context: SuiteContext, judge: JudgeCell, tasks: Sequence[JudgeTask]) -> GradedTasks:
    """Have a judge grade tasks; what the ledger holds is not asked again. The judge's key is claimed and its pinned sampling probed first.

    Raises:
        InputError: the judge's key stands for another judge, its endpoint cannot be opened, or it refuses the pinned parameters.
    """
    context.claim_key(judge)
    async with context.open_desk(judge.endpoint) as desk:
        await probe_judge(judge, desk)
        return GradedTasks(judged=await _judged(context, judge, tasks, desk), tally=desk.tally)


def placed_scores(answers: Sequence[ArmAnswer], judged: JudgedTasks) -> list[JudgedScore]:
    """Return each answer's judgement with its place, in the order of the answers."""
    return [
        JudgedScore(question_id=answer.question_id, arm=answer.arm, draw=answer.draw, judgement=judgement)
        for answer, judgement in zip(answers, judged.judgements, strict=True)
    ]


def score_inputs(context: SuiteContext, cell: Cell, judge: JudgeCell, versions: Mapping[str, str]) -> dict[str, str]:
    """Return the named inputs of a cell's scores under a judge, given the data version of the answers by their asset's name."""
    return {
        arm_answers.ASSET: versions[arm_answers.ASSET],
        "judge": judge.behaviour_digest,
        # The seed is no part of the judge's key; another seed asks for other samples, though.
        "judge_seed": str(judge.settings.sampling.seed),
    }


async def check_judge(context: SuiteContext, judge: JudgeCell) -> CallCounts:
    """Open a judge's endpoint, and probe it where its sampling is pinned; a judge that cannot be asked is so found before answers are paid.

    Returns:
        The calls made: one at most.

    Raises:
        InputError: the endpoint cannot be opened, or refuses the pinned parameters.
    """
    async with context.open_desk(judge.endpoint) as desk:
        await probe_judge(judge, desk)
        return desk.tally.counts()


def stored_scores(context: SuiteContext, manifest: ArtifactManifest) -> list[JudgedScore]:
    """Return the scores of a stored version, in the order question, arm, draw."""
    return list(SCORES.read(context.catalog.read(manifest, SCORES_FILE)))


def stored_points(context: SuiteContext, manifest: ArtifactManifest) -> Iterator[ScorePoints]:
    """Iterate over the points of a stored version, in the order question, arm, draw; what else its scores hold is not read."""
    return read_score_points(context.catalog.read(manifest, SCORES_FILE))


def stored_costs(context: SuiteContext, manifest: ArtifactManifest) -> Iterator[ScoreCost]:
    """Iterate over the calls of a stored version's scores and what they cost; what else its scores hold is not read."""
    return read_score_costs(context.catalog.read(manifest, SCORES_FILE))


def stored_provenance(context: SuiteContext, manifest: ArtifactManifest) -> Iterator[ScoreProvenance]:
    """Iterate over what each score of a stored version was given beside the answer; what else its scores hold is not read."""
    return read_score_provenance(context.catalog.read(manifest, SCORES_FILE))


def stored_tasks(context: SuiteContext, answers_manifest: ArtifactManifest, answers: Sequence[ArmAnswer]) -> list[JudgeTask]:
    """Return the tasks of grading stored answers: the questions that they were given to, and the stored material."""
    return judge_tasks(
        answers,
        questions={question.id: question for question in question_set.asked_questions(context, answers_manifest).questions},
        texts=arm_answers.stored_texts(context, answers_manifest),
    )


def judge_tasks(answers: Sequence[ArmAnswer], *, questions: Mapping[str, Question], texts: Mapping[str, str]) -> list[JudgeTask]:
    """Return one task an answer, in order. What names the arm stays behind: a task carries a running number."""
    return [
        judge_task(
            str(number),
            questions[answer.question_id],
            answer=answer.answer,
            missing_reason=answer.reason,
            draw=answer.draw,
            material=texts.get(answer.material_digest or "", ""),
            material_digest=answer.material_digest,
        )
        for number, answer in enumerate(answers)
    ]


def judge_task(
    task_id: str,
    question: Question,
    *,
    answer: str | None,
    draw: int,
    material: str,
    material_digest: str | None = None,
    missing_reason: str | None = None,
) -> JudgeTask:
    """Return the task of grading one answer to the question, with the material its arm was given."""
    return JudgeTask(
        task_id=task_id,
        question=question.question,
        answer=answer,
        missing_reason=missing_reason,
        draw=draw,
        material=material,
        material_digest=material_digest,
        ground_truth=question.ground_truth_chunk,
        expected_topics=question.expected_topics,
        expected_facts=_wordings(question.expected_facts),
        forbidden_facts=_wordings(question.forbidden_facts),
    )


def _wordings(facts: Sequence[Fact]) -> tuple[tuple[str, ...], ...]:
    return tuple(fact.any_of for fact in facts)


async def probe_judge(judge: JudgeCell, desk: CallDesk) -> None:
    """Ask the probe of a judge whose sampling is pinned.

    Raises:
        InputError: the endpoint refuses the pinned parameters; the judge is named.
    """
    try:
        await probe_pinned_judge(judge.settings, asker=desk)
    except InputError as error:
        raise error.placed(field=f"judges.{judge.id}.{error.field}") from error.__cause__


def _progress_name(judge: JudgeCell) -> str:
    return f"scores {judge.id}"


async def _judged(context: SuiteContext, judge: JudgeCell, tasks: Sequence[JudgeTask], desk: CallDesk) -> JudgedTasks:
    meter = ProgressMeter(_progress_name(judge), len(tasks), context.clock, context.on_progress, tally=desk.tally)
    return await judge_all(
        tasks,
        judge=judge_kinds.get(judge.settings.kind)(judge.settings, asker=desk),
        concurrency=context.project.endpoint(judge.endpoint).limits.workers,
        meter=meter,
    )


def _stored(context: SuiteContext, key: StageKey, judge: JudgeCell, scores: Sequence[JudgedScore], graded: GradedTasks) -> StageResult:
    content = SCORES.write(scores)
    judged, tally = graded.judged, graded.tally
    scored = sum(score.judgement.points is not None for score in scores)
    reasons = (score.judgement.reason or "" for score in scores)
    failures = failures_of(reason for reason in reasons if reason.startswith(JUDGE_FAILED))
    facts = ScoreFacts(
        judge=judge,
        rows=len(scores),
        scored=scored,
        unscored_reasons=dict(Counter(score.judgement.reason.split(": ")[0] for score in scores if score.judgement.reason is not None)),
        redrawn=sum(score.judgement.redraws > 0 for score in scores),
        calls=tally.counts(),
        answer_calls=tally.asked["answer"],
        failure_reasons=failures.counts,
        first_failure=failures.first,
        panel=_panel_facts(scores) if judge.roles else None,
        complete=judged.is_complete,
        truncated_reason=None if judged.stopped is None else judged.stopped.reason,
        truncated_message=None if judged.stopped is None else str(judged.stopped),
    )
    version = None if judged.is_complete else key.incomplete_version(bytes_digest(content))
    return stored_result(context, key, files={SCORES_FILE: content}, facts=as_facts(facts), data_version=version)


def _panel_facts(scores: Sequence[JudgedScore]) -> PanelFacts:
    panels = [score.judgement.panel for score in scores if score.judgement.panel is not None]
    of_scored = (vote for panel in panels if panel.valid for vote in panel.lost)
    failed = failures_of(vote.reason for vote in of_scored if vote.reason is not None and vote.reason.startswith(JUDGE_FAILED))
    return PanelFacts(
        flagged=sum(panel.flagged for panel in panels),
        lost_votes=lost_votes(panels),
        failed_votes=failed.counts,
        first_failed_vote=failed.first,
    )
