"""Stored answers of arms.v1 files as judges are given them again: the same question, answer, reference and material, or a refusal."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalplatform.answering.records import ArmAnswer
from evalplatform.comparisons.comparability import differing_factors, refusals_among
from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.cross_judge import refuse_nothing_to_compare
from evalplatform.comparisons.cross_judge_records import Measure
from evalplatform.comparisons.question_scores import QuestionScores, question_scores
from evalplatform.comparisons.records import PlacedPoints, ScorePoints
from evalplatform.comparisons.refusals import ComparisonKind, FactorDiffers, MaterialNotStored, Refusal, Refused, RunSays
from evalplatform.judging.records import JudgeTask
from evalplatform.kernel.digests import EMPTY_TEXT_DIGEST, json_digest, text_digest
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.text import plural
from evalplatform.questions.records import Question
from evalplatform.reports.arms_v1 import STORED_MATERIAL
from evalplatform.reports.arms_v1_file import ArmsV1, read_arms_v1
from evalplatform.reports.compared_run_file import read_compared_run
from evalplatform.stages.judged_scores import judge_task

COMPARISON: ComparisonKind = "cross_judge"
OF_EACH_FILE = frozenset({"judge_context", "grounded_from_topics"})
"""The factors of what a judge was given, which files of the same answers may differ in: each file's scores are asked by themselves."""

JUDGED_NOW = "judging it again now"
_PANEL_STAMP = "panel["


@dataclass(frozen=True)
class FileRun:
    """A run that one or more arms.v1 files hold: the same answers in each, perhaps judged by others.

    `compared` is each file as comparisons see it, `answers_digest` what a judge would be given.
    """

    name: str
    files: tuple[ArmsV1, ...]
    compared: tuple[ComparedRun, ...]
    answers_digest: str

    @property
    def first(self) -> ArmsV1:
        """The file that answers and questions are taken from."""
        return self.files[0]

    @property
    def answers(self) -> tuple[ArmAnswer, ...]:
        """The answers, question by question."""
        return self.first.answers

    @property
    def materials(self) -> dict[str, str]:
        """The texts that judges may see by digest, of all the files; empty material needs no text."""
        return {EMPTY_TEXT_DIGEST: "", **{digest: text for file in self.files for digest, text in file.materials.items()}}


@dataclass(frozen=True)
class FileRuns:
    """Runs in the order of their files, what was skipped in these, and why the runs cannot be judged again; None where they can."""

    runs: tuple[FileRun, ...]
    warnings: tuple[str, ...]
    refused: Refused | None


def read_file_runs(paths: Sequence[Path]) -> FileRuns:
    """Read arms.v1 files, those that hold the same answers together.

    They are refused where material is held by no file, and where files of the same answers differ in what a judge did not make; every
    reason is named.

    Raises:
        InputError: a file cannot be read, is named twice, asks a question without a text, or has no arm beside the baseline.
    """
    if (twice := next((path for path, times in Counter(paths).items() if times > 1), None)) is not None:
        raise InputError("is named twice.", file=twice)
    names = _names(paths)
    grouped: dict[str, list[tuple[ArmsV1, ComparedRun]]] = {}
    for path, name in zip(paths, names, strict=True):
        file = read_arms_v1(path)
        refuse_nothing_to_compare(file.arms, file.baseline_arm, source=file.source)
        _refuse_empty_questions(file)
        grouped.setdefault(_answers_digest(file), []).append((file, read_compared_run(path, name=name)))
    runs = [
        FileRun(
            name=members[0][1].name,
            files=tuple(file for file, _ in members),
            compared=tuple(compared for _, compared in members),
            answers_digest=digest,
        )
        for digest, members in grouped.items()
    ]
    refusals = tuple(refusal for run in runs for refusal in (*_differences(run), *_without_material(run)))
    return FileRuns(
        runs=tuple(runs),
        warnings=tuple(warning for run in runs for file in run.files for warning in file.warnings),
        refused=Refused(comparison=COMPARISON, runs=tuple(names), refusals=refusals) if refusals else None,
    )


def file_tasks(run: FileRun) -> list[JudgeTask]:
    """Return one task an answer, in order, as the judge of the file was given it. What names the arm stays behind."""
    questions = {
        question.id: Question(id=question.id, question=question.question, ground_truth_chunk=question.ground_truth_chunk)
        for question in run.first.questions
    }
    materials = run.materials
    return [
        judge_task(
            str(number),
            questions[answer.question_id],
            answer=answer.answer,
            missing_reason=answer.reason,
            draw=answer.draw,
            material=materials.get(answer.material_digest or "", ""),
            material_digest=answer.material_digest,
        )
        for number, answer in enumerate(run.answers)
    ]


def stored_measures(run: FileRun) -> list[Measure]:
    """Return the scores that the run's files hold, a measure each.

    One whose judge was shown other material than a judge is shown now is left out of what is compared. So are scores from before there was
    a stamp: what their judge was shown, nobody can tell. And so are scores against references that the file does not hold, such as
    expected topics: a judge now has nothing to grade against.
    """
    judged = [(file, compared) for file, compared in zip(run.files, run.compared, strict=True) if file.is_judged]
    times = Counter(file.judge_model for file, _ in judged)
    measures = []
    for file, compared in judged:
        model = file.judge_model or ""  # a judged file that names no judge is not read
        tables = file_points(run, [ScorePoints(row.question_id, row.arm, 0, row.points, row.reason) for row in file.scores])
        measures.append(
            Measure(
                name=f"{model} (stored)" if times[model] == 1 else f"{model} (stored in {compared.name})",
                judge=underlying_model(model),
                is_stored=True,
                judge_model=model,
                judge_provider=file.judge_provider or "",
                judge_temperature=file.judge_temperature,
                judge_prompt_digest=file.judge_prompt_digest,
                judge_context=file.judge_context,
                points={arm: table.points for arm, table in tables.items()},
                unscored_reasons={arm: table.unscored_reasons for arm, table in tables.items()},
                left_out=(*refusals_among(COMPARISON, [compared, _judged_now(compared)]), *_references_not_held(file, compared)),
            )
        )
    return measures


def file_points(run: FileRun, rows: Sequence[PlacedPoints]) -> dict[str, QuestionScores]:
    """Return the points of the file's one draw by arm and question."""
    return question_scores(rows, arms=run.first.arms, question_ids=[question.id for question in run.first.questions], draws=1)


def underlying_model(stamp: str) -> str:
    """Return the model behind a judge's stamp: `gpt-4o` of `panel[a+b]:gpt-4o`, which is one model in several roles."""
    return stamp.partition("]:")[2] if stamp.startswith(_PANEL_STAMP) and "]:" in stamp else stamp


def _names(paths: Sequence[Path]) -> list[str]:
    """Return what reports call the files: their names without the ending, or the whole path where two would share one."""
    stems = Counter(path.stem for path in paths)
    return [path.stem if stems[path.stem] == 1 else str(path) for path in paths]


def _answers_digest(file: ArmsV1) -> str:
    """Return the digest of all that a judge would be given of the file, question by question and arm by arm."""
    questions = [[question.id, text_digest(question.question), _digest(question.ground_truth_chunk)] for question in file.questions]
    answers = [[answer.question_id, answer.arm, _digest(answer.answer), answer.material_digest] for answer in file.answers]
    return json_digest([file.draw, questions, answers])


def _digest(text: str | None) -> str | None:
    return None if text is None else text_digest(text)


def _differences(run: FileRun) -> list[Refusal]:
    """Return what files of the same answers differ in, beside their judges; what their judges were shown is asked of each by itself."""
    return [refusal for refusal in differing_factors(COMPARISON, run.compared) if refusal.factor not in OF_EACH_FILE]


def _without_material(run: FileRun) -> list[Refusal]:
    materials = run.materials
    missing = Counter(answer.arm for answer in run.answers if answer.answer is not None and answer.material_digest not in materials)
    return [MaterialNotStored(run=run.first.source, arm=arm, questions=missing[arm]) for arm in run.first.arms if missing[arm]]


def _judged_now(compared: ComparedRun) -> ComparedRun:
    return replace(compared, name=JUDGED_NOW, identity=compared.identity.with_changes(judge_context=STORED_MATERIAL))


def _references_not_held(file: ArmsV1, compared: ComparedRun) -> Iterator[FactorDiffers]:
    """Yield a refusal where the file's scores were given against references, and the file does not hold all of them."""
    held = {question.id for question in file.questions if (question.ground_truth_chunk or "").strip()}
    lacking = {row.question_id for row in file.scores if row.judgement.grounded and row.question_id not in held}
    if lacking:
        says = f"{plural(len(lacking), 'question')} had a reference that the file does not hold"
    elif compared.identity.grounded_from_topics and not held:
        says = "the judge was given expected topics, which the file does not hold"
    else:
        return
    sides = (RunSays(run=compared.name, says=says), RunSays(run=JUDGED_NOW, says="there is none"))
    yield FactorDiffers(factor="references", words="references to grade against", sides=sides)


def _refuse_empty_questions(file: ArmsV1) -> None:
    for place, question in enumerate(file.questions):
        if not question.question.strip():
            raise InputError("is empty; a judge has to be told the question.", file=file.source, field=f"answers.{place}.question_text")
