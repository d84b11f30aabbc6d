"""Moved scores summed up by arm: the mean move of the judge and of the answers, and what both did to an arm's delta. Nothing is rounded."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from evalplatform.comparisons.score_moves import Bridge, ScoreMove
from evalplatform.kernel.values import Value
from evalplatform.stats.mean import estimate_mean, plain_mean

Relation = Literal["same_judge", "edited_judge", "other_judge"]
"""What the judge before is to the judge now: the same key, an earlier key of the same id, or another judge."""


class MeanMove(Value):
    """A mean move over questions, in points; a question's move is the mean over its draws.

    The interval is Student's, 95%, or clustered where the suite names a cluster field; None below two questions (or clusters). `moved_rows`
    counts the scores that moved at all.
    """

    questions: int
    mean_points: float | None
    ci_lo_points: float | None
    ci_hi_points: float | None
    moved_rows: int


class ArmMoves(Value):
    """How one arm's scores moved.

    `rows` counts all of its scores, before or now; each is separable, not separable, unscored on a side, or on one side alone. `bridges`
    counts the separable ones by the third score that told judge and answers apart, `unscored` those by what is missing.
    """

    arm: str
    rows: int
    separable: int
    judge: MeanMove
    answers: MeanMove
    bridges: dict[Bridge, int] = Field(default_factory=dict)
    not_separable: int
    unscored: dict[str, int] = Field(default_factory=dict)
    only_now: int
    only_before: int


class DeltaMove(Value):
    """What became of an arm's delta to the baseline arm, over the questions that both arms scored before and now.

    `change` is the mean change with its interval. The two parts of it are over the `separable_questions` among them; with all of them
    separable, they sum to the change.
    """

    arm: str
    baseline_arm: str
    before_points: float | None
    now_points: float | None
    change: MeanMove
    separable_questions: int
    judge_points: float | None
    answers_points: float | None


class MoveSummary(Value):
    """How the scores of a cell moved, by arm, and what became of the deltas."""

    baseline_arm: str
    arms: dict[str, ArmMoves]
    deltas: dict[str, DeltaMove]


class ScoredVersion(Value):
    """Stored scores: whose, when, and of which answers. `judge_model` names a panel's roles too."""

    judge_id: str
    judge_key: str
    judge_model: str
    prompt_digest: str
    scores_version: str
    answers_version: str
    scored_at: datetime


class StoredMoves(Value):
    """How scores moved since the scores before them; `before`, `relation` and `summary` are None where these are the first."""

    cell_key: str
    now: ScoredVersion
    before: ScoredVersion | None = None
    relation: Relation | None = None
    summary: MoveSummary | None = None


def summarise_moves(
    moves: Iterable[ScoreMove], *, arms: Sequence[str], baseline_arm: str, clusters: Mapping[str, str] | None = None
) -> MoveSummary:
    """Return the moves by arm.

    Args:
        moves: as `score_moves` gives them.
        arms: the arms now, in order; arms that are there no more follow.
        baseline_arm: the arm that deltas are taken from.
        clusters: the cluster of each question, where questions are not independent.
    """
    by_arm: dict[str, list[ScoreMove]] = {arm: [] for arm in arms}
    for move in moves:
        by_arm.setdefault(move.arm, []).append(move)
    baseline = by_arm.get(baseline_arm, [])
    return MoveSummary(
        baseline_arm=baseline_arm,
        arms={arm: _arm_moves(arm, of_arm, clusters) for arm, of_arm in by_arm.items()},
        deltas={arm: _delta_move(arm, of_arm, baseline_arm, baseline, clusters) for arm, of_arm in by_arm.items() if arm != baseline_arm},
    )


def _arm_moves(arm: str, moves: Sequence[ScoreMove], clusters: Mapping[str, str] | None) -> ArmMoves:
    states = Counter(move.state for move in moves)
    judge = [(move.question_id, move.judge_move_points) for move in moves if move.judge_move_points is not None]
    answers = [(move.question_id, move.answers_move_points) for move in moves if move.answers_move_points is not None]
    return ArmMoves(
        arm=arm,
        rows=len(moves),
        separable=states["separable"],
        judge=_mean_move(_by_question(judge), sum(points != 0 for _, points in judge), clusters),
        answers=_mean_move(_by_question(answers), sum(points != 0 for _, points in answers), clusters),
        bridges=dict(sorted(Counter(move.bridge for move in moves if move.bridge is not None).items())),
        not_separable=states["not_separable"],
        unscored=dict(sorted(Counter(move.reason or "unknown" for move in moves if move.state == "unscored").items())),
        only_now=states["only_now"],
        only_before=states["only_before"],
    )


def _delta_move(
    arm: str, moves: Sequence[ScoreMove], baseline_arm: str, baseline: Sequence[ScoreMove], clusters: Mapping[str, str] | None
) -> DeltaMove:
    before, now = (_difference(moves, baseline, field) for field in ("points_before", "points_now"))
    judge, answers = (_difference(moves, baseline, field) for field in ("judge_move_points", "answers_move_points"))
    changes = {question: now[question] - before[question] for question in before if question in now}
    return DeltaMove(
        arm=arm,
        baseline_arm=baseline_arm,
        before_points=_mean(before[question] for question in changes),
        now_points=_mean(now[question] for question in changes),
        change=_mean_move(changes, sum(change != 0 for change in changes.values()), clusters),
        separable_questions=len(judge),
        judge_points=_mean(judge.values()),
        answers_points=_mean(answers.values()),
    )


def _difference(moves: Sequence[ScoreMove], baseline: Sequence[ScoreMove], field: str) -> dict[str, float]:
    """Return arm minus baseline arm by question, over the scores that have points before and now, so that both times rest on the same."""
    arm_points, baseline_points = (
        _by_question([(move.question_id, getattr(move, field)) for move in of_arm if _is_whole(move) and getattr(move, field) is not None])
        for of_arm in (moves, baseline)
    )
    return {question: points - baseline_points[question] for question, points in arm_points.items() if question in baseline_points}


def _is_whole(move: ScoreMove) -> bool:
    return move.whole_move_points is not None


def _by_question(points: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the mean over draws of each question."""
    drawn: dict[str, list[float]] = {}
    for question_id, value in points:
        drawn.setdefault(question_id, []).append(value)
    return {question_id: plain_mean(values) for question_id, values in drawn.items()}


def _mean_move(by_question: Mapping[str, float], moved_rows: int, clusters: Mapping[str, str] | None) -> MeanMove:
    values = list(by_question.values())
    groups = None if clusters is None else [clusters.get(question, question) for question in by_question]
    estimate = estimate_mean(values, clusters=groups)
    return MeanMove(
        questions=len(values),
        mean_points=_mean(values),
        ci_lo_points=None if estimate is None else estimate.ci_lo,
        ci_hi_points=None if estimate is None else estimate.ci_hi,
        moved_rows=moved_rows,
    )


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return plain_mean(known) if known else None
