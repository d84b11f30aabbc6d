"""Verdicts at a threshold: what passes, what is left out, and what is tested."""

import pytest

from evalplatform.comparisons.verdicts import ArmVerdicts, QuestionVerdict, arm_verdicts, question_verdicts
from tests.support.arm_rows import Table, question_id, score, scores_of

ARMS = ["baseline", "docs"]


def rows_of(table: Table, pass_points: float, *, questions: int | None = None) -> list[QuestionVerdict]:
    count = questions or len(next(iter(table.values())))
    ids = [question_id(number) for number in range(count)]
    return question_verdicts(scores_of(table), arms=list(table), question_ids=ids, draws=1, pass_points=pass_points)


def verdicts_of(table: Table, pass_points: float, *, clustered: bool = False) -> ArmVerdicts:
    return arm_verdicts(
        rows_of(table, pass_points),
        arms=list(table),
        baseline_arm="baseline",
        pass_points=pass_points,
        draws=1,
        correction="holm",
        clustered=clustered,
    )


def test_a_question_passes_at_the_threshold_and_above() -> None:
    found = [row.verdict for row in rows_of({"baseline": [69.9, 70.0, 70.1, 0.0, 100.0]}, 70)]
    assert found == ["failed", "passed", "passed", "failed", "passed"]


def test_the_last_binary_digit_of_a_mean_does_not_fail_a_question() -> None:
    drawn = [score(0, "baseline", points, draw=draw) for draw, points in enumerate((70.1, 69.8, 70.1))]
    mean = (70.1 + 69.8 + 70.1) / 3
    (row,) = question_verdicts(drawn, arms=["baseline"], question_ids=[question_id(0)], draws=3, pass_points=70)
    assert row.points == pytest.approx(mean)
    assert row.verdict == "passed"


def test_a_question_is_judged_by_the_mean_of_its_scored_draws() -> None:
    drawn = [score(0, "baseline", 90.0, draw=0), score(0, "baseline", None, draw=1), score(0, "baseline", 60.0, draw=2)]
    (row,) = question_verdicts(drawn, arms=["baseline"], question_ids=[question_id(0)], draws=3, pass_points=75)
    assert (row.verdict, row.points, row.reason) == ("passed", 75.0, None)


def test_what_has_no_points_is_neither_passed_nor_failed_and_says_why() -> None:
    rows = rows_of({"baseline": [80.0, None]}, 70, questions=3)
    assert [(row.verdict, row.reason) for row in rows] == [
        ("passed", None),
        ("unscored", "malformed_reply"),
        ("unscored", "not_judged"),
    ]
    (arm,) = verdicts_of({"baseline": [80.0, None]}, 70).arms
    assert (arm.passed, arm.failed, arm.unscored, arm.pass_rate) == (1, 0, 1, 1.0)
    assert arm.unscored_reasons == {"malformed_reply": 1}


def test_an_arm_that_nobody_scored_has_no_pass_rate() -> None:
    found = verdicts_of({"baseline": [80.0, 90.0], "docs": [None, None]}, 70)
    assert (found.arms[1].pass_rate, found.arms[1].interval) == (None, None)
    (delta,) = found.deltas
    assert (delta.delta_rate, delta.difference, delta.p_exact, delta.significant_adjusted) == (None, None, None, None)


def test_only_questions_that_both_arms_scored_are_compared() -> None:
    (delta,) = verdicts_of({"baseline": [80.0, 20.0, None, 20.0], "docs": [80.0, 90.0, 90.0, None]}, 70).deltas
    assert (delta.passes.both, delta.passes.candidate_alone, delta.passes.baseline_alone, delta.passes.neither) == (1, 1, 0, 0)
    assert delta.delta_rate == 0.5


def test_below_six_pairs_there_is_an_interval_and_no_test() -> None:
    (delta,) = verdicts_of({"baseline": [0.0] * 5, "docs": [100.0] * 5}, 70).deltas
    assert (delta.p_exact, delta.p_adjusted, delta.significant_adjusted) == (None, None, None)
    assert delta.difference is not None
    assert delta.difference.ci_lo < 1.0 == delta.difference.ci_hi


def test_p_values_are_corrected_over_the_arms_that_have_a_test() -> None:
    table: Table = {
        "baseline": [0.0] * 8,
        "docs": [100.0] * 8,
        "skill": [100.0] * 4 + [0.0] * 4,
        "profile": [100.0] * 3 + [None] * 5,
    }
    docs, skill, profile = verdicts_of(table, 70).deltas
    assert (docs.p_exact, skill.p_exact, profile.p_exact) == (pytest.approx(2 / 2**8), pytest.approx(2 / 2**4), None)
    assert (docs.p_adjusted, skill.p_adjusted, profile.p_adjusted) == (pytest.approx(4 / 2**8), pytest.approx(2 / 2**4), None)
    assert (docs.significant_adjusted, skill.significant_adjusted, profile.significant_adjusted) == (True, False, None)
    assert docs.family_tested == 2


def test_clustered_questions_get_rates_and_neither_interval_nor_test() -> None:
    found = verdicts_of({"baseline": [0.0] * 8, "docs": [100.0] * 8}, 70, clustered=True)
    assert [(arm.pass_rate, arm.interval) for arm in found.arms] == [(0.0, None), (1.0, None)]
    assert (found.deltas[0].delta_rate, found.deltas[0].difference, found.deltas[0].p_exact) == (1.0, None, None)
