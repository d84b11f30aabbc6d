"""Why scores moved: because answers are judged in another way, or because the answers are others.

A score before is s(A1, J1), one now s(A2, J2). With a score of the new answer by the old judge, s(A2, J1), the move is the sum of

    judge moved    s(A2, J2) - s(A2, J1)    one answer, judged in two ways
    answers moved  s(A2, J1) - s(A1, J1)    two answers, judged in one way

and with s(A1, J2) likewise: judge moved is s(A1, J2) - s(A1, J1), answers moved s(A2, J2) - s(A1, J2). Where an answer's text is the same
before and now, no such score is needed: all of the move is the judge's. Where the text is another and it was judged in the same way, all of
it is the answer's. Otherwise, without one, the two cannot be told apart, and nothing is guessed.

Judged in the same way means by the same judge, and beside the same question and material: an answer that was given other documents is also
graded beside other documents. A third score is of no use there, since it too was given beside either the old or the new ones.
"""

from collections.abc import Collection, Iterator, Mapping
from math import ldexp
from typing import Literal

from evalplatform.comparisons.records import PlacedPoints
from evalplatform.kernel.values import Value

Place = tuple[str, str, int]
"""A question id, an arm and a draw."""

Scores = Mapping[Place, PlacedPoints]

MoveState = Literal["separable", "not_separable", "unscored", "only_now", "only_before"]
Bridge = Literal["new_answer_old_judge", "old_answer_new_judge"]

_EXACT_BITS = 40


class ScoreMove(Value):
    """How one score moved, in points.

    `judge_move_points` and `answers_move_points` are there where the state is `separable`; they then sum to `whole_move_points` exactly.
    `bridge` names the third score that told them apart, where one was needed. `reason` says what is missing where a side is unscored.
    """

    question_id: str
    arm: str
    draw: int
    state: MoveState
    points_before: float | None = None
    points_now: float | None = None
    bridge: Bridge | None = None
    bridge_points: float | None = None
    judge_move_points: float | None = None
    answers_move_points: float | None = None
    reason: str | None = None

    @property
    def whole_move_points(self) -> float | None:
        """Points now minus points before, or None where a side has none."""
        if self.points_before is None or self.points_now is None:
            return None
        return self.points_now - self.points_before


def by_place(scores: Collection[PlacedPoints] | Iterator[PlacedPoints]) -> dict[Place, PlacedPoints]:
    """Return scores by their place, in their order."""
    return {(score.question_id, score.arm, score.draw): score for score in scores}


def score_moves(
    now: Scores,
    before: Scores,
    *,
    same_judge: bool,
    changed_answers: Collection[Place],
    changed_tasks: Collection[Place],
    new_answers_old_judge: Scores | None = None,
    old_answers_new_judge: Scores | None = None,
) -> list[ScoreMove]:
    """Return how every score moved, in the order of the scores now, then those that are there no more.

    Args:
        now: the new answers by the new judge, s(A2, J2).
        before: the old answers by the old judge, s(A1, J1).
        same_judge: whether both were given by one judge with one seed, and by one version of the code that judges.
        changed_answers: the places whose answer has another text now.
        changed_tasks: the places where the judge was given something else beside the answer: another question, reference or material.
        new_answers_old_judge: s(A2, J1), where stored. It goes before the other where both are.
        old_answers_new_judge: s(A1, J2), where stored.
    """
    bridges: tuple[tuple[Bridge, Scores], ...] = (
        ("new_answer_old_judge", new_answers_old_judge or {}),
        ("old_answer_new_judge", old_answers_new_judge or {}),
    )
    answers, tasks = frozenset(changed_answers), frozenset(changed_tasks)
    moves = [
        _move(
            place,
            row,
            before.get(place),
            same_answer=place not in answers,
            same_judging=same_judge and place not in tasks,
            bridges=() if place in tasks else bridges,
        )
        for place, row in now.items()
    ]
    gone = (row for place, row in before.items() if place not in now)
    return moves + [_placed(row, "only_before", points_before=_exact(row.points)) for row in gone]


def _move(
    place: Place,
    now: PlacedPoints,
    before: PlacedPoints | None,
    *,
    same_answer: bool,
    same_judging: bool,
    bridges: tuple[tuple[Bridge, Scores], ...],
) -> ScoreMove:
    if before is None:
        return _placed(now, "only_now", points_now=_exact(now.points))
    points_now, points_before = _exact(now.points), _exact(before.points)
    if points_now is None or points_before is None:
        return _placed(now, "unscored", points_before=points_before, points_now=points_now, reason=_lack(now, before))
    whole = points_now - points_before
    if same_answer or same_judging:
        judge, answers = (whole, 0.0) if same_answer else (0.0, whole)
        return _separable(now, points_before, points_now, judge, answers)
    for bridge, scores in bridges:
        third = scores.get(place)
        points = None if third is None else _exact(third.points)
        if points is None:
            continue
        judge = points_now - points if bridge == "new_answer_old_judge" else points - points_before
        moved = _separable(now, points_before, points_now, judge, whole - judge)
        return moved.with_changes(bridge=bridge, bridge_points=points)
    return _placed(now, "not_separable", points_before=points_before, points_now=points_now)


def _placed(row: PlacedPoints, state: MoveState, **fields: object) -> ScoreMove:
    return ScoreMove.model_validate({"question_id": row.question_id, "arm": row.arm, "draw": row.draw, "state": state, **fields})


def _separable(row: PlacedPoints, before: float, now: float, judge: float, answers: float) -> ScoreMove:
    return _placed(row, "separable", points_before=before, points_now=now, judge_move_points=judge + 0.0, answers_move_points=answers + 0.0)


def _lack(now: PlacedPoints, before: PlacedPoints) -> str:
    """Return what is missing: `before: malformed_reply`, `now: no_answer:budget`, or both."""
    sides = [(side, row.reason) for side, row in (("before", before), ("now", now)) if row.points is None]
    return ", ".join(f"{side}: {(reason or 'unknown').split(': ', 1)[0]}" for side, reason in sides)


def _exact(points: float | None) -> float | None:
    """Return points on a grid of 2^-40, a ten-thousandth of a billionth of a point, on which differences and sums of them are exact.

    In plain floating point (50.0 - 44.9) + (44.9 - 12.2) is not 50.0 - 12.2, and the two moves would not add up to the whole one.
    """
    return None if points is None else ldexp(round(ldexp(points, _EXACT_BITS)), -_EXACT_BITS)
