"""However scores moved, what the judge and the answers moved is what moved, and no score is lost or counted twice."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.comparisons.records import ScorePoints
from evalplatform.comparisons.score_move_summary import summarise_moves
from evalplatform.comparisons.score_moves import ScoreMove, by_place, score_moves

ARMS = ("baseline", "docs")
PLACES = st.tuples(st.sampled_from(["q0", "q1", "q2"]), st.sampled_from(ARMS), st.integers(0, 1))
POINTS = st.none() | st.floats(0, 100) | st.decimals(0, 100, places=1).map(float)
SCORES = st.dictionaries(PLACES, POINTS, max_size=12).map(
    lambda table: by_place(
        [ScorePoints(*place, points, None if points is not None else "malformed_reply") for place, points in table.items()]
    )
)


@st.composite
def all_moves(draw: st.DrawFn) -> list[ScoreMove]:
    return score_moves(
        draw(SCORES),
        draw(SCORES),
        same_judge=draw(st.booleans()),
        changed_answers=draw(st.sets(PLACES)),
        changed_tasks=draw(st.sets(PLACES)),
        new_answers_old_judge=draw(st.none() | SCORES),
        old_answers_new_judge=draw(st.none() | SCORES),
    )


@given(all_moves())
def test_the_judges_move_and_the_answers_move_are_the_whole_move_exactly(moves: list[ScoreMove]) -> None:
    for move in moves:
        if move.state == "separable":
            assert move.judge_move_points is not None
            assert move.answers_move_points is not None
            assert move.points_now is not None
            assert move.points_before is not None
            assert move.judge_move_points + move.answers_move_points == move.whole_move_points
            exactly = Fraction(move.points_now) - Fraction(move.points_before)
            assert Fraction(move.judge_move_points) + Fraction(move.answers_move_points) == exactly
        else:
            assert (move.judge_move_points, move.answers_move_points, move.bridge) == (None, None, None)


@given(SCORES, SCORES, st.booleans(), st.sets(PLACES))
def test_every_score_of_either_side_is_counted_once(now: dict, before: dict, same_judge: bool, changed: set) -> None:  # type: ignore[type-arg]
    moves = score_moves(now, before, same_judge=same_judge, changed_answers=changed, changed_tasks=())
    assert {(move.question_id, move.arm, move.draw) for move in moves} == now.keys() | before.keys()
    summary = summarise_moves(moves, arms=ARMS, baseline_arm="baseline")
    assert sum(arm.rows for arm in summary.arms.values()) == len(moves)
    for arm in summary.arms.values():
        assert arm.rows == arm.separable + arm.not_separable + sum(arm.unscored.values()) + arm.only_now + arm.only_before


@given(SCORES, st.sets(PLACES))
def test_nothing_moves_between_scores_and_themselves(scores: dict, changed: set) -> None:  # type: ignore[type-arg]
    for move in score_moves(scores, scores, same_judge=True, changed_answers=changed, changed_tasks=()):
        assert move.whole_move_points in (0.0, None)
        assert move.judge_move_points in (0.0, None)


@given(SCORES, SCORES, st.booleans(), st.sets(PLACES), st.sets(PLACES), st.none() | SCORES, st.none() | SCORES)
def test_a_move_is_an_answers_only_where_nothing_else_changed_or_a_third_score_says_so(  # type: ignore[no-untyped-def]
    now, before, same_judge, changed_answers, changed_tasks, new_old, old_new
) -> None:
    moves = score_moves(
        now,
        before,
        same_judge=same_judge,
        changed_answers=changed_answers,
        changed_tasks=changed_tasks,
        new_answers_old_judge=new_old,
        old_answers_new_judge=old_new,
    )
    for move in moves:
        place = (move.question_id, move.arm, move.draw)
        if move.answers_move_points:
            assert place in changed_answers
            assert place not in changed_tasks
            assert same_judge or move.bridge is not None
