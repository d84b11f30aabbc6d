"""The numbers of runs beside each other: against hand-computed ones, SciPy, and the worked cases."""

import json
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.difficulty_rows import difficulty_name
from evalplatform.comparisons.model_comparison import compare_models
from evalplatform.comparisons.model_comparison_records import ModelComparison, RankedRun, RunRow, RunWins, Uncovered
from evalplatform.comparisons.section_names import names_of_others
from evalplatform.reports.compared_run_file import compared_run_of, read_compared_run
from evalplatform.reports.rounding import rounded_or_none, rounded_p
from evalplatform.stats.paired import paired_effect
from tests.support.model_runs import BETTER, TWO_ARMS, Points, arms_file, cost_block, model_run

CASES = Path(__file__).parents[1] / "cases/treatment-arms"
HOLES: Points = {
    "baseline": [50.0, None, 40.0, 53.0, 54.0, 55.0, 56.0, 57.0],
    "docs": [60.0, 70.0, None, 66.0, 68.0, 70.0, 72.0, 50.0],
}


def compared(*runs: ComparedRun, **options: Any) -> ModelComparison:
    found = compare_models(runs, **options)
    assert isinstance(found, ModelComparison), found
    return found


def row(found: ModelComparison, run: str) -> RunRow:
    return next(row for row in found.runs if row.run == run)


def test_a_delta_is_the_mean_of_paired_differences_and_means_are_of_what_each_arm_scored() -> None:
    holed = row(compared(model_run("a", HOLES), model_run("b", BETTER)), "a")
    assert (holed.delta.pairs, holed.unscored, holed.questions) == (6, 2, 8)
    assert holed.delta.delta_points == pytest.approx((10 + 13 + 14 + 15 + 16 - 7) / 6)
    assert holed.treatment_mean_points == pytest.approx((60 + 70 + 66 + 68 + 70 + 72 + 50) / 7)
    assert holed.baseline_mean_points == pytest.approx((50 + 40 + 53 + 54 + 55 + 56 + 57) / 7)
    assert (holed.improved, holed.degraded) == (5, 1)


def test_all_numbers_are_of_the_questions_that_every_run_has() -> None:
    ids = ["q0", "q1", "q2", "q3", "q4", "q5", "q6", "other"]
    found = compared(model_run("a"), model_run("b", {**TWO_ARMS, "docs": [*TWO_ARMS["docs"][:7], 0.0]}, ids=ids))
    assert found.common_questions == 7
    assert [row.delta.pairs for row in found.runs] == [7, 7]
    assert found.runs[0].delta.delta_points == found.runs[1].delta.delta_points == 13.0
    assert sum(one.wins for one in found.head_to_head.runs) + found.head_to_head.ties == 7


def test_intervals_and_tests_are_those_of_scipy() -> None:
    effect = row(compared(model_run("a", HOLES), model_run("b", BETTER)), "a").delta.effect
    assert effect is not None
    differences = [10.0, 13.0, 14.0, 15.0, 16.0, -7.0]
    test = stats.ttest_1samp(differences, 0.0)
    assert effect.p_t == pytest.approx(test.pvalue)
    assert (effect.ci_lo, effect.ci_hi) == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert effect.p_wilcoxon == pytest.approx(stats.wilcoxon(differences, zero_method="zsplit").pvalue)


def test_p_values_are_corrected_over_the_runs_before_they_are_rounded() -> None:
    runs = [model_run(name, points) for name, points in (("a", TWO_ARMS), ("b", BETTER), ("c", HOLES))]
    raw = [row.delta.effect.p_t for row in compared(*runs).runs if row.delta.effect]
    for correction in ("holm", "bh"):
        adjusted = [row.delta.verdict.p_adjusted for row in compared(*runs, correction=correction).runs]
        smallest, middle, largest = sorted(raw)
        expected = {
            "holm": {smallest: 3 * smallest, middle: 2 * middle, largest: largest},
            "bh": {smallest: 3 * smallest, middle: min(1.5 * middle, largest), largest: largest},
        }[correction]
        assert adjusted == pytest.approx([expected[p_value] for p_value in raw])


def test_below_six_pairs_there_is_an_interval_and_no_test() -> None:
    few = {arm: points[:5] for arm, points in TWO_ARMS.items()}
    found = compared(model_run("a", few), model_run("b", BETTER))
    assert [(row.delta.pairs, row.delta.verdict.significant_adjusted) for row in found.runs] == [(5, None), (5, None)]
    assert all(row.delta.effect is not None and row.delta.effect.ci_lo < row.delta.effect.ci_hi for row in found.runs)


def test_differences_without_spread_are_not_tested() -> None:
    shift = {"baseline": [50.0] * 8, "docs": [55.0] * 8}
    found = row(compared(model_run("a"), model_run("b", shift)), "b").delta
    assert found.effect is not None
    assert (found.delta_points, found.effect.p_t, found.effect.effect, found.verdict.significant_adjusted) == (5.0, None, "unknown", None)


def test_a_lone_question_has_a_delta_and_no_interval() -> None:
    one = {"baseline": [50.0], "docs": [55.0]}
    delta = compared(model_run("a", one)).runs[0].delta
    assert (delta.pairs, delta.delta_points, delta.effect) == (1, 5.0, None)


@pytest.mark.parametrize("case", ["S01_n20", "S06_n5_too_few", "S08_constant_shift", "S10_ties_zsplit"])
def test_a_case_gives_its_numbers_for_every_arm(case: str) -> None:
    expected = json.loads((CASES / case / "numbers.json").read_text())["summary"]["per_arm"]
    run = read_compared_run(CASES / case / "arms.json")
    for arm in run.scored_treatment_arms:
        found, wanted = compared(run, treatment_arm=arm).runs[0], expected[arm]
        assert rounded_or_none(found.treatment_mean_points, 1) == wanted["avg_aggregate"]
        assert rounded_or_none(found.baseline_mean_points, 1) == expected["baseline"]["avg_aggregate"]
        tests = wanted.get("significance")
        assert (tests is not None) == (found.delta.effect is not None)
        if tests is not None and found.delta.effect is not None:
            effect = found.delta.effect
            assert (effect.n, rounded_or_none(effect.delta_mean, 2)) == (tests["n"], tests["delta_mean"])
            assert (rounded_or_none(effect.ci_lo, 4), rounded_or_none(effect.ci_hi, 4)) == (tests["ci_lo"], tests["ci_hi"])
            assert (rounded_p(effect.p_t), rounded_p(effect.p_wilcoxon)) == (tests["p_ttest"], tests["p_wilcoxon"])


def test_head_to_head_counts_a_tie_for_nobody_and_tells_uncontested_wins() -> None:
    a = {"baseline": [50.0] * 5, "docs": [70.0, 60.0, 65.0, None, 50.0]}
    b = {"baseline": [50.0] * 5, "docs": [60.0, 70.0, 65.0, None, None]}
    found = compared(model_run("a", a), model_run("b", b)).head_to_head
    assert found.runs == (RunWins(run="a", wins=2, uncontested=1), RunWins(run="b", wins=1, uncontested=0))
    assert (found.questions, found.ties, found.unscored) == (5, 1, 1)


def test_two_runs_are_paired_question_by_question() -> None:
    (pair,) = compared(model_run("a"), model_run("b", BETTER)).pairs
    assert (pair.first, pair.second) == ("a", "b")
    quality = [60 - 58, 62 - 61, 64 - 64, 66 - 67, 68 - 70, 70 - 73, 72 - 76, 74 - 79]
    benefit = [10 - 3, 11 - 5, 12 - 7, 13 - 9, 14 - 11, 15 - 13, 16 - 15, 17 - 17]
    for found, differences in ((pair.quality, quality), (pair.benefit, benefit)):
        assert found is not None
        assert found.effect is not None
        assert found.delta_points == pytest.approx(sum(differences) / 8)
        assert found.effect.p_t == pytest.approx(stats.ttest_1samp(differences, 0.0).pvalue)


def test_difficulties_stand_from_easy_to_hard_and_others_after_them() -> None:
    levels = ["hard", 1, "Easy ", "weird", 2, None, 3, "advanced"]
    found = compared(model_run("a", HOLES, difficulty=levels), model_run("b", BETTER, difficulty=levels))
    assert [(row.difficulty, row.questions) for row in found.difficulty] == [
        ("easy", 2),
        ("medium", 1),
        ("advanced", 1),
        ("hard", 2),
        ("weird", 1),
    ]
    easy_in_a = found.difficulty[0].sides[0]
    assert (easy_in_a.treatment_mean_points, easy_in_a.pairs, easy_in_a.delta_points) == (70.0, 0, None)
    hard_in_a = found.difficulty[3].sides[0]
    assert (hard_in_a.pairs, hard_in_a.delta_points) == (2, 13.0)
    assert hard_in_a.ci_lo_points is not None
    assert hard_in_a.ci_lo_points < 13.0


def test_a_question_that_runs_call_differently_hard_has_a_row_of_its_own() -> None:
    a, b = (model_run(name, difficulty=["easy", level, *[None] * 6]) for name, level in (("a", "easy"), ("b", 3)))
    assert [(row.difficulty, row.questions) for row in compared(a, b).difficulty] == [("easy", 1), ("stated differently", 1)]


@pytest.mark.parametrize(
    ("stated", "name"), [(1, "easy"), ("2", "medium"), (3, "hard"), (4, "4"), (" HARD", "hard"), ("", None), (1.5, "1.5")]
)
def test_a_difficulty_has_one_name(stated: str | int | float, name: str | None) -> None:
    assert difficulty_name(stated) == name


def test_runs_are_ranked_by_points_and_by_delta_and_a_run_without_points_has_no_rank() -> None:
    none = {"baseline": [50.0] * 8}
    found = compared(model_run("none", none), model_run("a"), model_run("b", BETTER), model_run("same", TWO_ARMS))
    assert found.quality_ranking == (
        RankedRun(rank=1, run="b", points=68.5),
        RankedRun(rank=2, run="a", points=67.0),
        RankedRun(rank=2, run="same", points=67.0),
        RankedRun(rank=None, run="none", points=None),
    )
    assert [place.run for place in found.delta_ranking] == ["a", "same", "b", "none"]


def test_without_a_scored_arm_baselines_are_ranked() -> None:
    found = compared(model_run("a", {"baseline": [50.0, 60.0]}), model_run("b", {"baseline": [70.0, 60.0]}))
    assert (found.treatment_arm, found.ranked_arm) == (None, "baseline")
    assert [(place.run, place.points) for place in found.quality_ranking] == [("b", 65.0), ("a", 55.0)]
    assert all(place.rank is None for place in found.delta_ranking)


def test_replicates_are_averaged_over_the_questions_that_all_of_them_scored_in_both_arms() -> None:
    replicates = model_run("small-run1", HOLES, model="small"), model_run("small-run2", BETTER, model="small")
    found = compared(*replicates, model_run("other"), pool_replicates=True)
    (pool,) = found.pooled
    assert (pool.label, pool.runs, pool.kept_questions, pool.dropped_questions) == ("small[n=2]", ("small-run1", "small-run2"), 6, 2)
    assert found.common_questions == 6, "the dropped questions are in no row"
    pooled = row(found, "small[n=2]")
    assert (pooled.replicates, pooled.unscored) == (("small-run1", "small-run2"), 0)
    docs = [(60 + 58) / 2, (66 + 67) / 2, (68 + 70) / 2, (70 + 73) / 2, (72 + 76) / 2, (50 + 79) / 2]
    baseline = [(50 + 55) / 2, (53 + 58) / 2, (54 + 59) / 2, (55 + 60) / 2, (56 + 61) / 2, (57 + 62) / 2]
    assert pooled.treatment_mean_points == pytest.approx(sum(docs) / 6)
    assert pooled.delta.delta_points == pytest.approx((sum(docs) - sum(baseline)) / 6)


def test_pooled_costs_are_sums_and_times_means() -> None:
    costs = [cost_block(8, priced=7, cost_usd=0.02, latency=1.0), cost_block(8, cost_usd=0.03, latency=2.0)]
    runs = [model_run(f"s{place}", model="s", cost_summary={"baseline": cost, "docs": cost}) for place, cost in enumerate(costs)]
    cost = compared(*runs, pool_replicates=True).runs[0].baseline_cost
    assert (cost.total_cost_usd, cost.answers, cost.priced_answers) == (pytest.approx(0.05), 16, 15)
    assert (cost.prompt_tokens, cost.total_tokens, cost.mean_latency_seconds) == (160, 192, 1.5)
    assert cost.mean_time_to_first_token_seconds is None


def test_a_pooled_cost_that_one_replicate_does_not_know_is_marked_as_partial() -> None:
    costs = [cost_block(8, cost_usd=0.02), cost_block(8, priced=0, cost_usd=None, latency=None)]
    runs = [model_run(f"s{place}", model="s", cost_summary={"baseline": cost, "docs": cost}) for place, cost in enumerate(costs)]
    cost = compared(*runs, pool_replicates=True).runs[0].baseline_cost
    assert (cost.total_cost_usd, cost.is_partial, cost.mean_latency_seconds) == (0.02, True, None)


def test_replicates_without_the_scored_arm_are_pooled_over_their_baseline() -> None:
    bare = [model_run(name, {"baseline": TWO_ARMS["baseline"]}, model="bare") for name in ("bare1", "bare2")]
    found = compared(model_run("a"), *bare, pool_replicates=True)
    pooled = row(found, "bare[n=2]")
    assert (pooled.treatment_arm, pooled.baseline_mean_points, pooled.delta.delta_points) == (None, 53.5, None)
    assert row(found, "a").delta.delta_points == 13.5


def test_runs_that_differ_are_not_pooled() -> None:
    found = compared(model_run("a"), model_run("b"), pool_replicates=True)
    assert [row.run for row in found.runs] == ["a", "b"]
    assert found.pooled == ()


@pytest.mark.parametrize(
    ("names", "label"),
    [
        (("sonnet-run1", "sonnet-run2"), "sonnet[n=2]"),
        (("opus48a", "opus48b"), "opus[n=2]"),
        (("gpt-4.1-run1", "gpt-4.1-run2"), "gpt-4.1[n=2]"),
        (("a-2026-01", "a-2026-02", "a-2026-03"), "a-2026[n=3]"),
        (("run1", "run2"), "run1[n=2]"),
        (("left", "right"), "left[n=2]"),
    ],
)
def test_pooled_runs_are_called_what_their_names_share(names: tuple[str, ...], label: str) -> None:
    assert [row.run for row in compared(*(model_run(name, model="s") for name in names), pool_replicates=True).runs] == [label]


def test_two_pools_that_would_have_one_label_are_told_apart() -> None:
    runs = [model_run(f"m{place}", model=model) for place, model in enumerate(("x", "x", "y", "y"))]
    assert [row.run for row in compared(*runs, pool_replicates=True).runs] == ["m0..m1[n=2]", "m2..m3[n=2]"]


def test_a_pool_is_never_called_like_a_run() -> None:
    runs = [model_run(f"m{place}", model="x") for place in range(2)]
    others = [model_run("m[n=2]"), model_run("m0..m1[n=2]")]
    assert [row.run for row in compared(*runs, others[0], pool_replicates=True).runs] == ["m0..m1[n=2]", "m[n=2]"]
    assert compared(*runs, *others, pool_replicates=True).runs[0].run == "m0..m1[n=2]'"


def test_means_have_their_own_intervals_where_two_questions_have_points() -> None:
    row = compared(model_run("a")).runs[0]
    assert row.baseline_interval is not None
    assert row.baseline_mean_points is not None
    assert row.baseline_interval.lo_points + row.baseline_interval.hi_points == pytest.approx(2 * row.baseline_mean_points)
    alone = compared(model_run("a", {"baseline": [50.0], "docs": [60.0]})).runs[0]
    assert (alone.baseline_interval, alone.treatment_interval) == (None, None)


UNJUDGED: dict[str, Any] = {"evaluations": None, "judge_model": None, "judge_provider": None, "judge_context": None}


def test_a_run_with_points_for_too_few_questions_is_in_no_ranking_however_many_it_has() -> None:
    lucky: Points = {**TWO_ARMS, "docs": [100.0, *[None] * 7]}
    found = compared(model_run("a"), model_run("lucky", lucky), model_run("b", BETTER))
    assert found.uncovered == (Uncovered(run="lucky", arms=("baseline", "docs"), pairs=1, questions=8),)
    for ranking, first in ((found.quality_ranking, "b"), (found.delta_ranking, "a")):
        assert ranking[0].run == first
        assert (ranking[-1].run, ranking[-1].rank) == ("lucky", None)
    assert found.quality_ranking[-1].points == 100.0


def test_nineteen_of_twenty_questions_are_enough_and_eighteen_are_not() -> None:
    def left(unscored: int) -> ModelComparison:
        few: Points = {"baseline": [50.0] * 20, "docs": [*[60.0] * (20 - unscored), *[None] * unscored]}
        return compared(model_run("a", few))

    assert left(1).uncovered == ()
    assert [few.pairs for few in left(2).uncovered] == [18]


def test_a_run_with_only_a_baseline_is_covered_by_its_baseline() -> None:
    bare = {"baseline": TWO_ARMS["baseline"]}
    assert compared(model_run("a"), model_run("bare", bare)).uncovered == ()
    holed: Points = {"baseline": [50.0, *[None] * 7]}
    assert compared(model_run("a"), model_run("bare", holed)).uncovered == (
        Uncovered(run="bare", arms=("baseline",), pairs=1, questions=8),
    )


def test_questions_that_replicates_lost_by_pooling_count_as_asked() -> None:
    replicates = [model_run(name, points, model="s") for name, points in (("s1", HOLES), ("s2", BETTER))]
    assert compared(*replicates, model_run("whole"), pool_replicates=True).uncovered == (
        Uncovered(run="s[n=2]", arms=("baseline", "docs"), pairs=6, questions=8),
    )


def test_runs_that_nobody_judged_are_said_to_be_unjudged() -> None:
    found = compared(model_run("a", **UNJUDGED), model_run("b", **UNJUDGED))
    assert (found.is_judged, [few.pairs for few in found.uncovered]) == (False, [0, 0])
    assert compared(model_run("a")).is_judged


def test_an_arm_that_was_asked_for_and_never_scored_is_no_answer() -> None:
    unscored: Points = {**TWO_ARMS, "docs": [None] * 8}
    assert [few.pairs for few in compared(model_run("a", unscored), model_run("b", unscored)).uncovered] == [0, 0]


def test_a_run_id_that_stands_for_other_models_in_two_sections_is_found() -> None:
    sections = {"regular": compared(model_run("a"), model_run("b")), "golden": compared(model_run("a", model="other"), model_run("b"))}
    (warning,) = names_of_others(sections)
    assert (warning.run, [side.says.split(",")[0] for side in warning.sections if side.says]) == ("a", ["a-model", "other"])
    assert list(names_of_others({"regular": sections["regular"], "golden": sections["regular"]})) == []


def test_questions_that_depend_on_each_other_are_clustered_in_every_effect() -> None:
    def clustered(name: str, points: Points) -> ComparedRun:
        file = arms_file(points, model=name, cluster_field="topic", difficulty=["easy"] * 8)
        for place, answer in enumerate(file["answers"]):
            answer["cluster"] = f"topic{place // 2}"
        return compared_run_of(file, path=Path(f"{name}.json"), name=name)

    runs = clustered("a", TWO_ARMS), clustered("b", BETTER)
    found = compared(*runs)
    effects = [difference.effect for difference in (found.runs[0].delta, found.pairs[0].quality, found.pairs[0].benefit)]
    assert [effect.clusters for effect in effects if effect] == [4, 4, 4]
    deltas = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0]
    expected = paired_effect(deltas, clusters=[f"topic{place // 2}" for place in range(8)], rng=None)
    assert found.runs[0].delta.effect == expected
    assert expected is not None
    assert found.difficulty[0].sides[0].ci_lo_points == pytest.approx(expected.ci_lo)
    beside_a_file_without = compared(runs[0], model_run("other", BETTER))
    assert [row.delta.effect.clusters for row in beside_a_file_without.runs if row.delta.effect] == [4, 4]
