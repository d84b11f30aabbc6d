"""The rows of an arms.v1 file gathered column by column: what `compared_run_rows` gathers, several times as fast.

A column is taken and checked as a whole. Where something is not plainly as the format has it, nothing is decided here: the reader that goes
row by row allows it, or says which row it is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from math import isnan
from operator import itemgetter
from types import NoneType
from typing import Any

from evalplatform.comparisons.run_factors import profile_prompts
from evalplatform.reports.arms_v1_wire import WireHead
from evalplatform.reports.compared_run_rows import ArmRows, FileRows, is_answered, stated_chars, unscored_reason

Column = list[Any]
Types = Set[type]

OBJECT: Types = frozenset({dict})
OBJECT_OR_NULL: Types = frozenset({dict, NoneType})
TEXT: Types = frozenset({str})
TEXT_OR_NULL: Types = frozenset({str, NoneType})
NUMBER_OR_NULL: Types = frozenset({int, float, NoneType})
DIFFICULTY_OR_NULL: Types = frozenset({str, int, float, NoneType})


class _NotPlainError(Exception):
    """A column holds something that has to be looked at row by row."""


def rows_by_column(head: WireHead, *, lengths: bool) -> FileRows | None:
    """Return what is gathered of a file's rows; None where only the reader by rows can tell what they hold.

    Args:
        head: the top level of the file.
        lengths: whether to gather how long answers are.
    """
    try:
        return _gathered(head, lengths=lengths)
    except (_NotPlainError, KeyError, TypeError, AttributeError):  # the last three: no such key, or no object to have one
        return None


def _gathered(head: WireHead, *, lengths: bool) -> FileRows:
    rows = head.answers
    questions = _ids(rows)
    texts = _checked(list(map(itemgetter("question_text"), rows)), TEXT)
    levels = _column(rows, "difficulty")
    difficulty = _stated(questions, levels, DIFFICULTY_OR_NULL)
    clusters = {} if head.cluster_field is None else _stated(questions, [row["cluster"] for row in rows], TEXT)
    arms = {arm: ArmRows() for arm in head.arms}
    for arm, records in _by_arm(rows, "arms", head.arms).items():
        _add_answers(arms[arm], questions, records)
        if lengths:
            _add_lengths(arms[arm], questions, records)
    evaluated = None
    if head.evaluations is not None:
        evaluated = _add_evaluations(arms, head.evaluations, questions)
        again = _column(head.evaluations, "difficulty")
        if evaluated is not questions or again != levels:
            difficulty = _stated(evaluated, again, DIFFICULTY_OR_NULL) | difficulty
    return FileRows(
        arms=arms,
        question_texts=dict(zip(questions, texts, strict=True)),
        difficulty=difficulty,
        evaluation_ids=evaluated,
        references=_stated(questions, _column(rows, "ground_truth_chunk"), TEXT_OR_NULL),
        clusters=clusters,
    )


def _add_answers(arm: ArmRows, questions: Sequence[str], records: Column) -> None:
    answers, errors = _column(records, "answer"), _column(records, "error")
    arm.answers = len(records)
    arm.failed = len(errors) - errors.count(None)
    if arm.failed or set(map(type, answers)) != TEXT or not all(answers) or any(map(str.isspace, answers)):
        arm.unanswered = {question for question, record in zip(questions, records, strict=True) if not is_answered(record)}
    prompted = _column(records, "used_system_prompt")
    if True in prompted:
        arm.with_system_prompt = sum(sent is True and error is None for sent, error in zip(prompted, errors, strict=True))
    metadata = _checked([found for found in _column(records, "metadata") if found], OBJECT)
    arm.profile_prompts = set(map(profile_prompts, metadata)) - {()}
    arm.material_digests = _stated(questions, _column(records, "judge_context_sha256"), TEXT_OR_NULL)


def _add_lengths(arm: ArmRows, questions: Sequence[str], records: Column) -> None:
    answers = _checked([record.get("answer") for record in records], TEXT_OR_NULL)
    metrics = _checked([record.get("metrics") for record in records], OBJECT_OR_NULL)
    final, raw = ([used.get(key) if used else None for used in metrics] for key in ("final_answer_chars", "raw_answer_chars"))
    arm.final_chars = _chars(questions, final, answers, answers)
    arm.raw_chars = _chars(questions, raw, answers, [record.get("raw_answer") for record in records])


def _chars(questions: Sequence[str], stated: Column, answers: Column, texts: Column) -> dict[str, float]:
    """Return the stated lengths, else those of the texts, else those of the answers, where there is an answer."""
    rows = zip(questions, stated, answers, texts, strict=True)
    return {
        question: stated_chars(chars, text if isinstance(text, str) else answer)
        for question, chars, answer, text in rows
        if answer is not None
    }


def _add_evaluations(arms: Mapping[str, ArmRows], rows: Column, questions: list[str]) -> list[str]:
    """Add the scores, and return the ids of the judged questions: the very list of all questions where they are those."""
    evaluated = list(map(itemgetter("question_id"), rows))
    if evaluated == questions:
        evaluated = questions
    elif not set(evaluated := _ids(rows)) <= set(questions):
        raise _NotPlainError
    for arm, scores in _by_arm(rows, "scores", list(arms)).items():
        _add_scores(arms[arm], evaluated, scores)
    return evaluated


def _add_scores(arm: ArmRows, questions: Sequence[str], scores: Column) -> None:
    column = [None if score is None else score.get("aggregate") for score in scores]
    points = _stated(questions, column, NUMBER_OR_NULL)
    if points:
        numbers = points.values()
        if not (min(numbers) >= 0 and max(numbers) <= 100 and not isnan(sum(numbers))):
            raise _NotPlainError
        arm.points = {question: float(number) for question, number in points.items()} if int in set(map(type, numbers)) else points
    if len(points) < len(column):
        arm.unscored = Counter(unscored_reason(score) for score, number in zip(scores, column, strict=True) if number is None)


def _ids(rows: Column) -> list[str]:
    """Return the question ids as text, no two of which are equal and none of which is empty."""
    ids = list(map(itemgetter("question_id"), rows))
    if (types := set(map(type, ids))) != TEXT:
        if not types <= {str, int}:
            raise _NotPlainError
        ids = list(map(str, ids))
    distinct = set(ids)
    if len(distinct) < len(ids) or "" in distinct:
        raise _NotPlainError
    return ids


def _by_arm(rows: Column, key: str, arms: Sequence[str]) -> dict[str, Column]:
    """Return what every row has of each arm; all rows have all arms and no other."""
    by_arm = list(map(itemgetter(key), rows))
    if not set(map(len, by_arm)) <= {len(arms)}:
        raise _NotPlainError
    return {arm: list(map(itemgetter(arm), by_arm)) for arm in arms}


def _stated(questions: Sequence[str], column: Column, types: Types) -> dict[str, Any]:
    """Return a column of these types by question, without what is null."""
    found = set(map(type, column))
    if not found <= types:
        raise _NotPlainError
    if NoneType not in found:
        return dict(zip(questions, column, strict=True))
    if len(found) == 1:
        return {}
    return {question: value for question, value in zip(questions, column, strict=True) if value is not None}


def _column(records: Column, key: str) -> Column:
    """Return what each record has under a key, None where it has no such key."""
    try:
        return list(map(itemgetter(key), records))  # where every record has it, this takes half of the time
    except KeyError:
        return [record.get(key) for record in records]


def _checked(column: Column, types: Types) -> Column:
    if not set(map(type, column)) <= types:
        raise _NotPlainError
    return column
