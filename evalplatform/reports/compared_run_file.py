"""An arms.v1 file of any tool, read as a comparison needs it: stamps, points, costs and lengths, without its texts.

The whole file is checked where a new run is read (`arms_v1_file`); here only what is used is, since a comparison reads many large files.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalplatform.comparisons.compared_run import ComparedArm, ComparedRun, CostFigures, RunIdentity
from evalplatform.comparisons.run_factors import (
    arm_content_digests,
    config_without_seed,
    profile_digests,
    question_texts_digest,
    retrieval_settings,
)
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.plugins.plugin_set import EMPTY_PLUGIN_SET_ID
from evalplatform.reports.arms_v1_file import loaded_json
from evalplatform.reports.arms_v1_wire import WireHead, checked


def read_compared_run(path: str | Path, *, name: str | None = None) -> ComparedRun:
    """Read a run from an arms.v1 file.

    Args:
        path: the file.
        name: what reports call the run; the file's name without its ending where None.

    Raises:
        InputError: no such file, not JSON, or a part that is used and is not as the format requires; it names file, field and rule.
    """
    path = Path(path)
    return compared_run_of(loaded_json(path), path=path, name=name or path.stem)


def compared_run_of(data: object, *, path: Path, name: str) -> ComparedRun:
    """Return the run that a parsed arms.v1 object holds. Raises InputError as `read_compared_run` does."""
    head = checked(WireHead, data, file=path)
    arms = {arm: _ArmRows() for arm in head.arms}
    questions = list(_answers(head, arms, path))
    evaluations = None if head.evaluations is None else list(_evaluations(head, arms, {question for question, _ in questions}, path))
    for row in head.answers:
        if (difficulty := row.get("difficulty")) is not None and not isinstance(difficulty, str | int | float):
            raise InputError("is a text or a number.", file=path, field="difficulty")
    return ComparedRun(
        name=name,
        source=str(path),
        identity=RunIdentity(
            library_name=head.library_name,
            model=head.model,
            provider=head.provider,
            base_url=head.base_url,
            harness=head.harness,
            plugin_set=head.plugin_set,
            plugin_set_id=head.plugin_set_id or (EMPTY_PLUGIN_SET_ID if head.plugin_set == "none" else None),
            arms=head.arms,
            baseline_arm=head.baseline_arm,
            arm_content_digests=arm_content_digests(head.arms, head.input_digests),
            total_questions=len(questions) if head.total_questions is None else head.total_questions,
            question_ids=tuple(question for question, _ in questions),
            question_texts_digest=question_texts_digest(text for _, text in questions),
            question_set_digest=head.question_set_hash,
            evaluation_ids=None if evaluations is None else tuple(evaluations),
            run_config=config_without_seed(head.run_config),
            seed=seed if isinstance(seed := head.run_config.get("seed"), int) else None,
            retrieval=retrieval_settings(top_k=head.top_k, rerank_threshold=head.rerank_threshold, reranker=head.reranker),
            answer_prompt_digest=head.input_digests.get("answer_prompt"),
            judge_model=head.judge_model or None,
            judge_provider=head.judge_provider or None,
            judge_temperature=head.judge_temperature,
            judge_prompt_digest=head.judge_prompt_sha256,
            judge_context=head.judge_context,
            grounded_from_topics=head.grounded_from_topics if evaluations is not None else None,
        ),
        arms={arm: rows.arm(_cost(head.cost_summary.get(arm), path, arm)) for arm, rows in arms.items()},
        difficulty={str(row["question_id"]): row["difficulty"] for row in head.answers if row.get("difficulty") is not None},
        has_judge_metrics=bool(head.judge_metrics),
        truncated_reason=head.truncated,
    )


class _ArmRows:
    """What is gathered of one arm, row by row."""

    def __init__(self) -> None:
        self.points: dict[str, float] = {}
        self.unscored: Counter[str] = Counter()
        self.answers = self.failed = self.with_system_prompt = 0
        self.profile_digests: set[str] = set()
        self.raw_chars: dict[str, float] = {}
        self.final_chars: dict[str, float] = {}

    def add_answer(self, question: str, record: Mapping[str, Any]) -> None:
        self.answers += 1
        answer, metrics = record.get("answer"), record.get("metrics") or {}
        if record.get("error") is not None:
            self.failed += 1
        elif record.get("used_system_prompt") is True:
            self.with_system_prompt += 1
        self.profile_digests.update(profile_digests(record.get("metadata") or {}))
        if isinstance(answer, str):
            raw = record.get("raw_answer")
            self.final_chars[question] = _chars(metrics.get("final_answer_chars"), answer)
            self.raw_chars[question] = _chars(metrics.get("raw_answer_chars"), raw if isinstance(raw, str) else answer)

    def arm(self, cost: CostFigures) -> ComparedArm:
        return ComparedArm(
            points=self.points,
            unscored_reasons=dict(self.unscored),
            answers=self.answers,
            failed=self.failed,
            with_system_prompt=self.with_system_prompt,
            profile_prompt_digests=frozenset(self.profile_digests),
            raw_answer_chars=self.raw_chars,
            final_answer_chars=self.final_chars,
            cost=cost,
        )


def _answers(head: WireHead, arms: Mapping[str, _ArmRows], path: Path) -> Iterator[tuple[str, str]]:
    """Gather every answer, and yield each question's id and text."""
    seen: set[str] = set()
    for position, row in enumerate(head.answers):
        question = _question_id(row, path, f"answers.{position}", seen)
        for arm, record in _by_arm(row, "arms", arms, path, f"answers.{position}").items():
            if not isinstance(record, dict):
                raise InputError("is an object.", file=path, field=f"answers.{position}.arms.{arm}")
            arms[arm].add_answer(question, record)
        yield question, str(row.get("question_text") or "")


def _evaluations(head: WireHead, arms: Mapping[str, _ArmRows], questions: set[str], path: Path) -> Iterator[str]:
    """Gather every score, and yield each judged question's id."""
    seen: set[str] = set()
    for position, row in enumerate(head.evaluations or ()):
        where = f"evaluations.{position}"
        question = _question_id(row, path, where, seen)
        if question not in questions:
            raise InputError(f"question id {question!r} has no answers in this file.", file=path, field=f"{where}.question_id")
        for arm, score in _by_arm(row, "scores", arms, path, where).items():
            points = score.get("aggregate") if isinstance(score, dict) else None
            if points is None:
                arms[arm].unscored[_reason(score)] += 1
            elif isinstance(points, int | float) and not isinstance(points, bool) and 0 <= points <= 100:
                arms[arm].points[question] = float(points)
            else:
                raise InputError(f"is a number from 0 to 100, not {points!r}.", file=path, field=f"{where}.scores.{arm}.aggregate")
        yield question


def _question_id(row: object, path: Path, where: str, seen: set[str]) -> str:
    if not isinstance(row, dict):
        raise InputError("is an object.", file=path, field=where)
    found = row.get("question_id")
    if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
        raise InputError("is needed: a text or a whole number.", file=path, field=f"{where}.question_id")
    question = str(found)
    if question in seen:
        raise InputError(f"question id {question!r} is there twice.", file=path, field=f"{where}.question_id")
    seen.add(question)
    return question


def _by_arm(row: Mapping[str, Any], key: str, arms: Mapping[str, _ArmRows], path: Path, where: str) -> Mapping[str, Any]:
    found = row.get(key)
    if not isinstance(found, dict):
        raise InputError("is needed: an object by arm.", file=path, field=f"{where}.{key}")
    for arm in found:
        if arm not in arms:
            raise UnknownNameError("arm", arm, arms, file=path, field=f"{where}.{key}")
    return found


def _reason(score: object) -> str:
    return str(score.get("error") or "unknown").split(": ")[0] if isinstance(score, dict) else "no_answer"


def _chars(stated: object, text: str) -> float:
    return float(stated) if isinstance(stated, int | float) and not isinstance(stated, bool) else float(len(text))


def _cost(block: object, path: Path, arm: str) -> CostFigures:
    if block is None:
        return CostFigures()
    if not isinstance(block, dict):
        raise InputError("is an object.", file=path, field=f"cost_summary.{arm}")
    return CostFigures(
        answers=block.get("n"),
        priced_answers=block.get("cost_known_n"),
        total_cost_usd=block.get("total_cost_usd"),
        prompt_tokens=block.get("prompt_tokens"),
        completion_tokens=block.get("completion_tokens"),
        total_tokens=block.get("total_tokens"),
        mean_latency_seconds=block.get("mean_latency_sec"),
        mean_time_to_first_token_seconds=block.get("mean_ttft_sec"),
    )
