"""Moved scores: what the judge moved, what the answers moved, and what cannot be told; numbers worked by hand."""

from collections.abc import Mapping

import pytest

from evalplatform.comparisons.records import ScorePoints
from evalplatform.comparisons.score_move_summary import MoveSummary, summarise_moves
from evalplatform.comparisons.score_moves import Place, ScoreMove, Scores, by_place, score_moves

Table = Mapping[str, list[float | str]]
"""Points by arm, one per question; a text is the reason why there are none."""


def scores(table: Table, *, draw: int = 0) -> dict[Place, ScorePoints]:
    rows = [
        ScorePoints(f"q{number}", arm, draw, *((None, given) if isinstance(given, str) else (given, None)))
        for arm, column in table.items()
        for number, given in enumerate(column)
    ]
    return {(row.question_id, row.arm, row.draw): row for row in rows}


def only(moves: list[ScoreMove]) -> ScoreMove:
    (move,) = moves
    return move


def moved(
    now: float | str,
    before: float | str,
    *,
    same_judge: bool = False,
    changed: bool = False,
    other_task: bool = False,
    new_old: float | str | None = None,
    old_new: float | str | None = None,
) -> ScoreMove:
    def bridge(given: float | str | None) -> Scores | None:
        return None if given is None else scores({"docs": [given]})

    return only(
        score_moves(
            scores({"docs": [now]}),
            scores({"docs": [before]}),
            same_judge=same_judge,
            changed_answers={("q0", "docs", 0)} if changed else (),
            changed_tasks={("q0", "docs", 0)} if other_task else (),
            new_answers_old_judge=bridge(new_old),
            old_answers_new_judge=bridge(old_new),
        )
    )


def parts(move: ScoreMove) -> tuple[object, ...]:
    return move.state, move.judge_move_points, move.answers_move_points, move.bridge


def test_the_same_answer_by_another_judge_moves_by_the_judge_alone() -> None:
    assert parts(moved(80.0, 65.0)) == ("separable", 15.0, 0.0, None)


def test_another_answer_by_the_same_judge_moves_by_the_answer_alone() -> None:
    assert parts(moved(80.0, 65.0, same_judge=True, changed=True)) == ("separable", 0.0, 15.0, None)


def test_the_same_answer_by_the_same_judge_can_only_have_been_judged_in_another_way() -> None:
    assert parts(moved(80.0, 80.0, same_judge=True)) == ("separable", 0.0, 0.0, None)
    assert parts(moved(80.0, 60.0, same_judge=True)) == ("separable", 20.0, 0.0, None)


def test_where_both_changed_a_third_score_tells_them_apart_and_is_named() -> None:
    # s(A1,J1) = 65, s(A2,J2) = 80, s(A2,J1) = 75: the judge gave 5 more, the new answer 10 more
    assert parts(moved(80.0, 65.0, changed=True, new_old=75.0)) == ("separable", 5.0, 10.0, "new_answer_old_judge")
    # s(A1,J2) = 75: the judge gave the old answer 10 more, the new answer then 5 more
    assert parts(moved(80.0, 65.0, changed=True, old_new=75.0)) == ("separable", 10.0, 5.0, "old_answer_new_judge")
    assert moved(80.0, 65.0, changed=True, new_old=70.0, old_new=75.0).bridge == "new_answer_old_judge"
    assert moved(80.0, 65.0, changed=True, new_old="malformed_reply", old_new=75.0).bridge == "old_answer_new_judge"


def test_where_both_changed_and_no_third_score_is_stored_nothing_is_guessed() -> None:
    move = moved(80.0, 65.0, changed=True)
    assert parts(move) == ("not_separable", None, None, None)
    assert move.whole_move_points == 15.0
    assert moved(80.0, 65.0, changed=True, new_old="malformed_reply").state == "not_separable"


def test_another_answer_beside_another_question_or_material_is_not_told_apart_by_one_judge_nor_by_a_third_score() -> None:
    assert parts(moved(80.0, 65.0, same_judge=True, changed=True, other_task=True)) == ("not_separable", None, None, None)
    assert parts(moved(80.0, 65.0, changed=True, other_task=True, new_old=75.0, old_new=75.0)) == ("not_separable", None, None, None)
    assert parts(moved(80.0, 65.0, same_judge=True, other_task=True)) == ("separable", 15.0, 0.0, None)


@pytest.mark.parametrize(
    ("now", "before", "reason"),
    [
        (80.0, "malformed_reply", "before: malformed_reply"),
        ("no_answer:budget", 65.0, "now: no_answer:budget"),
        ("judge_failed: timeout: no reply", "out_of_range", "before: out_of_range, now: judge_failed"),
    ],
)
def test_a_score_without_points_on_a_side_is_unscored_with_its_reason(now: float | str, before: float | str, reason: str) -> None:
    move = moved(now, before)
    assert (move.state, move.reason, move.whole_move_points) == ("unscored", reason, None)


def test_scores_that_are_on_one_side_alone_are_counted_and_moved_nowhere() -> None:
    moves = score_moves(scores({"docs": [80.0, 70.0]}), scores({"old": [65.0]}), same_judge=True, changed_answers=(), changed_tasks=())
    assert [(move.question_id, move.arm, move.state) for move in moves] == [
        ("q0", "docs", "only_now"),
        ("q1", "docs", "only_now"),
        ("q0", "old", "only_before"),
    ]


def test_two_moves_that_plain_floats_would_not_add_up_do() -> None:
    assert (50.0 - 44.9) + (44.9 - 12.2) != 50.0 - 12.2
    move = moved(50.0, 12.2, changed=True, new_old=44.9)
    assert move.judge_move_points is not None
    assert move.answers_move_points is not None
    assert move.judge_move_points + move.answers_move_points == move.whole_move_points
    assert move.whole_move_points == pytest.approx(37.8, abs=1e-11)


BEFORE = {"baseline": [50.0, 60.0, 70.0, 40.0], "docs": [60.0, 60.0, 80.0, "malformed_reply"]}
NOW = {"baseline": [55.0, 60.0, 70.0, 40.0], "docs": [80.0, 70.0, 80.0, 90.0]}
CHANGED = {("q0", "docs", 0), ("q1", "docs", 0)}
BRIDGE = {"docs": [75.0]}
"""The new answer to q0, by the old judge; to q1 there is none."""


def summary() -> MoveSummary:
    moves = score_moves(
        scores(NOW), scores(BEFORE), same_judge=False, changed_answers=CHANGED, changed_tasks=(), new_answers_old_judge=scores(BRIDGE)
    )
    return summarise_moves(moves, arms=["baseline", "docs"], baseline_arm="baseline")


def test_moves_are_summed_up_by_arm_with_intervals_and_counts() -> None:
    baseline, docs = summary().arms["baseline"], summary().arms["docs"]
    # baseline: the judge moved q0 by 5, the others by 0: mean 1.25, sd 2.5, half width 3.182446 * 2.5 / 2
    assert (baseline.rows, baseline.separable, baseline.judge.questions, baseline.judge.moved_rows) == (4, 4, 4, 1)
    assert baseline.judge.mean_points == 1.25
    assert baseline.judge.ci_lo_points == pytest.approx(1.25 - 3.182446 * 1.25, abs=1e-5)
    assert baseline.judge.ci_hi_points == pytest.approx(1.25 + 3.182446 * 1.25, abs=1e-5)
    assert (baseline.answers.mean_points, baseline.answers.moved_rows) == (0.0, 0)
    # docs: q0 by the bridge (judge 5, answers 15), q1 not separable, q2 unmoved, q3 unscored before
    assert (docs.rows, docs.separable, docs.not_separable, docs.unscored) == (4, 2, 1, {"before: malformed_reply": 1})
    assert (docs.judge.mean_points, docs.answers.mean_points) == (2.5, 7.5)
    assert (docs.judge.moved_rows, docs.answers.moved_rows) == (1, 1)
    assert docs.bridges == {"new_answer_old_judge": 1}


def test_an_arms_delta_is_followed_over_the_questions_that_both_arms_scored_both_times() -> None:
    delta = summary().deltas["docs"]
    # over q0, q1, q2: docs minus baseline was 10, 0, 10 and is 25, 10, 10
    assert (delta.before_points, delta.now_points) == (pytest.approx(20 / 3), 15.0)
    assert delta.change.mean_points == pytest.approx(25 / 3)
    assert (delta.change.questions, delta.change.moved_rows) == (3, 2)
    # over q0 and q2, where the move can be told apart: judge 5-5 and 0-0, answers 15-0 and 0-0
    assert (delta.separable_questions, delta.judge_points, delta.answers_points) == (2, 0.0, 7.5)


def test_a_questions_move_is_the_mean_over_its_draws() -> None:
    now = by_place([*scores({"docs": [80.0]}).values(), *scores({"docs": [60.0]}, draw=1).values()])
    before = by_place([*scores({"docs": [70.0]}).values(), *scores({"docs": [60.0]}, draw=1).values()])
    judge = (
        summarise_moves(
            score_moves(now, before, same_judge=False, changed_answers=(), changed_tasks=()), arms=["docs"], baseline_arm="docs"
        )
        .arms["docs"]
        .judge
    )
    assert (judge.questions, judge.mean_points, judge.moved_rows, judge.ci_lo_points) == (1, 5.0, 1, None)


def test_questions_of_one_cluster_widen_the_interval() -> None:
    moves = score_moves(scores(NOW), scores(BEFORE), same_judge=False, changed_answers=(), changed_tasks=())
    plain, clustered = (
        summarise_moves(moves, arms=["baseline"], baseline_arm="baseline", clusters=clusters).arms["baseline"].judge
        for clusters in (None, {"q0": "a", "q1": "b", "q2": "b", "q3": "b"})
    )
    assert plain.mean_points == clustered.mean_points
    assert plain.ci_hi_points != clustered.ci_hi_points
