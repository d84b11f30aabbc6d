"""Compare what judges said of stored answers with what people said of the same answers. Nothing is asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.comparisons.label_agreement import label_agreement
from evalplatform.comparisons.label_records import GradedAnswer, JudgeAgreement
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.ports.labels import Label, LabelStore
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.stages import arm_answers, judged_scores
from evalplatform.stages.answer_digests import digested_answers
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.facts import answer_facts, score_facts


@dataclass
class _Graded:
    judge: JudgeCell
    cells: list[str] = field(default_factory=list)
    answers: list[GradedAnswer] = field(default_factory=list)


def judge_agreements(
    contexts: Sequence[SuiteContext], store: LabelStore, *, judge: str | None = None, cell: str | None = None
) -> list[JudgeAgreement]:
    """Return one agreement for every suite and judge with stored scores, those of retired judges included.

    Args:
        contexts: the suites to look at.
        store: the labels.
        judge: only the judges of this id, or the one of this key.
        cell: only answers of the cells of this id, or of the one of this key.

    Raises:
        UnknownNameError: scores are stored, but none by that judge or of that cell.
        ObjectNotFoundError: the answers that scores were made from are gone.
    """
    partitions = [(context, manifest) for context in contexts for manifest in _current_scores(context)]
    chosen = _named(partitions, judge=judge, cell=cell)
    graded: dict[tuple[str, str], _Graded] = {}
    for context, scores in chosen:
        answers = context.made_from(scores, arm_answers.ASSET)
        key = (context.suite_id, score_facts(scores).judge.key)
        of_judge = graded.setdefault(key, _Graded(judge=score_facts(scores).judge))
        of_judge.cells.append(answer_facts(answers).cell.key)
        of_judge.answers += _graded_answers(context, scores, answers)
    by_suite = {context.suite_id: context for context in contexts}
    return [_agreement(by_suite[suite_id], of_judge, store) for (suite_id, _), of_judge in sorted(graded.items())]


def _current_scores(context: SuiteContext) -> Iterator[ArtifactManifest]:
    for artifact in context.catalog.list(suite=context.suite_id, asset=judged_scores.ASSET):
        if (manifest := context.catalog.find_current(artifact)) is not None:
            yield manifest


def _named(
    partitions: Sequence[tuple[SuiteContext, ArtifactManifest]], *, judge: str | None, cell: str | None
) -> list[tuple[SuiteContext, ArtifactManifest]]:
    """Return the partitions of the judge and cell that are asked for."""
    chosen = list(partitions)
    for what, wanted in (("judge", judge), ("cell", cell)):
        if wanted is None or not partitions:
            continue
        names = [_names(what, context, scores) for context, scores in partitions]
        if not any(wanted in found for found in names):
            raise UnknownNameError(f"{what} with stored scores", wanted, {name for found in names for name in found}, field=f"--{what}")
        chosen = [partition for partition in chosen if wanted in _names(what, *partition)]
    return chosen


def _names(what: str, context: SuiteContext, scores: ArtifactManifest) -> tuple[str, str]:
    """Return the id and the key of a partition's judge or cell."""
    named: JudgeCell | Cell = score_facts(scores).judge
    if what == "cell":
        named = answer_facts(context.made_from(scores, arm_answers.ASSET)).cell
    return named.id, named.key


def _graded_answers(context: SuiteContext, scores: ArtifactManifest, answers: ArtifactManifest) -> Iterator[GradedAnswer]:
    digests = {(answer.question_id, answer.arm, answer.draw): digest for digest, _, answer in digested_answers(context, answers)}
    for score in judged_scores.stored_scores(context, scores):
        if (digest := digests.get((score.question_id, score.arm, score.draw))) is not None:
            yield GradedAnswer(answer_digest=digest, points=score.judgement.points, calls=score.judgement.calls)


def _agreement(context: SuiteContext, graded: _Graded, store: LabelStore) -> JudgeAgreement:
    labels: list[Label] = store.find("answer", {answer.answer_digest for answer in graded.answers})
    return JudgeAgreement(
        suite=context.suite_id,
        judge=graded.judge.id,
        judge_key=graded.judge.key,
        is_retired=graded.judge.key not in {judge.key for judge in context.project.judges_of(context.suite_id)},
        cells=tuple(sorted(graded.cells)),
        pass_points=context.suite.pass_points,
        found=label_agreement(graded.answers, labels, pass_points=context.suite.pass_points),
    )
