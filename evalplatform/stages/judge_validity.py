"""Try a judge on stored answers and on copies of them that were made worse. No answer is asked; what the ledger holds is replayed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from evalplatform.answering.records import ArmAnswer
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.calls.counts import CallCounts
from evalplatform.calls.progress import ProgressMeter
from evalplatform.comparisons.judge_validity import judge_validity
from evalplatform.comparisons.judge_validity_records import Condition, JudgeValidity, Probe, ProbedPair, TriedJudge
from evalplatform.judging.degradations.degradation import Degraded, degradations, degraded_answer
from evalplatform.judging.degradations.names import Name, names_of
from evalplatform.judging.judge import judge_kinds, judge_model_stamp
from evalplatform.judging.records import Judgement, JudgeTask
from evalplatform.judging.run import judge_all
from evalplatform.kernel.digests import EMPTY_TEXT_DIGEST, text_digest
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.model_names import same_model
from evalplatform.kernel.seeds import derived_seed
from evalplatform.kernel.values import Value
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.questions.records import Question
from evalplatform.stages import arm_answers, judged_scores, question_set
from evalplatform.stages.context import SuiteContext

DEFAULT_BASES = 20
DEFAULT_MIN_ACCURACY_RATE = 0.8
NAMED_QUESTIONS = 200
"""Reading more answers for names takes seconds of a large set, and finds no better ones."""
Material = Literal["with", "without", "both"]
CONDITIONS: Mapping[Material, tuple[Condition, ...]] = {"with": ("with",), "without": ("without",), "both": ("with", "without")}


class TriedValidity(Value):
    """What trying a judge came to: its validity, every pair that it rests on, and the calls that it took.

    `candidates` is how many questions have an answer that could be graded: with more intact answers asked for, there would be no more.
    """

    tried: TriedJudge
    validity: JudgeValidity
    pairs: tuple[ProbedPair, ...]
    calls: CallCounts
    candidates: int


class _Copy(NamedTuple):
    """A degraded copy of one intact answer, by the place of that answer."""

    base: int
    probe: str
    degraded: Degraded


class _Graded(NamedTuple):
    """What is graded: in which condition, of which intact answer, and which degraded copy of it; None is the answer itself."""

    condition: Condition
    base: int
    probe: str | None


async def tried_validity(
    context: SuiteContext,
    cell: Cell,
    judge: JudgeCell,
    *,
    bases: int = DEFAULT_BASES,
    material: Material = "both",
    min_accuracy_rate: float = DEFAULT_MIN_ACCURACY_RATE,
    probes: Sequence[str] = (),
) -> TriedValidity:
    """Grade stored answers and degraded copies of them, and say how often the judge ranks the intact one higher.

    Each question gives one intact answer at most, so that pairs are independent: rather one that had material, and of those the one that
    the answers' own digests put first. No score has a say: an answer chosen for its points would be graded too high by any judge with
    noise, and its copies, graded anew, would not. With material an intact answer is graded by the very request that its score was made
    by, so the ledger answers it.

    Args:
        context: the suite.
        cell: whose answers.
        judge: who is tried.
        bases: the most intact answers.
        material: whether the judge is shown the material that the arms were given: `with`, `without`, or both.
        min_accuracy_rate: the least accuracy that passes.
        probes: the degradations to try; none means all.

    Raises:
        InputError: the cell has no answers, or none that can be graded.
        UnknownNameError: no degradation has that name.
    """
    manifest = context.upstream(arm_answers.ASSET, cell.key)
    answered = [answer for answer in arm_answers.stored_answers(context, manifest) if answer.state == "answered" and answer.answer]
    candidates = intact_answers(answered)
    chosen = candidates[:bases]
    if not chosen:
        raise InputError(f"the cell {cell.key!r} has no answer in suite {context.suite_id!r} that could be graded.", field="--cell")
    tried, copies = _copies(chosen, answered, probes or degradations.names())
    conditions = CONDITIONS[material]
    grading = _Grading(
        questions={question.id: question for question in question_set.asked_questions(context, manifest).questions},
        texts=arm_answers.stored_texts(context, manifest),
    )
    judged = await _judged(context, judge, grading.tasks(chosen, copies, conditions))
    pairs = _pairs(chosen, copies, conditions, judged.judgements)
    validity = judge_validity(
        pairs,
        probes=tried,
        conditions=conditions,
        intact_answers=len(chosen),
        with_material=sum(bool(grading.material(base)) for base in chosen),
        min_accuracy_rate=min_accuracy_rate,
    )
    about = _about(context, cell, judge, manifest, stopped_message=judged.stopped_message)
    return TriedValidity(tried=about, validity=validity, pairs=tuple(pairs), calls=judged.calls, candidates=len(candidates))


class _Grading(NamedTuple):
    """What tasks are made of: the questions that were asked, and the stored texts by digest."""

    questions: Mapping[str, Question]
    texts: Mapping[str, str]

    def material(self, base: ArmAnswer) -> str:
        """Return the material that the answer's arm was given."""
        return self.texts.get(base.material_digest or "", "")

    def tasks(self, chosen: Sequence[ArmAnswer], copies: Sequence[_Copy], conditions: Sequence[Condition]) -> dict[_Graded, JudgeTask]:
        """Return the task of grading each intact answer and each copy in each condition."""
        texts: list[tuple[int, str | None, str]] = [(number, None, base.answer or "") for number, base in enumerate(chosen)]
        texts += [(copy.base, copy.probe, copy.degraded.text) for copy in copies]
        return {
            _Graded(condition, number, probe): self._task(chosen[number], text, condition)
            for condition in conditions
            for number, probe, text in texts
        }

    def _task(self, base: ArmAnswer, text: str, condition: Condition) -> JudgeTask:
        """Return a task like that of the stored score: for the intact answer with its material it is the same one."""
        shown = condition == "with"
        return judged_scores.judge_task(
            "0",  # says nothing: a judgement is known by its place
            self.questions[base.question_id],
            answer=text,
            draw=base.draw,
            material=self.material(base) if shown else "",
            material_digest=base.material_digest if shown else None,
        )


def intact_answers(answered: Iterable[ArmAnswer]) -> list[ArmAnswer]:
    """Return the answers that a judge may be tried with, one a question, in an order that a digest of the question ids gives.

    Of a question's answers one with material comes first, then the one whose text and place have the least digest. The order of answers,
    and what any judge gave them, change nothing.
    """
    first: dict[str, tuple[tuple[bool, int], ArmAnswer]] = {}
    for answer in answered:
        rank = (answer.material_digest in {None, EMPTY_TEXT_DIGEST}, _answer_place(answer))
        known = first.get(answer.question_id)
        if known is None or rank < known[0]:
            first[answer.question_id] = (rank, answer)
    return [answer for _, answer in sorted(first.values(), key=lambda ranked: _place(ranked[1].question_id))]


def _answer_place(answer: ArmAnswer) -> int:
    """Return where an answer stands among those to its question; arm and draw tell equal texts apart."""
    return derived_seed("judge validity answer", answer.question_id, text_digest(answer.answer or ""), answer.arm, str(answer.draw))


def _place(question_id: str) -> int:
    """Return where a question stands among others, whatever others there are."""
    return derived_seed("judge validity", question_id)


def _names(answered: Sequence[ArmAnswer]) -> tuple[Name, ...]:
    """Return the names in the cell's answers to the questions that come first, for one to be taken for another.

    Of the answers that are chosen alone it would depend on how many those are, and with it every degraded copy.
    """
    first = set(sorted({answer.question_id for answer in answered}, key=_place)[:NAMED_QUESTIONS])
    return names_of(dict.fromkeys(answer.answer or "" for answer in answered if answer.question_id in first))


def _copies(chosen: Sequence[ArmAnswer], answered: Sequence[ArmAnswer], names: Sequence[str]) -> tuple[list[Probe], list[_Copy]]:
    """Return the probes, each with how many answers it could not degrade, and the degraded copies."""
    other_names = _names(answered)
    probes, copies = [], []
    for name in names:
        kind = degradations.get(name)()
        made = [(number, degraded_answer(name, base.answer or "", names=other_names)) for number, base in enumerate(chosen)]
        copies += [_Copy(number, name, degraded) for number, degraded in made if degraded is not None]
        lacking = sum(degraded is None for _, degraded in made)
        probes.append(Probe(name=name, what=kind.what, is_worse=kind.is_worse, lack=kind.lack, lacking=lacking))
    return probes, copies


class _Judged(NamedTuple):
    judgements: Mapping[_Graded, Judgement]
    stopped_message: str | None
    calls: CallCounts


async def _judged(context: SuiteContext, judge: JudgeCell, tasks: Mapping[_Graded, JudgeTask]) -> _Judged:
    context.claim_key(judge)
    async with context.open_desk(judge.endpoint) as desk:
        await judged_scores.probe_judge(judge, desk)
        meter = ProgressMeter(f"validity {judge.id}", len(tasks), context.clock, context.on_progress, tally=desk.tally)
        done = await judge_all(
            list(tasks.values()),
            judge=judge_kinds.get(judge.settings.kind)(judge.settings, asker=desk),
            concurrency=context.project.endpoint(judge.endpoint).limits.workers,
            meter=meter,
        )
        calls = desk.tally.counts()
    return _Judged(dict(zip(tasks, done.judgements, strict=True)), None if done.stopped is None else str(done.stopped), calls)


def _pairs(
    chosen: Sequence[ArmAnswer], copies: Sequence[_Copy], conditions: Sequence[Condition], judgements: Mapping[_Graded, Judgement]
) -> list[ProbedPair]:
    pairs = []
    for condition in conditions:
        for copy in copies:
            base = chosen[copy.base]
            intact, degraded = judgements[_Graded(condition, copy.base, None)], judgements[_Graded(condition, copy.base, copy.probe)]
            pairs.append(
                ProbedPair(
                    question_id=base.question_id,
                    arm=base.arm,
                    draw=base.draw,
                    probe=copy.probe,
                    condition=condition,
                    change=copy.degraded.change,
                    intact_points=intact.points,
                    intact_reason=intact.reason,
                    degraded_points=degraded.points,
                    degraded_reason=degraded.reason,
                    intact_chars=len(base.answer or ""),
                    degraded_chars=len(copy.degraded.text),
                )
            )
    return pairs


def _about(context: SuiteContext, cell: Cell, judge: JudgeCell, answers: ArtifactManifest, *, stopped_message: str | None) -> TriedJudge:
    return TriedJudge(
        project=context.project.settings.project,
        suite=context.suite_id,
        cell_key=cell.key,
        cell_label=cell.label,
        judge_id=judge.id,
        judge_key=judge.key,
        judge_kind=judge.settings.kind,
        judge_model=judge_model_stamp(judge.settings.model, judge.roles),
        judges_itself=same_model(judge.settings.model, cell.model),
        answers_version=answers.data_version,
        tried_at=context.clock.now(),
        stopped_message=stopped_message,
    )
