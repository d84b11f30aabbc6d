"""Points per arm and question: the one table that means, deltas and interactions are computed from."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from evalplatform.comparisons.records import JudgedScore
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.kernel.values import Value

NOT_JUDGED = "not_judged"


class QuestionScores(Value):
    """One arm's points by question, in the order of the question set, and why the others have none.

    A question's points are the mean over its scored draws; a question without a scored draw is absent. `unscored_reasons` counts every
    (question, draw) without points by its reason, the part before any colon and space.
    """

    points: dict[str, float]
    unscored_reasons: dict[str, int]


def question_scores(
    scores: Iterable[JudgedScore], *, arms: Sequence[str], question_ids: Sequence[str], draws: int
) -> dict[str, QuestionScores]:
    """Return every arm's points by question.

    Args:
        scores: one row per arm, question and draw; a (question, draw) without a row counts as `not_judged`.
        arms: the arms, in order.
        question_ids: the questions that were to be asked, in order.
        draws: how many draws each question was to have.

    Raises:
        UnknownNameError: a row names an arm or a question that is not in the experiment.
        InputError: two rows for one arm, question and draw, or a draw beyond `draws`.
    """
    rows = _by_place(scores, arms=arms, question_ids=question_ids, draws=draws)
    return {arm: _arm_scores(rows, arm, question_ids, draws) for arm in arms}


def _by_place(
    scores: Iterable[JudgedScore], *, arms: Sequence[str], question_ids: Sequence[str], draws: int
) -> Mapping[tuple[str, str, int], JudgedScore]:
    known_arms, known_questions = set(arms), set(question_ids)
    rows: dict[tuple[str, str, int], JudgedScore] = {}
    for row in scores:
        if row.arm not in known_arms:
            raise UnknownNameError("arm", row.arm, arms, field="scores")
        if row.question_id not in known_questions:
            raise UnknownNameError("question id", row.question_id, question_ids, field="scores")
        if row.draw >= draws:
            raise InputError(f"draw {row.draw} of question {row.question_id!r} is beyond the {draws} of this run.", field="scores")
        place = (row.arm, row.question_id, row.draw)
        if place in rows:
            raise InputError(f"arm {row.arm!r} has two scores for question {row.question_id!r}, draw {row.draw}.", field="scores")
        rows[place] = row
    return rows


def _arm_scores(rows: Mapping[tuple[str, str, int], JudgedScore], arm: str, question_ids: Sequence[str], draws: int) -> QuestionScores:
    points: dict[str, float] = {}
    unscored: Counter[str] = Counter()
    for question_id in question_ids:
        drawn: list[float] = []
        for draw in range(draws):
            row = rows.get((arm, question_id, draw))
            if row is not None and row.judgement.points is not None:
                drawn.append(row.judgement.points)
            else:
                unscored[NOT_JUDGED if row is None else _reason_word(row.judgement.reason)] += 1
        if drawn:
            points[question_id] = fsum(drawn) / len(drawn)
    return QuestionScores(points=points, unscored_reasons=dict(sorted(unscored.items())))


def _reason_word(reason: str | None) -> str:
    return "unknown" if reason is None else reason.split(": ", 1)[0]
