"""What must hold of labels and agreement whatever the points."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evalplatform.comparisons.cross_judge import cross_judge
from evalplatform.comparisons.cross_judge_records import ArmUnderJudges, CrossJudgedRun, CrossJudgement
from evalplatform.comparisons.refusals import MixedMaterial
from evalplatform.reports.cross_judge_report import cross_judge_page
from evalplatform.reports.page import page_markdown
from tests.support.judged_runs import measure, run_under, shifted

DELTAS = st.none() | st.integers(-50, 50).map(float)
COLUMNS = st.integers(1, 14).flatmap(lambda size: st.lists(st.lists(DELTAS, min_size=size, max_size=size), min_size=1, max_size=4))
QUICK = settings(deadline=None, max_examples=60)
"""NumPy and SciPy are imported by the first example."""
TURNED = {"+": "-", "-": "+", None: None}


def judged(columns: list[list[float | None]], *, models: list[str] | None = None) -> CrossJudgedRun:
    names = [f"judge-{place}" for place in range(len(columns))]
    measures = [
        measure(name, shifted(column), judge=None if models is None else models[place])
        for place, (name, column) in enumerate(zip(names, columns, strict=True))
    ]
    return cross_judge(run_under(*measures, questions=len(columns[0])))


def arm_of(run: CrossJudgedRun) -> ArmUnderJudges:
    (arm,) = run.arms
    return arm


@given(COLUMNS)
@QUICK
def test_an_arm_that_is_as_much_worse_gets_the_same_label_the_other_way_round(columns: list[list[float | None]]) -> None:
    turned = [[None if delta is None else -delta for delta in column] for column in columns]
    there, back = arm_of(judged(columns)).label, arm_of(judged(turned)).label
    assert (there.kind, there.direction, there.one_judge) == (back.kind, TURNED[back.direction], back.one_judge)


@given(COLUMNS, st.randoms(use_true_random=False))
@QUICK
def test_the_order_of_the_judges_changes_no_label_and_no_alpha(columns: list[list[float | None]], random: object) -> None:
    shuffled = list(columns)
    random.shuffle(shuffled)
    there, back = judged(columns), judged(shuffled)
    assert arm_of(there).label == arm_of(back).label
    first, second = there.points_alpha.alpha, back.points_alpha.alpha
    assert (first is None) is (second is None)
    if first is not None:
        assert second.alpha == pytest.approx(first.alpha, abs=1e-9)


@given(COLUMNS)
@QUICK
def test_a_label_never_says_more_than_its_tests(columns: list[list[float | None]]) -> None:
    arm = arm_of(judged(columns))
    directions = {delta.direction for delta in arm.deltas if delta.significant}
    assert (arm.label.kind == "judge_dependent") is (len(directions) == 2)
    assert (arm.label.kind in ("consistent", "leaning")) is (len(directions) == 1)
    assert (arm.label.kind == "not_tested") is all(delta.pairs < 6 for delta in arm.deltas)
    for delta in arm.deltas:
        assert delta.p_holm is None or delta.p_holm >= delta.sign.p_value


@given(COLUMNS)
@QUICK
def test_judges_of_one_model_are_never_agreement_of_judges(columns: list[list[float | None]]) -> None:
    label = arm_of(judged(columns, models=["grader"] * len(columns))).label
    assert label.one_judge is (label.kind != "not_tested")


@given(COLUMNS, st.integers(0, 3))
@QUICK
def test_a_measure_without_a_say_changes_nothing_of_the_others(columns: list[list[float | None]], place: int) -> None:
    assume(len(columns) > 1)
    size, place = len(columns[0]), place % len(columns)
    left_out = [MixedMaterial(run="haiku", stamp="mixed")]
    measures = [
        measure(f"judge-{number}", shifted(column), left_out=left_out if number == place else []) for number, column in enumerate(columns)
    ]
    shown = cross_judge(run_under(*measures, questions=size))
    absent = cross_judge(run_under(*(one for one in measures if one.counts), questions=size))
    assert arm_of(shown).label == arm_of(absent).label
    assert (arm_of(shown).pairs, shown.points_alpha) == (arm_of(absent).pairs, absent.points_alpha)
    assert tuple(delta for delta in arm_of(shown).deltas if delta.counts) == arm_of(absent).deltas


@given(COLUMNS)
@QUICK
def test_every_result_has_a_report_and_no_number_is_nan(columns: list[list[float | None]]) -> None:
    result = CrossJudgement(judges=("a",), runs=(judged(columns),))
    text = page_markdown(cross_judge_page(result))
    assert "nan" not in text.casefold().split()
    assert CrossJudgement.model_validate_json(result.model_dump_json()) == result


def test_without_any_effect_a_label_is_wrong_about_as_rarely_as_holm_says() -> None:
    # Two judges who see nothing but their own noise: any label other than NO DETECTABLE EFFECT is wrong, in at most 5% of 200 runs
    # (three standard errors above it: 9.6%). The exact test is conservative, so the rate is well below.
    rng, wrong = np.random.default_rng(8), 0
    for _ in range(200):
        columns = rng.normal(0, 10, (2, 20)).round(1).tolist()
        wrong += arm_of(judged(columns)).label.kind != "no_detectable_effect"
    assert wrong / 200 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
