"""What several judges' points of the same answers come to: labels, corrections, agreement."""

import pytest
from scipy import stats

from evalplatform.comparisons.cross_judge import cross_judge
from evalplatform.comparisons.cross_judge_records import ArmLabel, ArmUnderJudges, CrossJudgement, Measure
from evalplatform.comparisons.refusals import MixedMaterial
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.stats.multiplicity import holm
from tests.support.judged_runs import Column, measure, run_under, shifted

UP: Column = [5, 6, 7, 8, 5, 6, 7, 8, 5, 6, -1, -1]
"""Ten of twelve questions won: p = 0.0386."""
STRONG_UP: Column = [5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8]
STRONG_DOWN: Column = [-delta for delta in STRONG_UP]
WEAK_UP: Column = [5, 6, 7, -1, -1, -1, 5, 6, 7, -1, -1, 5]
WEAK_DOWN: Column = [-5, -6, -7, 1, 1, 1, -5, -6, -7, 1, 1, -5]
FLAT: Column = [0.0] * 12
WON_BY_LITTLE_LOST_BY_MUCH: Column = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -90]


def judged(**columns: Column) -> ArmUnderJudges:
    measures = [measure(name, shifted(column)) for name, column in columns.items()]
    (arm,) = cross_judge(run_under(*measures, questions=12)).arms
    return arm


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        ({"a": STRONG_UP, "b": STRONG_UP}, ArmLabel(kind="consistent", direction="+")),
        ({"a": STRONG_DOWN, "b": STRONG_DOWN}, ArmLabel(kind="consistent", direction="-")),
        ({"a": STRONG_UP, "b": WEAK_UP}, ArmLabel(kind="consistent", direction="+", one_judge=True)),
        ({"a": STRONG_UP, "b": WEAK_DOWN}, ArmLabel(kind="leaning", direction="+", one_judge=True)),
        ({"a": STRONG_DOWN, "b": STRONG_DOWN, "c": WEAK_UP}, ArmLabel(kind="leaning", direction="-")),
        ({"a": STRONG_UP, "b": FLAT}, ArmLabel(kind="leaning", direction="+", one_judge=True)),
        ({"a": STRONG_UP, "b": STRONG_DOWN}, ArmLabel(kind="judge_dependent")),
        ({"a": WEAK_UP, "b": WEAK_UP, "c": WEAK_DOWN}, ArmLabel(kind="no_detectable_effect")),
        ({"a": FLAT, "b": FLAT}, ArmLabel(kind="no_detectable_effect")),
        ({"a": STRONG_UP}, ArmLabel(kind="consistent", direction="+", one_judge=True)),
        ({"a": FLAT}, ArmLabel(kind="no_detectable_effect", one_judge=True)),
    ],
)
def test_the_label_says_whether_judges_agree_on_an_arm(columns: dict[str, Column], label: ArmLabel) -> None:
    assert judged(**columns).label == label


def test_winning_often_by_little_and_losing_rarely_by_much_only_leans() -> None:
    arm = judged(a=WON_BY_LITTLE_LOST_BY_MUCH, b=STRONG_UP)
    (first, _) = arm.deltas
    assert first.estimate is not None
    assert (first.significant, first.direction, first.estimate.mean < 0) == (True, "+", True)
    assert arm.label == ArmLabel(kind="leaning", direction="+")


def test_two_prompts_of_one_model_are_one_judge() -> None:
    measures = [measure(name, shifted(STRONG_UP), judge="grader") for name in ("plain", "strict")]
    (arm,) = cross_judge(run_under(*measures, questions=12)).arms
    assert arm.label == ArmLabel(kind="consistent", direction="+", one_judge=True)


def test_below_six_pairs_an_arm_is_not_tested_which_is_not_no_effect() -> None:
    measures = [measure(name, shifted([20.0] * 5)) for name in ("a", "b")]
    (arm,) = cross_judge(run_under(*measures, questions=5)).arms
    assert arm.label == ArmLabel(kind="not_tested")
    assert [(delta.pairs, delta.sign, delta.significant) for delta in arm.deltas] == [(5, None, None)] * 2
    assert all(delta.estimate is not None for delta in arm.deltas)


def test_p_values_are_the_binomial_tests_corrected_over_the_measures_of_the_arm() -> None:
    arm = judged(a=UP, b=WEAK_UP, c=STRONG_UP)
    raw = [stats.binomtest(won, 12).pvalue for won in (10, 7, 12)]
    raw[1] = stats.binomtest(sum(delta > 0 for delta in WEAK_UP), 12).pvalue
    assert [delta.sign.p_value for delta in arm.deltas if delta.sign] == pytest.approx(raw)
    assert [delta.p_holm for delta in arm.deltas] == pytest.approx(holm(raw))
    assert [delta.significant for delta in arm.deltas] == [False, False, True], "UP alone would pass 0.05, not beside two others"


def test_a_measure_that_is_left_out_is_shown_and_has_no_say() -> None:
    left_out = measure(
        "old (stored)", shifted(STRONG_DOWN), stored=True, left_out=[MixedMaterial(run="haiku", stamp="mixed")], judge="grader"
    )
    counted = [measure("a", shifted(UP)), measure("b", shifted(WEAK_UP))]
    with_it = cross_judge(run_under(*counted, left_out, questions=12))
    without = cross_judge(run_under(*counted, questions=12))
    (arm,), (plain,) = with_it.arms, without.arms
    assert (arm.label, arm.pairs, arm.direction_alpha) == (plain.label, plain.pairs, plain.direction_alpha)
    assert (with_it.points_alpha, with_it.least_coverage_rate) == (without.points_alpha, without.least_coverage_rate)
    assert arm.deltas[:2] == plain.deltas
    assert (arm.deltas[2].counts, arm.deltas[2].p_holm, arm.deltas[2].significant) == (False, None, None)
    assert arm.deltas[2].estimate is not None


def test_deltas_are_over_the_questions_that_the_measure_scored_in_both_arms() -> None:
    lossy = measure("a", {"baseline": [50, None, 50, 50, 50, 50, 50, 50], "docs": [60, 60, None, 60, 60, 60, 60, 60]})
    found = cross_judge(run_under(lossy, measure("b", shifted([10] * 8)), questions=8))
    assert [delta.pairs for delta in found.arms[0].deltas] == [6, 8]
    assert found.coverage_rates == {"a": 0.75, "b": 1.0}
    assert found.least_coverage_rate == 0.75


def test_each_arm_is_a_family_of_its_own() -> None:
    three = ("baseline", "docs", "skill")
    measures = [measure(name, {**shifted(UP), "skill": [50.0 + delta for delta in UP]}) for name in ("a",)]
    (docs, skill) = cross_judge(run_under(*measures, questions=12, arms=three)).arms
    assert (docs.arm, skill.arm) == ("docs", "skill")
    assert docs.deltas == skill.deltas
    assert docs.deltas[0].p_holm == docs.deltas[0].sign.p_value, "one measure: nothing to correct for"


def test_agreement_on_directions_is_counted_question_by_question() -> None:
    arm = judged(a=[1, 1, 1, -1, -1, 0, 2, 2, 2, 2, 2, 2], b=[5, -5, 3, -9, 1, 0, 1, 1, 1, 1, 1, 1])
    (pair,) = arm.pairs
    assert pair.measures == ("a", "b")
    assert (pair.directions.pairs, pair.directions.agreeing) == (12, 10)
    assert pair.directions.rate is not None
    assert pair.directions.rate.rate == pytest.approx(10 / 12)
    assert pair.directions.kappa is not None
    # Cohen by hand: observed 10/12; a says 9 up, 2 down, 1 same, b says 9, 2, 1, so chance is (81 + 4 + 1) / 144.
    assert pair.directions.kappa.kappa == pytest.approx((10 / 12 - 86 / 144) / (1 - 86 / 144))
    assert pair.verdicts is None


def test_agreement_at_the_pass_mark_is_of_the_arms_own_answers() -> None:
    measures = [measure("a", shifted([20, 20, -20, -20, 20, 20])), measure("b", shifted([20, -20, -20, -20, 20, 20]))]
    (arm,) = cross_judge(run_under(*measures, questions=6, pass_points=60)).arms
    (pair,) = arm.pairs
    assert pair.verdicts is not None
    assert (pair.verdicts.pairs, pair.verdicts.agreeing) == (6, 5)
    assert pair.rank_correlation is not None


def test_judges_who_say_the_same_of_everything_have_no_kappa_but_a_reason() -> None:
    (pair,) = judged(a=STRONG_UP, b=STRONG_UP).pairs
    assert (pair.directions.agreeing, pair.directions.kappa) == (12, None)
    assert pair.directions.kappa_reason == "not defined: both put everything into one category"


def test_one_judge_alone_agrees_with_nobody() -> None:
    found = cross_judge(run_under(measure("a", shifted(STRONG_UP)), questions=12))
    assert found.arms[0].pairs == ()
    assert found.points_alpha.reason == found.arms[0].direction_alpha.reason == "only one judge counts"


def test_alpha_over_all_judges_is_one_where_they_say_the_same_and_low_where_they_turn_each_other_round() -> None:
    same = cross_judge(run_under(measure("a", shifted(UP)), measure("b", shifted(UP)), questions=12))
    turned = cross_judge(run_under(measure("a", shifted(UP)), measure("b", shifted([-delta for delta in UP])), questions=12))
    assert same.points_alpha.alpha is not None
    assert same.points_alpha.alpha.alpha == 1.0
    assert turned.arms[0].direction_alpha.alpha is not None
    assert turned.arms[0].direction_alpha.alpha.alpha < 0


def test_clustered_questions_count_once_each_and_agreement_has_no_interval() -> None:
    pages = {f"q{place}": f"page {place // 4}" for place in range(24)}
    measures = [measure("a", shifted([5.0, 6.0, 7.0, -1.0] * 6)), measure("b", shifted([4.0, -2.0, 9.0, -1.0] * 6))]
    clustered = cross_judge(run_under(*measures, questions=24, clusters=pages))
    plain = cross_judge(run_under(*measures, questions=24))
    (first, _), (pair,) = clustered.arms[0].deltas, clustered.arms[0].pairs
    assert first.sign is not None
    assert (first.pairs, first.sign.wins, first.sign.losses) == (24, 6, 0)
    assert (first.estimate.clusters, plain.arms[0].deltas[0].sign.wins) == (6, 18)
    assert (pair.directions.rate, pair.directions.agreeing) == (None, plain.arms[0].pairs[0].directions.agreeing)
    assert (pair.directions.kappa.ci_lo, pair.directions.kappa.ci_reason) == (None, "questions are clustered")
    assert pair.rank_correlation.ci_reason == "questions are clustered"


def test_too_few_clusters_are_not_tested() -> None:
    pages = {f"q{place}": f"page {place // 4}" for place in range(20)}
    (arm,) = cross_judge(run_under(measure("a", shifted([5.0] * 20)), questions=20, clusters=pages)).arms
    assert arm.label.kind == "not_tested"


def test_the_seed_fixes_every_interval_and_other_arms_change_none() -> None:
    def found(arms: tuple[str, ...]) -> ArmUnderJudges:
        columns = {name: {**shifted(UP), "skill": [50.0 + place for place in range(12)]} for name in ("a",)}
        others = {"b": {**shifted(WEAK_UP), "skill": [40.0 + place * place for place in range(12)]}}
        run = run_under(*(measure(name, column) for name, column in {**columns, **others}.items()), questions=12, arms=arms)
        return cross_judge(run, seed=3).arms[0]

    assert found(("baseline", "docs")) == found(("baseline", "docs", "skill"))


def test_a_baseline_that_is_no_arm_is_refused_with_the_nearest_name() -> None:
    run = run_under(measure("a", shifted(UP)), questions=12).with_changes(baseline_arm="baselin")
    with pytest.raises(UnknownNameError, match="Did you mean 'baseline'"):
        cross_judge(run)


def test_a_result_comes_back_from_json_as_it_was() -> None:
    measures: list[Measure] = [measure("a", shifted(UP)), measure("b", shifted([None, *UP[1:]]))]
    result = CrossJudgement(judges=("a", "b"), runs=(cross_judge(run_under(*measures, questions=12, pass_points=55)),))
    assert CrossJudgement.model_validate_json(result.model_dump_json()) == result
    assert result.judge_dependent == ()
