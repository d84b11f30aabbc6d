"""The rows of an arms.v1 file as a comparison gathers them: by arm, points, counts, lengths, costs; the answers themselves are let go.

Each value that is used is checked by hand where it stands, so that what is wrong is said of its row. A file in which nothing is wrong is
read by `compared_run_columns`, several times as fast; what they gather is the same.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from evalplatform.comparisons.compared_run import ComparedArm, CostFigures
from evalplatform.comparisons.run_factors import profile_prompts
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.reports.arms_v1_wire import Count, Seconds, Usd, WireHead, checked

Difficulty = str | int | float
NO_ANSWER = "no_answer"


class ArmRows:
    """What is gathered of one arm, row by row. `unanswered` are the questions without an answer: it failed, is blank, or has no row."""

    def __init__(self) -> None:
        self.points: dict[str, float] = {}
        self.unscored: Counter[str] = Counter()
        self.unanswered: set[str] = set()
        self.answers = self.failed = self.with_system_prompt = 0
        self.profile_prompts: set[tuple[str, ...]] = set()
        self.material_digests: dict[str, str] = {}
        self.raw_chars: dict[str, float] = {}
        self.final_chars: dict[str, float] = {}

    def arm(self, cost: CostFigures) -> ComparedArm:
        """Return what was gathered, and what the file says the arm cost. Points of what was not answered are none."""
        of_nothing = self.unanswered & self.points.keys()
        points = {question: points for question, points in self.points.items() if question not in of_nothing} if of_nothing else self.points
        return ComparedArm(
            points=points,
            unscored_reasons=dict(self.unscored + Counter({NO_ANSWER: len(of_nothing)})),
            points_without_answer=len(of_nothing),
            answers=self.answers,
            failed=self.failed,
            with_system_prompt=self.with_system_prompt,
            profile_prompts=frozenset(self.profile_prompts),
            material_digests=self.material_digests,
            raw_answer_chars=self.raw_chars,
            final_answer_chars=self.final_chars,
            cost=cost,
        )


@dataclass(frozen=True)
class FileRows:
    """What is gathered of a file's rows: of each arm, and of each question by its id, where it is stated.

    `question_texts` is in the order of the answers, `evaluation_ids` in that of the evaluations; it is None where nobody judged.
    """

    arms: Mapping[str, ArmRows]
    question_texts: Mapping[str, str]
    difficulty: Mapping[str, Difficulty]
    evaluation_ids: Sequence[str] | None
    references: Mapping[str, str]
    clusters: Mapping[str, str]


def rows_one_by_one(head: WireHead, path: Path, *, lengths: bool) -> FileRows:
    """Return what is gathered of a file's rows, with how long answers are where `lengths` asks for it.

    Raises:
        InputError: something that is used is not as the format has it; it names file, field and rule.
    """
    reader = _RowReader(path, {arm: ArmRows() for arm in head.arms}, is_clustered=head.cluster_field is not None, lengths=lengths)
    texts: dict[str, str] = {}
    difficulty: dict[str, Difficulty] = {}
    for question, text, stated in reader.answers(head.answers):
        texts[question] = text
        if stated is not None:
            difficulty[question] = stated
    evaluated: list[str] | None = None if head.evaluations is None else []
    for question, stated in reader.evaluations(head.evaluations or [], texts):
        if evaluated is not None:
            evaluated.append(question)
        if stated is not None:
            difficulty.setdefault(question, stated)
    return FileRows(
        arms=reader.arms,
        question_texts=texts,
        difficulty=difficulty,
        evaluation_ids=evaluated,
        references=reader.references,
        clusters=reader.clusters,
    )


def is_answered(record: Mapping[str, Any]) -> bool:
    """Return whether there is something to judge: an answer that did not fail and is not blank, as every judge of this platform asks."""
    answer = record.get("answer")
    return record.get("error") is None and isinstance(answer, str) and bool(answer) and not answer.isspace()


def stated_chars(stated: object, text: str) -> float:
    """Return a length in characters: as stated, else that of the text."""
    return float(stated) if isinstance(stated, int | float) and not isinstance(stated, bool) else float(len(text))


def unscored_reason(score: Mapping[str, Any] | None) -> str:
    """Return why there are no points, without the details: `no_answer` where there was nothing to judge."""
    return NO_ANSWER if score is None else str(score.get("error") or "unknown").split(": ")[0]


def cost_figures(block: object, arm: str, *, path: Path) -> CostFigures:
    """Return an arm's block of `cost_summary`; a missing one says nothing. Raises InputError for one that is not as the format requires."""
    if block is None:
        return CostFigures()
    wire = checked(_WireCost, block, file=path, where=f"cost_summary.{arm}")
    return CostFigures(
        answers=wire.n,
        priced_answers=wire.cost_known_n,
        total_cost_usd=wire.total_cost_usd,
        prompt_tokens=wire.prompt_tokens,
        completion_tokens=wire.completion_tokens,
        total_tokens=wire.total_tokens,
        mean_latency_seconds=wire.mean_latency_sec,
        mean_time_to_first_token_seconds=wire.mean_ttft_sec,
    )


@dataclass
class _RowReader:
    """Reads the rows of one file into its arms. All it raises is InputError, which names file, field and rule.

    `references` are filled as answers are read, and `clusters` where the file is clustered.
    """

    path: Path
    arms: Mapping[str, ArmRows]
    is_clustered: bool
    lengths: bool
    references: dict[str, str] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)

    def answers(self, rows: list[Any]) -> Iterator[tuple[str, str, Difficulty | None]]:
        """Gather every answer, and yield each question's id, text and difficulty."""
        seen: set[str] = set()
        for position, row in enumerate(rows):
            where = f"answers.{position}"
            question = self._question_id(row, where, seen)
            records = self._by_arm(row, "arms", where)
            for arm in self.arms.keys() - records.keys():
                self.arms[arm].unanswered.add(question)
            for arm, record in records.items():
                self._add_answer(self.arms[arm], question, self._object(record, f"{where}.arms.{arm}"), f"{where}.arms.{arm}")
            text = row.get("question_text")
            if not isinstance(text, str):
                raise InputError("is needed: the question's text.", file=self.path, field=f"{where}.question_text")
            if (reference := self._text(row, "ground_truth_chunk", where)) is not None:
                self.references[question] = reference
            if self.is_clustered:
                cluster = self._text(row, "cluster", where)
                if cluster is None:
                    raise InputError("is needed: the file states a cluster_field.", file=self.path, field=f"{where}.cluster")
                self.clusters[question] = cluster
            yield question, text, self._difficulty(row, where)

    def evaluations(self, rows: list[Any], questions: Mapping[str, object]) -> Iterator[tuple[str, Difficulty | None]]:
        """Gather every score, and yield each judged question's id and difficulty."""
        seen: set[str] = set()
        for position, row in enumerate(rows):
            where = f"evaluations.{position}"
            question = self._question_id(row, where, seen)
            if question not in questions:
                raise InputError(f"question id {question!r} has no answers in this file.", file=self.path, field=f"{where}.question_id")
            for arm, score in self._by_arm(row, "scores", where).items():
                self._add_score(self.arms[arm], question, score, f"{where}.scores.{arm}")
            yield question, self._difficulty(row, where)

    def _add_answer(self, arm: ArmRows, question: str, record: Mapping[str, Any], where: str) -> None:
        arm.answers += 1
        if not is_answered(record):
            arm.unanswered.add(question)
        if record.get("error") is not None:
            arm.failed += 1
        elif record.get("used_system_prompt") is True:
            arm.with_system_prompt += 1
        if (metadata := record.get("metadata")) and (prompts := profile_prompts(self._object(metadata, f"{where}.metadata"))):
            arm.profile_prompts.add(prompts)
        if (material := self._text(record, "judge_context_sha256", where)) is not None:
            arm.material_digests[question] = material
        if self.lengths:
            self._add_lengths(arm, question, record, where)

    def _add_lengths(self, arm: ArmRows, question: str, record: Mapping[str, Any], where: str) -> None:
        answer = record.get("answer")
        if isinstance(answer, str):
            metrics, raw = self._object(record.get("metrics") or {}, f"{where}.metrics"), record.get("raw_answer")
            arm.final_chars[question] = stated_chars(metrics.get("final_answer_chars"), answer)
            arm.raw_chars[question] = stated_chars(metrics.get("raw_answer_chars"), raw if isinstance(raw, str) else answer)
        elif answer is not None:
            raise InputError("is a text, or null.", file=self.path, field=f"{where}.answer")

    def _add_score(self, arm: ArmRows, question: str, score: object, where: str) -> None:
        found = None if score is None else self._object(score, where)
        points = None if found is None else found.get("aggregate")
        if points is None:
            arm.unscored[unscored_reason(found)] += 1
        elif isinstance(points, int | float) and not isinstance(points, bool) and 0 <= points <= 100:
            arm.points[question] = float(points)
        else:
            raise InputError(f"is a number from 0 to 100, not {points!r}.", file=self.path, field=f"{where}.aggregate")

    def _question_id(self, row: object, where: str, seen: set[str]) -> str:
        found = self._object(row, where).get("question_id")
        if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
            raise InputError("is needed: a text or a whole number.", file=self.path, field=f"{where}.question_id")
        question = str(found)
        if question in seen:
            raise InputError(f"question id {question!r} is there twice.", file=self.path, field=f"{where}.question_id")
        seen.add(question)
        return question

    def _by_arm(self, row: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
        found = row.get(key)
        if not isinstance(found, dict):
            raise InputError("is needed: an object by arm.", file=self.path, field=f"{where}.{key}")
        for arm in found:
            if arm not in self.arms:
                raise UnknownNameError("arm", arm, self.arms, file=self.path, field=f"{where}.{key}")
        return found

    def _difficulty(self, row: Mapping[str, Any], where: str) -> Difficulty | None:
        found = row.get("difficulty")
        if found is None or (isinstance(found, str | int | float) and not isinstance(found, bool)):
            return found
        raise InputError("is a text or a number.", file=self.path, field=f"{where}.difficulty")

    def _text(self, row: Mapping[str, Any], key: str, where: str) -> str | None:
        found = row.get(key)
        if found is None or isinstance(found, str):
            return found
        raise InputError("is a text, or null.", file=self.path, field=f"{where}.{key}")

    def _object(self, value: object, where: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise InputError("is an object.", file=self.path, field=where)
        return value


class _WireCost(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)

    n: Count | None = None
    cost_known_n: Count | None = None
    total_cost_usd: Usd | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    mean_latency_sec: Seconds | None = None
    mean_ttft_sec: Seconds | None = None
