"""Writing arms.v1 files whole or not at all, reading those of any tool, and computing a file's numbers again."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from pydantic import Field, JsonValue
from pydantic_core import from_json

from evalplatform.answering.records import ArmAnswer, CallTiming
from evalplatform.comparisons.arm_summary import QuestionClusters, summarise_arms
from evalplatform.comparisons.records import ArmSummary, JudgedScore
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.kernel.values import Value
from evalplatform.reports.arms_v1_blocks import cost_summary_block, retrieval_summary_block, summary_block
from evalplatform.reports.arms_v1_consistency import consistency_warnings
from evalplatform.reports.arms_v1_rows import Records, answer_row, score_row, timing_row
from evalplatform.reports.arms_v1_wire import JsonObject, WireAnswer, WireEvaluation, WireFile, checked
from evalplatform.stats.multiplicity import Correction

REJECTED_SUFFIX = ".rejected"
_STREAMED_LISTS = ("answers", "evaluations")
_JSON_ERROR = re.compile(r"(?P<what>.*) at line (?P<line>\d+) column (?P<column>\d+)")
_NO_JSON_NUMBER = re.compile(rb".?(NaN|Infinity)", re.DOTALL)

Payload = Mapping[str, JsonValue | Records]
"""An arms.v1 object, its long lists perhaps made as they are read."""


class ArmsV1Question(Value):
    """A question as an arms.v1 file holds it. `ground_truth_chunk` is the reference that its judge was given."""

    id: str
    question: str
    category: str | None = None
    difficulty: str | int | float | None = None
    required_documents: tuple[str, ...] = ()
    cluster: str | None = None
    ground_truth_chunk: str | None = None


class ArmsV1(Value):
    """An arms.v1 file, read: its stamps, and its answers, scores and timings as rows of one draw.

    `plugins` holds the stamps as the file states them: what another tool stamps is open. `summary`, `cost_summary` and `retrieval_summary`
    are the blocks as the file states them; `recomputed_summary` and its like compute them again. `materials` holds the judge materials
    whose text has its digest. `warnings` says in one sentence each what was skipped, and which parts do not fit each other.
    """

    source: str
    generated_at: str | None
    library_name: str | None
    model: str | None
    provider: str | None
    harness: str | None
    plugin_set: str
    plugin_set_id: str
    plugins: tuple[dict[str, JsonValue], ...]
    arms: tuple[str, ...]
    baseline_arm: str
    total_questions: int
    run_config: dict[str, JsonValue]
    questions: tuple[ArmsV1Question, ...]
    answers: tuple[ArmAnswer, ...]
    timings: tuple[CallTiming, ...]
    scores: tuple[JudgedScore, ...]
    is_judged: bool
    materials: dict[str, str] = Field(default_factory=dict)
    judge_context: str | None = None
    judge_model: str | None = None
    judge_provider: str | None = None
    judge_temperature: float | None = None
    judge_prompt_digest: str | None = None
    question_set_digest: str | None = None
    cluster_field: str | None = None
    arm_specs: dict[str, str] = Field(default_factory=dict)
    draw: int = 0
    summary: dict[str, JsonValue] = Field(default_factory=dict)
    cost_summary: dict[str, JsonValue] = Field(default_factory=dict)
    retrieval_summary: dict[str, JsonValue] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def write_arms_v1(path: Path, payload: Payload) -> Path:
    """Write the artifact: checked first, then whole by an atomic rename, as ASCII JSON with an indent of 2.

    Returns:
        `path`. A `NAME.rejected` beside it, from an earlier failure, is removed.

    Raises:
        InputError: the payload is not a valid arms.v1 object. It is then kept as `NAME.rejected`, since it was paid for, and a file already
            at `path` stays as it is.
    """
    rejected = path.with_name(path.name + REJECTED_SUFFIX)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        _check(payload, path)
        _replace(path, lambda stream: _stream(payload, stream, path))
    except InputError as error:
        _replace(rejected, lambda stream: json.dump(payload, stream, indent=2, default=_kept_as))
        raise InputError(f"{error} Kept as {rejected}.") from error
    rejected.unlink(missing_ok=True)
    return path


def arms_v1_bytes(payload: Payload) -> bytes:
    """Return the artifact as `write_arms_v1` would write it.

    Raises:
        InputError: the payload is not a valid arms.v1 object.
    """
    path = Path("arms.json")
    _check(payload, path)
    content = BytesIO()
    with TextIOWrapper(content, encoding="ascii", newline="\n") as text:
        _stream(payload, text, path)
        text.flush()
        return content.getvalue()


def read_arms_v1(path: str | Path) -> ArmsV1:
    """Read an arms.v1 file of this platform or of another tool.

    Keys it does not know are passed over. Question ids become text. A judge material whose text does not have its digest is skipped with
    a warning.

    Raises:
        InputError: no such file, not JSON (NaN and infinities are not), or a part that is not as the format requires; it names file, field
            and rule.
    """
    path = Path(path)
    head = checked(WireFile, loaded_json(path), file=path)
    questions: list[ArmsV1Question] = []
    answers: list[ArmAnswer] = []
    timings: list[CallTiming] = []
    for record in _answers(_drained(head.answers), head.arms, path):
        questions.append(
            ArmsV1Question(
                id=record.question_id,
                question=record.question_text,
                category=record.category,
                difficulty=record.difficulty,
                required_documents=record.required_documents,
                cluster=record.cluster,
                ground_truth_chunk=record.ground_truth_chunk,
            )
        )
        for arm, wire in record.arms.items():
            answers.append(answer_row(wire, question_id=record.question_id, arm=arm, draw=head.draw))
            timings.append(timing_row(wire, question_id=record.question_id, arm=arm, draw=head.draw))
    reasons = {(answer.question_id, answer.arm): answer.reason for answer in answers}
    texts = {question.id: question.question for question in questions}
    scores: list[JudgedScore] = []
    evaluated_texts: dict[str, str] = {}
    for judged in _evaluations(_drained(head.evaluations or []), head.arms, texts.keys(), path):
        if judged.question_text is not None:
            evaluated_texts[judged.question_id] = judged.question_text
        for arm, score in judged.scores.items():
            missing = reasons.get((judged.question_id, arm))
            scores.append(score_row(score, question_id=judged.question_id, arm=arm, draw=head.draw, missing_reason=missing))
    materials = {digest: text for digest, text in head.judge_materials.items() if text_digest(text) == digest}
    return ArmsV1(
        source=str(path),
        generated_at=head.generated_at,
        library_name=head.library_name,
        model=head.model,
        provider=head.provider,
        harness=head.harness,
        plugin_set=head.plugin_set,
        plugin_set_id=head.plugin_set_id,
        plugins=head.plugins,
        arms=head.arms,
        baseline_arm=head.baseline_arm,
        total_questions=len(questions) if head.total_questions is None else head.total_questions,
        run_config=head.run_config,
        questions=tuple(questions),
        answers=tuple(answers),
        timings=tuple(timings),
        scores=tuple(scores),
        is_judged=head.evaluations is not None,
        materials=materials,
        judge_context=head.judge_context,
        judge_model=head.judge_model,
        judge_provider=head.judge_provider,
        judge_temperature=head.judge_temperature,
        judge_prompt_digest=head.judge_prompt_sha256,
        question_set_digest=head.question_set_hash,
        cluster_field=head.cluster_field,
        arm_specs=head.arm_specs,
        draw=head.draw,
        summary=head.summary,
        cost_summary=head.cost_summary,
        retrieval_summary=head.retrieval_summary,
        warnings=(
            *(
                f"{path}: judge material {digest} does not have that digest and is skipped."
                for digest in head.judge_materials
                if digest not in materials
            ),
            *consistency_warnings(str(path), answers=answers, scores=scores, answered_texts=texts, evaluated_texts=evaluated_texts),
        ),
    )


def summary_of(file: ArmsV1, *, correction: Correction | None = None) -> ArmSummary:
    """Return the summary of a file's rows, by the same code as for a new run.

    Args:
        file: the file as read.
        correction: `holm` or `bh`; None takes the one that the file's own summary states, else `holm`.

    Raises:
        UnknownNameError: the baseline arm is not an arm of the file.
        InputError: the file clusters its questions, and one has no cluster.
    """
    return summarise_arms(
        arms=file.arms,
        baseline_arm=file.baseline_arm,
        question_ids=[question.id for question in file.questions],
        answers=file.answers,
        scores=[row.model_copy(update={"draw": 0}) for row in file.scores],  # the file's one draw is all there is
        timings=file.timings,
        correction=correction or _stated_correction(file.summary),
        specs=file.arm_specs,
        clusters=_clusters(file),
        required_documents={question.id: frozenset(question.required_documents) for question in file.questions},
    )


def recomputed_summary(file: ArmsV1) -> JsonObject:
    """Return the `summary` block that the file's scores give, rounded as the format says."""
    return summary_block(summary_of(file))


def recomputed_cost_summary(file: ArmsV1) -> JsonObject:
    """Return the `cost_summary` block that the file's answers give, rounded as the format says."""
    return cost_summary_block(summary_of(file))


def recomputed_retrieval_summary(file: ArmsV1) -> JsonObject:
    """Return the `retrieval_summary` block that the file's answers and required documents give; empty where nothing is required."""
    return retrieval_summary_block(summary_of(file))


def _clusters(file: ArmsV1) -> QuestionClusters | None:
    if file.cluster_field is None:
        return None
    labels = {question.id: question.cluster for question in file.questions if question.cluster is not None}
    return QuestionClusters(field=file.cluster_field, labels=labels)


def _kept_as(value: object) -> object:
    return list(value) if isinstance(value, Records) else repr(value)


def _check(payload: Payload, path: Path) -> None:
    lists = {name: value for name in _STREAMED_LISTS if isinstance(value := payload.get(name), list | Records)}
    head = checked(WireFile, {**payload, **{name: [] for name in lists}}, file=path)
    question_ids = {record.question_id for record in _answers(lists.get("answers", ()), head.arms, path)}
    for _ in _evaluations(lists.get("evaluations", ()), head.arms, question_ids, path):
        pass


def _answers(items: Iterable[object], arms: Sequence[str], path: Path) -> Iterator[WireAnswer]:
    seen: set[str] = set()
    for position, item in enumerate(items):
        where = f"answers.{position}"
        record = checked(WireAnswer, item, file=path, where=where)
        if record.question_id in seen:
            raise InputError(f"question id {record.question_id!r} is there twice.", file=path, field=f"{where}.question_id")
        seen.add(record.question_id)
        _check_arms(record.arms, arms, path, f"{where}.arms")
        yield record


def _evaluations(items: Iterable[object], arms: Sequence[str], question_ids: Set[str], path: Path) -> Iterator[WireEvaluation]:
    seen: set[str] = set()
    for position, item in enumerate(items):
        where = f"evaluations.{position}"
        record = checked(WireEvaluation, item, file=path, where=where)
        if record.question_id not in question_ids or record.question_id in seen:
            rule = "is there twice" if record.question_id in seen else "has no answers in this file"
            raise InputError(f"question id {record.question_id!r} {rule}.", file=path, field=f"{where}.question_id")
        seen.add(record.question_id)
        _check_arms(record.scores, arms, path, f"{where}.scores")
        yield record


def _check_arms(named: Iterable[str], arms: Sequence[str], path: Path, field: str) -> None:
    for arm in named:
        if arm not in arms:
            raise UnknownNameError("arm", arm, arms, file=path, field=field)


def _drained(items: list[object]) -> Iterator[object]:
    """Yield the items in order and let go of each, so that a large file is not held as JSON and as rows at once."""
    items.reverse()
    while items:
        yield items.pop()


def _stated_correction(summary: Mapping[str, Any]) -> Correction:
    for block in (summary.get("per_arm") or {}).values():
        stated = (block.get("significance") or {}).get("correction")
        if stated in ("holm", "bh"):
            return "bh" if stated == "bh" else "holm"
    return "holm"


def loaded_json(path: Path) -> object:
    """Return the JSON of a file. Raises InputError where it cannot be read or is no JSON (NaN and infinities are not)."""
    try:
        content = path.read_bytes()
        return from_json(content, allow_inf_nan=False)  # orjson parses through a tree of its own, twice the size of the file
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}.", file=path) from error
    except ValueError as error:
        found = _JSON_ERROR.fullmatch(str(error))
        if found is None:
            raise InputError(f"is not JSON: {error}.", file=path) from error
        line = int(found["line"])
        near = content.split(b"\n")[line - 1][max(int(found["column"]) - 2, 0) :]
        number = _NO_JSON_NUMBER.match(near)
        what = found["what"] if number is None else f"{number[1].decode()} is no number there; what is missing is null"
        raise InputError(f"is not JSON: {what}.", file=path, line=line) from error


def _replace(path: Path, write: Callable[[TextIO], None]) -> None:
    """Write beside `path`, flush to the disk, then rename: a reader sees the old file or the whole new one."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="ascii", newline="\n") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _stream(payload: Payload, stream: TextIO, path: Path) -> None:
    """Write the object key by key, and the long lists item by item, so that the text of a large file is never held whole.

    Raises:
        InputError: a value is no JSON, such as NaN or an object; it names the top-level field.
    """
    for place, (name, value) in enumerate(payload.items()):
        stream.write("{\n  " if place == 0 else ",\n  ")
        stream.write(f"{json.dumps(name)}: ")
        if name in _STREAMED_LISTS and isinstance(value, list | Records) and value:
            for position, item in enumerate(value):
                stream.write("[\n    " if position == 0 else ",\n    ")
                stream.write(_indented(item, 4, path, name))
            stream.write("\n  ]")
        else:
            stream.write(_indented(list(value) if isinstance(value, Records) else value, 2, path, name))
    stream.write("\n}\n" if payload else "{}\n")


def _indented(value: Any, spaces: int, path: Path, field: str) -> str:
    try:
        text = json.dumps(value, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"cannot be written as JSON: {error}.", file=path, field=field) from error
    return text.replace("\n", "\n" + " " * spaces)  # JSON strings hold no raw newline, so every newline is one of the layout
