"""A large artifact, written and read: Parquet tables of answers, scores and texts, the summary, arms.v1, and the reports.

10,000 questions with an answer (which keeps five retrieved chunks) and a rubric judgement each. Writing and reading are processes of their
own, whose peak memory counts all that they load: `python -m benchmarks.large_artifact write|read FOLDER QUESTIONS ARM...`. Time is compared
with half as many questions. The same questions under two arms, which is twice as many rows, are told without a bound.
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
STEPS = ("write", "read")
ONE_ARM, TWO_ARMS = ("docs",), ("docs", "baseline")
SPECS = {"docs": "docs:local:docs", "baseline": "baseline"}
PASSAGE = "The pipeline waits between tries, doubles the wait up to a limit, and records each failure with its code and its time of day. "

PROJECT_FILE = """\
version: 1
project: large
endpoints:
  offline: {{provider: offline}}
cells:
  cell: {{model: extractive, endpoint: offline}}
judges:
  judge: {{kind: overlap, model: overlap, endpoint: offline}}
products:
  bench: {{}}
suites:
  bench:
    product: bench
    questions: questions.jsonl
    arms: [{arms}]
    baseline_arm: docs
    cells: [cell]
    judges: [judge]
"""


def figures(workload: Workload) -> list[Figure]:
    """Return the peak memory of writing and of reading, and the ratio of both times to those of half as many questions."""
    questions = workload.size.large_questions
    whole, half = _written_and_read(workload, questions, ONE_ARM), _written_and_read(workload, questions // 2, ONE_ARM)
    two_arms = _written_and_read(workload, questions, TWO_ARMS)
    seconds, half_seconds = (sum(run.cpu_seconds for run in runs.values()) for runs in (whole, half))
    name = f"{questions:,} questions"
    detail = f"{seconds:.1f} CPU s against {half_seconds:.1f}, of both processes"
    return [
        *(Figure(f"{name}, {step}, peak memory", whole[step].peak_mib, "MiB", ALLOWED_PEAK_MIB, _took(whole[step])) for step in STEPS),
        Figure(f"{name}, time to half as many", seconds / half_seconds, "x", ALLOWED_TIME_RATIO, detail),
        *(Figure(f"{name} x 2 arms, {step}, peak memory", two_arms[step].peak_mib, "MiB", None, _took(two_arms[step])) for step in STEPS),
    ]


def _took(run: Measured) -> str:
    return f"in {run.wall_seconds:.1f} s, {run.cpu_seconds:.1f} CPU s"


def _written_and_read(workload: Workload, questions: int, arms: Sequence[str]) -> dict[str, Measured]:
    folder = workload.folder / f"large-{questions}-{len(arms)}"
    command = (sys.executable, "-m", "benchmarks.large_artifact")
    return {step: measured((*command, step, str(folder), str(questions), *arms), bytecode=workload.bytecode) for step in STEPS}


def main() -> None:
    """Write or read the artifacts of one folder."""
    step, folder, questions, *arms = sys.argv[1:]
    {"write": write, "read": read}[step](Path(folder), int(questions), arms)


def write(folder: Path, questions: int, arms: Sequence[str]) -> None:
    """Store answers and scores as their stages do, row after row, then run the stages that summarise and report them."""
    _write_project(folder, questions, arms)
    rows = questions * len(arms)
    with OpenedProject(load_project(folder / "evalplatform.yaml")) as opened:
        context = opened.suite_context(SUITE)
        cell, judge = context.project.cell("cell"), context.project.judge("judge")
        lineage = (materialize_question_set(context).manifest, materialize_corpus(context).manifest)
        texts = {text_digest(text): text for text in ("", *map(_passage, range(1, questions // 10)))}
        made_up = {"made_up": str(questions), "draws": "1"}
        answered = stored_result(
            context,
            StageKey(context.artifact(arm_answers.ASSET, cell.key), made_up, code_version="1", lineage=lineage),
            files={
                arm_answers.ANSWERS_FILE: ANSWERS.write(_answers(questions, arms, list(texts))),
                arm_answers.TIMINGS_FILE: TIMINGS.write(_timings(questions, arms)),
                arm_answers.TEXTS_FILE: texts_table(texts),
            },
            facts=as_facts(_answer_facts(cell, questions, arms)),
        )
        del texts
        partition = judged_scores.partition(cell.key, judge.key)
        stored_result(
            context,
            StageKey(context.artifact(judged_scores.ASSET, partition), made_up, code_version="1", lineage=(answered.manifest,)),
            files={judged_scores.SCORES_FILE: SCORES.write(_scores(questions, arms))},
            facts=as_facts(ScoreFacts(judge=judge, rows=rows, scored=rows, calls=CallCounts(), complete=True)),
        )
        materialize_arm_summary(context, cell, judge)
        materialize_arms_report(context, cell, judge)


def read(folder: Path, questions: int, arms: Sequence[str]) -> None:
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
    if {*rows, len(stored.answers), len(stored.scores)} != {questions * len(arms)}:
        raise RuntimeError("not every row came back")


def _write_project(folder: Path, questions: int, arms: Sequence[str]) -> None:
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "retries.md").write_text(f"# Retries\n\n{PASSAGE}\n")
    specs = ", ".join(f'"{SPECS[arm]}"' for arm in arms)
    (folder / "evalplatform.yaml").write_text(PROJECT_FILE.format(arms=specs))
    with (folder / "questions.jsonl").open("w") as lines:
        for number in range(questions):
            question = {"id": _id(number), "question": f"How does step {number} retry after code {number % 13}?", "category": "operations"}
            lines.write(json.dumps(question) + "\n")


def _id(number: int) -> str:
    return f"q{number:05d}"


def _passage(number: int) -> str:
    return f"Passage {number}. {PASSAGE * 5}"


def _answers(questions: int, arms: Sequence[str], materials: Sequence[str]) -> Iterator[ArmAnswer]:
    empty = text_digest("")
    for number in range(questions):
        for arm in arms:
            treated = arm == "docs"
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


def _timings(questions: int, arms: Sequence[str]) -> Iterator[CallTiming]:
    for number in range(questions):
        for arm in arms:
            yield CallTiming(
                question_id=_id(number),
                arm=arm,
                draw=0,
                latency_seconds=0.4 + number % 7 / 10,
                time_to_first_token_seconds=None,
                replayed=False,
            )


def _scores(questions: int, arms: Sequence[str]) -> Iterator[JudgedScore]:
    for number in range(questions):
        for index, arm in enumerate(arms):
            points = float((number * 37 + index * 11) % 101)
            judgement = Judgement(
                task_id=str(len(arms) * number + index),
                points=points,
                dimensions=dict.fromkeys(WEIGHTS, points),
                raw_reply=json.dumps({**dict.fromkeys(WEIGHTS, points), "aggregate": points, "numeric_claims": [], "reasoning": PASSAGE}),
                material_digest=text_digest(""),
                usage=Usage(prompt_tokens=900, completion_tokens=80, cache_read_tokens=0, reasoning_tokens=0),
                cost_usd=0.0009,
                calls=1,
            )
            yield JudgedScore(question_id=_id(number), arm=arm, judgement=judgement)


def _answer_facts(cell: Cell, questions: int, arms: Sequence[str]) -> AnswerFacts:
    rows = questions * len(arms)
    return AnswerFacts(
        arms=tuple(Arm(name=arm, spec=SPECS[arm]) for arm in arms),
        cell=cell,
        rows=rows,
        states={"answered": rows},
        calls=CallCounts(),
        price_table="project",
        complete=True,
    )


if __name__ == "__main__":
    main()
