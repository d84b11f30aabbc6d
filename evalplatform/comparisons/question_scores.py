"""Points per arm and question: the one table that means, deltas and interactions are computed from."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from evalplatform.comparisons.records import PlacedPoints
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.kernel.values import Value

NOT_JUDGED = "not_judged"


class QuestionScores(Value):
    """One arm's points by question, in the order of the question set, and why the others have none.

    A question's points are the mean over its scored draws; a question without a scored draw is absent. `unscored_reasons` counts every
    (question, draw) without points by its reason, the part before any colon and space. `judged` counts those that a row speaks of.
    """

    points: dict[str, float]
    unscored_reasons: dict[str, int]
    judged: int


def question_scores(
    scores: Iterable[PlacedPoints], *, arms: Sequence[str], question_ids: Sequence[str], draws: int
) -> dict[str, QuestionScores]:
    """Return every arm's points by question.

    Args:
        scores: one row per arm, question and draw; a (question, draw) without a row counts as `not_judged`. They are read once, one by one.
        arms: the arms, in order.
        question_ids: the questions that were to be asked, in order.
        draws: how many draws each question was to have.

    Raises:
        UnknownNameError: a row names an arm or a question that is not in the experiment.
        InputError: two rows for one arm, question and draw, or a draw beyond `draws`.
    """
    drawn = _by_place(scores, arms=arms, question_ids=question_ids, draws=draws)
    return {arm: _arm_scores(drawn[arm]) for arm in arms}


_Drawn = list[float | str | None]
"""What each draw of a question came to: points, the word of the reason why there are none, or None where no row says."""


def _by_place(
    scores: Iterable[PlacedPoints], *, arms: Sequence[str], question_ids: Sequence[str], draws: int
) -> dict[str, dict[str, _Drawn]]:
    drawn: dict[str, dict[str, _Drawn]] = {arm: {question_id: [None] * draws for question_id in question_ids} for arm in arms}
    for row in scores:
        if row.arm not in drawn:
            raise UnknownNameError("arm", row.arm, arms, field="scores")
        questions = drawn[row.arm]
        if row.question_id not in questions:
            raise UnknownNameError("question id", row.question_id, question_ids, field="scores")
        if row.draw >= draws:
            raise InputError(f"draw {row.draw} of question {row.question_id!r} is beyond the {draws} of this run.", field="scores")
        of_draws = questions[row.question_id]
        if of_draws[row.draw] is not None:
            raise InputError(f"arm {row.arm!r} has two scores for question {row.question_id!r}, draw {row.draw}.", field="scores")
        of_draws[row.draw] = _reason_word(row.reason) if row.points is None else row.points
    return drawn


def _arm_scores(drawn: Mapping[str, _Drawn]) -> QuestionScores:
    points: dict[str, float] = {}
    unscored: Counter[str] = Counter()
    for question_id, of_draws in drawn.items():
        scored = [each for each in of_draws if isinstance(each, float)]
        unscored.update(NOT_JUDGED if each is None else each for each in of_draws if not isinstance(each, float))
        if scored:
            points[question_id] = fsum(scored) / len(scored)
    judged = sum(each is not None for of_draws in drawn.values() for each in of_draws)
    return QuestionScores(points=points, unscored_reasons=dict(sorted(unscored.items())), judged=judged)


def _reason_word(reason: str | None) -> str:
    return "unknown" if reason is None else reason.split(": ", 1)[0]
