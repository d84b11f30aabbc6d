"""What a plugin set does to every arm, over two runs that differ in nothing else."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evalplatform.comparisons.compared_run import ComparedRun, CostFigures
from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.comparisons.plugin_delta_records import (
    ControlHasPlugins,
    FewPairs,
    OneHasJudgeMetrics,
    PartialCost,
    PluginDelta,
    QuestionSetsDiffer,
    ScoreDelta,
    SeedsDiffer,
    WrongWayRound,
)
from evalplatform.comparisons.refusals import RunSays
from evalplatform.comparisons.run_warnings import RunTruncated
from evalplatform.reports.compared_run_file import read_compared_run
from evalplatform.reports.plugin_delta_v1 import plugin_delta_payload
from tests.support.plugin_cells import ARMS, changed, control_run, plugin_run, unjudged, with_arm

CASES = Path(__file__).parents[1] / "cases" / "treatment-arms"


def computed(control: ComparedRun, plugin: ComparedRun, **settings: str) -> PluginDelta:
    delta = plugin_delta(control, plugin, **settings)  # type: ignore[arg-type]
    assert isinstance(delta, PluginDelta), delta
    return delta


def score_of(delta: PluginDelta, arm: str) -> ScoreDelta:
    return next(score for score in delta.scores if score.arm == arm)


def with_points(run: ComparedRun, arm: str, points: list[float | None]) -> ComparedRun:
    named = zip(run.identity.question_ids, points, strict=False)
    return with_arm(run, arm, points={question: value for question, value in named if value is not None})


def assert_within(expected: object, found: object, place: str = "") -> None:
    """Fail unless every number and text of `expected` is in `found`, which may say more."""
    if isinstance(expected, dict):
        assert isinstance(found, dict), place
        for key, value in expected.items():
            assert_within(value, found.get(key), f"{place}.{key}")
    else:
        assert found == expected, place


def test_the_worked_case_is_computed_to_the_last_digit() -> None:
    control, plugin = (read_compared_run(CASES / f"D01_n20_{side}" / "arms.json", name=side) for side in "ab")
    expected = json.loads((CASES / "delta" / "D01_n20.json").read_text())
    assert_within(expected, plugin_delta_payload(computed(control, plugin)))


def test_points_are_paired_over_the_questions_that_both_runs_scored() -> None:
    control = with_points(control_run(), "docs", [90.0, 10.0, 20.0, 30.0])
    score = score_of(computed(control, with_points(plugin_run(), "docs", [None, 12.0, 21.0, 33.0])), "docs")
    assert (score.pairs, score.control_mean_points, score.plugin_mean_points, score.delta_points) == (3, 20.0, 22.0, 2.0)
    assert score.question_deltas == {"q001": 2.0, "q002": 1.0, "q003": 3.0}


def test_a_lift_on_every_question_is_higher_and_one_of_equal_size_everywhere_is_not_tested() -> None:
    before = [50.0, 60.0, 70.0, 55.0, 65.0, 75.0, 52.0, 58.0]
    control = with_points(with_points(control_run(), "docs", before), "baseline", before)
    lifted = [point + lift for point, lift in zip(before, (8, 6, 5, 8, 7, 8, 7, 3), strict=True)]
    plugin = with_points(with_points(plugin_run(), "docs", lifted), "baseline", [point + 5 for point in before])
    delta = computed(control, plugin)
    assert score_of(delta, "docs").verdict.significant_adjusted is True
    constant = score_of(delta, "baseline")
    assert constant.effect is not None
    assert (constant.effect.ci_lo, constant.effect.ci_hi, constant.effect.ci_method) == (5.0, 5.0, "degenerate")
    assert constant.verdict.significant is constant.verdict.p_adjusted is None
    assert constant.verdict.family_tested == 3, "what has no test costs the others nothing"


def test_five_pairs_have_an_effect_and_no_verdict_and_one_pair_has_a_delta_alone() -> None:
    control = with_points(with_points(control_run(), "docs", [1.0, 2.0, 3.0, 4.0, 5.0]), "baseline", [50.0])
    delta = computed(control, plugin_run())
    docs, baseline = score_of(delta, "docs"), score_of(delta, "baseline")
    assert (docs.pairs, docs.effect is not None, docs.verdict.significant) == (5, True, None)
    assert (baseline.pairs, baseline.effect) == (1, None)
    assert baseline.delta_points is not None


def test_an_arm_without_a_pair_has_no_numbers_instead_of_zeros() -> None:
    score = score_of(computed(with_points(control_run(), "docs", []), plugin_run()), "docs")
    assert score.pairs == 0
    assert score.control_mean_points is score.plugin_mean_points is score.delta_points is score.effect is None


def test_the_correction_is_over_the_arms_of_this_delta() -> None:
    by_holm, by_bh = (computed(control_run(), plugin_run(), correction=name) for name in ("holm", "bh"))
    raw = sorted(score.effect.p_t for score in by_holm.scores if score.effect is not None and score.effect.p_t is not None)
    smallest = min(by_holm.scores, key=lambda score: score.effect.p_t if score.effect and score.effect.p_t else 1)
    assert smallest.verdict.p_adjusted == pytest.approx(4 * raw[0])
    assert sorted(score.verdict.p_adjusted or 0 for score in by_bh.scores)[-1] == pytest.approx(raw[-1])


def test_no_other_arm_changes_an_arms_numbers() -> None:
    alone = computed(with_points(control_run(), "baseline", []), plugin_run())
    assert score_of(alone, "docs").effect == score_of(computed(control_run(), plugin_run()), "docs").effect


def test_swapped_sides_turn_every_delta_around() -> None:
    forward, back = computed(control_run(), plugin_run()), computed(plugin_run(), control_run())
    for there, again in zip(forward.scores, back.scores, strict=True):
        assert again.delta_points == -there.delta_points
        assert again.effect.p_t == there.effect.p_t
    assert back.warnings == (WrongWayRound(control="caveman", plugin_set="caveman:full", plain="plain"),)


def test_costs_are_what_the_runs_state_and_unknown_where_one_does_not() -> None:
    delta = computed(with_arm(control_run(), "docs", cost=CostFigures(prompt_tokens=100)), plugin_run())
    docs = next(cost for cost in delta.costs if cost.arm == "docs")
    assert (docs.prompt_tokens.control, docs.prompt_tokens.plugin, docs.prompt_tokens.delta) == (100, 420 * 24, 9980.0)
    assert docs.total_cost_usd.control is docs.total_cost_usd.delta is docs.mean_time_to_first_token_seconds.delta is None
    assert docs.total_cost_usd.plugin is not None


def test_lengths_are_means_of_each_run_and_a_delta_over_what_both_answered() -> None:
    control = with_arm(control_run(), "docs", raw_answer_chars={"q000": 900.0, "q001": 100.0, "q002": 200.0})
    delta = computed(control, with_arm(plugin_run(), "docs", raw_answer_chars={"q001": 50.0, "q002": 60.0, "q003": 10.0}))
    raw = next(text.raw for text in delta.texts if text.arm == "docs")
    assert (raw.control_mean_chars, raw.plugin_mean_chars) == (400.0, 40.0)
    assert (raw.pairs, raw.paired_delta_chars) == (2, -95.0), "not -360, the difference of two means over different questions"


def test_runs_that_nobody_judged_give_costs_and_lengths() -> None:
    delta = computed(unjudged(control_run()), unjudged(plugin_run()))
    assert (delta.is_judged, delta.coverage_rate, {score.pairs for score in delta.scores}) == (False, None, {0})
    assert delta.costs[0].completion_tokens.delta is not None
    assert delta.warnings == ()


def test_factors_that_a_run_does_not_state_are_listed_as_not_compared() -> None:
    delta = computed(control_run(), plugin_run())
    assert delta.not_compared == {}
    bare = computed(changed(control_run(), arm_content_digests=None), changed(plugin_run(), arm_content_digests=None, retrieval=None))
    assert bare.not_compared == {"content of the arms": ("plain", "caveman"), "retrieval settings": ("caveman",)}


@pytest.mark.parametrize(
    ("control", "plugin", "warning"),
    [
        (
            changed(control_run(), plugin_set="truncate:80", plugin_set_id="sha256:2"),
            plugin_run(),
            ControlHasPlugins(run="plain", plugin_set="truncate:80"),
        ),
        (control_run(), replace(plugin_run(), has_judge_metrics=False), OneHasJudgeMetrics(having="plain", lacking="caveman")),
        (replace(control_run(), has_judge_metrics=False), plugin_run(), OneHasJudgeMetrics(having="caveman", lacking="plain")),
        (
            control_run(),
            replace(plugin_run(), truncated_reason="budget_exhausted"),
            RunTruncated(run="caveman", why="budget_exhausted"),
        ),
        (
            control_run(),
            changed(plugin_run(), question_set_digest="sha256:other"),
            QuestionSetsDiffer(
                sides=(RunSays(run="plain", says=control_run().identity.question_set_digest), RunSays(run="caveman", says="sha256:other"))
            ),
        ),
        (
            control_run(),
            changed(plugin_run(), seed=None),
            SeedsDiffer(sides=(RunSays(run="plain", says="7"), RunSays(run="caveman", says=None))),
        ),
    ],
    ids=lambda value: getattr(value, "warning", ""),
)
def test_what_may_mislead_is_a_warning_beside_the_numbers(control: ComparedRun, plugin: ComparedRun, warning: object) -> None:
    delta = computed(control, plugin)
    assert delta.warnings == (warning,)
    assert delta.scores[0].delta_points is not None


def test_a_question_set_that_one_run_does_not_name_is_no_warning() -> None:
    assert computed(changed(control_run(), question_set_digest=None), plugin_run()).warnings == ()


def test_under_95_percent_of_pairs_is_a_warning_that_names_the_worst_arm() -> None:
    control = with_points(with_points(control_run(), "docs", [50.0] * 22), "baseline", [50.0] * 20)
    delta = computed(control, plugin_run())
    assert delta.warnings == (FewPairs(arms=("baseline", "docs"), worst_arm="baseline", pairs=20, most_pairs=22, questions=24),)
    assert delta.coverage_rate == 20 / 24
    assert computed(with_points(control_run(), "docs", [50.0] * 23), plugin_run()).warnings == (), "23 of 24 is 95.8%"


def test_a_cost_that_leaves_answers_out_is_named_with_its_run() -> None:
    delta = computed(control_run(), plugin_run())
    assert delta.partial_costs == (PartialCost(arm=ARMS[0], run="caveman", priced_answers=22, answers=24),)
