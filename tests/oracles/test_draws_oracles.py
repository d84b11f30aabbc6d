"""Draws of a question: their mean with an interval over questions is the cluster-robust estimate over all draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.api import OLS

from evalplatform.comparisons.arm_summary import summarise_arms
from evalplatform.comparisons.records import ArmSummary, ScorePoints
from evalplatform.stats.mean import estimate_mean

POINTS = st.integers(0, 1_000).map(lambda tenths: tenths / 10)
ARMS = ("baseline", "a", "b", "a+b")


def drawn(draws: int) -> st.SearchStrategy[list[list[float]]]:
    return st.lists(st.lists(POINTS, min_size=draws, max_size=draws), min_size=3, max_size=12)


@given(st.integers(1, 5).flatmap(drawn))
@settings(deadline=None)
def test_intervals_over_question_means_are_those_of_draws_clustered_by_question(points: list[list[float]]) -> None:
    of_questions = estimate_mean([sum(draws) / len(draws) for draws in points])
    of_draws = estimate_mean(
        [each for draws in points for each in draws], clusters=[str(question) for question, draws in enumerate(points) for _ in draws]
    )
    assert of_questions is not None
    assert of_draws is not None
    assert of_draws.mean == pytest.approx(of_questions.mean, abs=1e-9)
    assert of_draws.standard_error == pytest.approx(of_questions.standard_error, abs=1e-9)
    assert (of_draws.ci_lo, of_draws.ci_hi) == (pytest.approx(of_questions.ci_lo, abs=1e-6), pytest.approx(of_questions.ci_hi, abs=1e-6))
    assert of_draws.degrees_of_freedom == of_questions.degrees_of_freedom == len(points) - 1


def summary_of(points: np.ndarray) -> ArmSummary:  # type: ignore[type-arg]
    """The summary of points by arm, question and draw; NaN has no points."""
    questions, draws = points.shape[1:]
    rows = [
        ScorePoints(f"q{question}", arm, draw, None if np.isnan(value) else float(value), "malformed_reply" if np.isnan(value) else None)
        for place, arm in enumerate(ARMS[: len(points)])
        for question in range(questions)
        for draw in range(draws)
        for value in [points[place, question, draw]]
    ]
    ids = [f"q{question}" for question in range(questions)]
    return summarise_arms(arms=ARMS[: len(points)], baseline_arm="baseline", question_ids=ids, answers=[], scores=rows, draws=draws)


def clustered(values: np.ndarray) -> tuple[float, float]:  # type: ignore[type-arg]
    """The mean of values by question and draw and its standard error by statsmodels: OLS on a constant, CR1 by question."""
    flat, questions = values.ravel(), np.repeat(np.arange(len(values)), values.shape[1])
    fitted = OLS(flat, np.ones(len(flat))).fit(cov_type="cluster", cov_kwds={"groups": questions})
    return float(fitted.params[0]), float(fitted.bse[0])


@pytest.mark.parametrize("draws", [2, 5])
def test_scores_deltas_and_interactions_of_draws_are_statsmodels_clustered_by_question(draws: int) -> None:
    rng = np.random.default_rng(draws)
    points = (rng.normal(50, 10, (1, 15, 1)) + rng.normal(0, 5, (4, 15, 1)) + rng.normal(0, 8, (4, 15, draws))).clip(0, 100)
    summary = summary_of(points)
    for place, arm in enumerate(ARMS):
        mean, _ = clustered(points[place])
        assert summary.scores[arm].mean_points == pytest.approx(mean, rel=1e-12)
    effect = summary.deltas["a"].effect
    assert effect is not None
    assert (effect.delta_mean, effect.standard_error) == pytest.approx(clustered(points[1] - points[0]), rel=1e-9)
    (interaction,) = summary.interactions
    found = (interaction.effect.delta_mean, interaction.effect.standard_error)
    assert found == pytest.approx(clustered(points[3] - points[1] - points[2] + points[0]), rel=1e-9)


def test_where_draws_are_missing_each_question_weighs_the_same_and_not_each_draw() -> None:
    points = np.array([[[0.0, 0.0, 0.0], [90.0, np.nan, np.nan]], [[10.0, 10.0, 10.0], [90.0, 90.0, np.nan]]])
    summary = summary_of(points)
    assert summary.scores["baseline"].mean_points == 45.0  # and not 22.5, the mean of the four draws
    assert summary.deltas["a"].pairs == 2
    effect = summary.deltas["a"].effect
    assert effect is not None
    assert effect.delta_mean == 5.0
