"""A large artifact, written and read: Parquet tables of answers, scores and texts, the summary, arms.v1, and the reports.

10,000 questions under two arms, one of them with five retrieved chunks an answer. Each half is a process of its own, whose peak memory
counts all that it loads: `python -m benchmarks.large_artifact write|read FOLDER QUESTIONS`. Time is compared with half as many questions.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.request import url2pathname

from benchmarks.figures import Figure
from benchmarks.processes import Measured, measured
from benchmarks.workload import SUITE, Workload
from evalplatform.answering.records import ArmAnswer, CallTiming, ContextChunk
from evalplatform.arms.treatment import Arm
from evalplatform.artifacts.catalog import file_key
from evalplatform.calls.counts import CallCounts
from evalplatform.comparisons.records import JudgedScore
from evalplatform.judging.kinds.rubric import WEIGHTS
from evalplatform.judging.records import Judgement
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.usage import Usage
from evalplatform.project.cells import Cell
from evalplatform.project.load import load_project
from evalplatform.reports.arms_v1_file import read_arms_v1
from evalplatform.stages import arm_answers, arms_report, judged_scores
from evalplatform.stages.arm_summary import materialize_arm_summary
from evalplatform.stages.arms_report import materialize_arms_report
from evalplatform.stages.context import StageKey, stored_result
from evalplatform.stages.corpus import materialize_corpus
from evalplatform.stages.facts import AnswerFacts, ScoreFacts, as_facts
from evalplatform.stages.question_set import materialize_question_set
from evalplatform.stages.tables import ANSWERS, SCORES, TIMINGS, texts_table
from evalplatform.wiring import OpenedProject

ALLOWED_PEAK_MIB = 300.0
ALLOWED_TIME_RATIO = 2.3
HALVES = ("write", "read")
ARMS = ("baseline", "docs")
PASSAGE = "The pipeline waits between tries, doubles the wait up to a limit, and records each failure with its code and its time of day. "

PROJECT_FILE = """\
version: 1
project: large
endpoints:
  offline: {provider: offline}
cells:
  cell: {model: extractive, endpoint: offline}
judges:
  judge: {kind: overlap, model: overlap, endpoint: offline}
products:
  bench: {}
suites:
  bench:
    product: bench
    questions: questions.jsonl
    arms: [baseline, "docs:local:docs"]
    cells: [cell]
    judges: [judge]
"""


def figures(workload: Workload) -> list[Figure]:
    """Return the peak memory of writing and of reading, and the ratio of both times to those of half as many questions."""
    size = workload.size
    runs = {count: _written_and_read(workload, count) for count in (size.large_questions // 2, size.large_questions)}
    half, whole = runs.values()
    seconds = {count: sum(run.cpu_seconds for run in runs[count].values()) for count in runs}
    return [
        *(
            Figure(
                f"{count_words(size.large_questions)}, {name}, peak memory",
                whole[name].peak_mib,
                "MiB",
                ALLOWED_PEAK_MIB,
                f"{whole[name].wall_seconds:.1f} s, {whole[name].cpu_seconds:.1f} CPU s; half as many: {half[name].peak_mib:.0f} MiB",
            )
            for name in HALVES
        ),
        Figure(
            f"{count_words(size.large_questions)}, time to half as many",
            seconds[size.large_questions] / seconds[size.large_questions // 2],
            "x",
            ALLOWED_TIME_RATIO,
            "CPU seconds of both processes",
        ),
    ]


def count_words(questions: int) -> str:
    """Return how a figure names its size."""
    return f"{questions:,} questions"


def _written_and_read(workload: Workload, questions: int) -> dict[str, Measured]:
    folder = workload.folder / f"large-{questions}"
    command = (sys.executable, "-m", "benchmarks.large_artifact")
    return {half: measured((*command, half, str(folder), str(questions)), bytecode=workload.bytecode) for half in HALVES}


def main() -> None:
    """Write or read the artifacts of one folder."""
    half, folder, questions = sys.argv[1:]
    {"write": write, "read": read}[half](Path(folder), int(questions))


def write(folder: Path, questions: int) -> None:
    """Store answers and scores as their stages do, row after row, then run the stages that summarise and report them."""
    _write_project(folder, questions)
    with OpenedProject(load_project(folder / "evalplatform.yaml")) as opened:
        context = opened.suite_context(SUITE)
        cell, judge = context.project.cell("cell"), context.project.judge("judge")
        materialize_question_set(context)
        materialize_corpus(context)
        texts = {text_digest(text): text for text in ("", *map(_passage, range(1, questions // 10)))}
        answers = StageKey(context.artifact(arm_answers.ASSET, cell.key), inputs={"made_up": str(questions)}, code_version="1")
        stored_result(
            context,
            answers,
            files={
                arm_answers.ANSWERS_FILE: ANSWERS.write(_answers(questions, list(texts))),
                arm_answers.TIMINGS_FILE: TIMINGS.write(_timings(questions)),
                arm_answers.TEXTS_FILE: texts_table(texts),
            },
            facts=as_facts(_answer_facts(cell, questions)),
        )
        del texts
        scores = StageKey(context.artifact(judged_scores.ASSET, judged_scores.partition(cell.key, judge.key)), answers.inputs, "1")
        stored_result(
            context,
            scores,
            files={judged_scores.SCORES_FILE: SCORES.write(_scores(questions))},
            facts=as_facts(ScoreFacts(judge=judge, rows=2 * questions, scored=2 * questions, calls=CallCounts(), complete=True)),
        )
        materialize_arm_summary(context, cell, judge)
        materialize_arms_report(context, cell, judge)


def read(folder: Path, questions: int) -> None:
    """Read every table of the artifacts, row after row, and the arms.v1 file as a whole."""
    with OpenedProject(load_project(folder / "evalplatform.yaml")) as opened:
        context = opened.suite_context(SUITE)
        cell, judge = context.project.cell("cell"), context.project.judge("judge")
        partition = judged_scores.partition(cell.key, judge.key)
        answers, scores = context.upstream(arm_answers.ASSET, cell.key), context.upstream(judged_scores.ASSET, partition)
        rows = (
            len(arm_answers.stored_answers(context, answers)),
            len(arm_answers.stored_timings(context, answers)),
            len(judged_scores.stored_scores(context, scores)),
        )
        arm_answers.stored_texts(context, answers)
        report = context.upstream(arms_report.ASSET, partition)
        for file in report.files:
            context.catalog.read(report, file)  # digest-checked
        path = Path(url2pathname(opened.store.url.removeprefix("file://"))) / file_key(report, "arms.json")
        stored = read_arms_v1(path)
    if {*rows, len(stored.answers), len(stored.scores)} != {2 * questions}:
        raise RuntimeError("not every row came back")


def _write_project(folder: Path, questions: int) -> None:
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "retries.md").write_text(f"# Retries\n\n{PASSAGE}\n")
    (folder / "evalplatform.yaml").write_text(PROJECT_FILE)
    with (folder / "questions.jsonl").open("w") as lines:
        for number in range(questions):
            question = {"id": _id(number), "question": f"How does step {number} retry after code {number % 13}?", "category": "operations"}
            lines.write(json.dumps(question) + "\n")


def _id(number: int) -> str:
    return f"q{number:05d}"


def _passage(number: int) -> str:
    return f"Passage {number}. {PASSAGE * 5}"


def _answers(questions: int, materials: Sequence[str]) -> Iterator[ArmAnswer]:
    empty = text_digest("")
    for number in range(questions):
        for arm in ARMS:
            treated = arm != ARMS[0]
            material = materials[number % len(materials)] if treated else empty
            yield ArmAnswer(
                question_id=_id(number),
                arm=arm,
                draw=0,
                state="answered",
                answer=f"Step {number}: {PASSAGE * 3}",
                request_digest=text_digest(f"{arm} {number}"),
                material_digest=material,
                context_digest=material,
                context_chunks=_chunks(number) if treated else (),
                usage=Usage(prompt_tokens=400 + number % 50, completion_tokens=90, cache_read_tokens=0, reasoning_tokens=0),
                cost_usd=0.0004,
                calls=1,
                metadata={"arm_kind": arm, "chunks_retrieved": 5, "chunks_kept": 5} if treated else {"arm_kind": arm},
            )


def _chunks(number: int) -> tuple[ContextChunk, ...]:
    return tuple(
        ContextChunk(source=f"retries-{index}.md", snippet=_passage(number + index)[:200] + "…", relevance_score=1 / (1 + index))
        for index in range(5)
    )


def _timings(questions: int) -> Iterator[CallTiming]:
    for number in range(questions):
        for arm in ARMS:
            yield CallTiming(
                question_id=_id(number),
                arm=arm,
                draw=0,
                latency_seconds=0.4 + number % 7 / 10,
                time_to_first_token_seconds=None,
                replayed=False,
            )


def _scores(questions: int) -> Iterator[JudgedScore]:
    for number in range(questions):
        for index, arm in enumerate(ARMS):
            points = float((number * 37 + index * 11) % 101)
            judgement = Judgement(
                task_id=str(2 * number + index),
                points=points,
                dimensions=dict.fromkeys(WEIGHTS, points),
                raw_reply=json.dumps({**dict.fromkeys(WEIGHTS, points), "aggregate": points, "numeric_claims": [], "reasoning": PASSAGE}),
                material_digest=text_digest(""),
                usage=Usage(prompt_tokens=900, completion_tokens=80, cache_read_tokens=0, reasoning_tokens=0),
                cost_usd=0.0009,
                calls=1,
            )
            yield JudgedScore(question_id=_id(number), arm=arm, judgement=judgement)


def _answer_facts(cell: Cell, questions: int) -> AnswerFacts:
    return AnswerFacts(
        arms=(Arm(name="baseline", spec="baseline"), Arm(name="docs", spec="docs:local:docs")),
        cell=cell,
        rows=2 * questions,
        states={"answered": 2 * questions},
        calls=CallCounts(),
        price_table="project",
        complete=True,
    )


if __name__ == "__main__":
    main()
