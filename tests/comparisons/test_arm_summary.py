import subprocess
import sys

import pytest

from evalplatform.comparisons.arm_summary import QuestionClusters, summarise_arms
from evalplatform.comparisons.records import ArmSummary, JudgedScore
from evalplatform.kernel.errors import InputError, UnknownNameError
from tests.support.arm_rows import Table, answer, answers_of, failed, question_id, score, scores_of, timing, timings_of

BASELINE = [50.0, 60.0, 70.0, 55.0, 65.0, 75.0, 52.0, 58.0]
LIFTED = [58.0, 66.0, 75.0, 63.0, 72.0, 83.0, 59.0, 61.0]


def summary_of(table: Table, *, scores: list[JudgedScore] | None = None, **settings: object) -> ArmSummary:
    arms = list(table)
    return summarise_arms(
        **{
            "arms": arms,
            "baseline_arm": "baseline",
            "question_ids": [question_id(number) for number in range(len(table[arms[0]]))],
            "answers": answers_of(table),
            "scores": scores_of(table) if scores is None else scores,
            "timings": timings_of(table),
            **settings,
        }
    )


def test_a_lift_on_every_question_is_found_significant() -> None:
    delta = summary_of({"baseline": BASELINE, "docs": LIFTED}).deltas["docs"]
    assert delta.pairs == 8
    assert delta.effect is not None
    assert delta.effect.delta_mean == pytest.approx(6.5)
    assert delta.question_deltas[question_id(7)] == 3.0
    assert delta.significant is delta.significant_adjusted is True


def test_deltas_are_taken_on_the_questions_that_both_arms_scored() -> None:
    summary = summary_of({"baseline": [90.0, 10.0, 20.0, 30.0], "docs": [None, 12.0, 21.0, 33.0]})
    assert summary.scores["baseline"].mean_points == 37.5
    assert summary.scores["docs"].mean_points == 22.0
    delta = summary.deltas["docs"]
    assert (delta.pairs, delta.effect.delta_mean) == (3, 2.0), "not 22.0 - 37.5, the difference of two means over different questions"


def test_failed_judge_calls_are_counted_beside_the_mean_and_lower_the_coverage() -> None:
    # pitfall J09: five of ten judge calls crash; the survivors score 0, and the mean must not pass for one over ten
    table = {"baseline": [40.0] * 10, "docs": [None] * 5 + [0.0] * 5}
    scores = [row for row in scores_of(table) if row.judgement.points is not None]
    scores += [score(number, "docs", None, reason="judge_failed: timeout: no reply") for number in range(5)]
    summary = summary_of(table, scores=scores)
    docs = summary.scores["docs"]
    assert (docs.mean_points, docs.scored, docs.questions) == (0.0, 5, 10)
    assert docs.unscored_reasons == {"judge_failed": 5}
    assert summary.coverage_rate == 0.5


def test_a_question_is_scored_by_the_draws_that_its_judge_could_score() -> None:
    # as in pitfall J08, a failed part leaves the rest standing and is counted
    scores = [score(number, "baseline", 50.0, draw=draw) for number in range(2) for draw in range(3)]
    scores += [score(0, "docs", 60.0), score(0, "docs", 80.0, draw=1), score(0, "docs", None, draw=2), score(1, "docs", 70.0)]
    summary = summary_of({"baseline": [0.0] * 2, "docs": [0.0] * 2}, scores=scores, draws=3)
    assert summary.deltas["docs"].question_deltas == {question_id(0): 20.0, question_id(1): 20.0}
    assert summary.scores["docs"].unscored_reasons == {"malformed_reply": 1, "not_judged": 2}


def test_without_a_judge_there_are_costs_and_no_points() -> None:
    summary = summary_of({"baseline": BASELINE, "docs": LIFTED}, scores=[])
    assert summary.scores["docs"].mean_points is None
    assert summary.deltas["docs"].effect is None
    assert summary.deltas["docs"].significant is None
    assert summary.coverage_rate is None
    assert summary.costs["docs"].calls == 8


def test_without_a_judge_scipy_is_not_loaded() -> None:
    program = (
        "import sys\n"
        "from evalplatform.comparisons.arm_summary import summarise_arms\n"
        "summarise_arms(arms=['baseline', 'docs'], baseline_arm='baseline', question_ids=['q'], answers=[])\n"
        "print(sorted({'scipy', 'numpy'} & set(sys.modules)))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_five_questions_give_an_effect_and_no_verdict() -> None:
    delta = summary_of({"baseline": BASELINE[:5], "docs": LIFTED[:5], "skill:x": [60.0] * 5}).deltas["docs"]
    assert delta.effect is not None
    assert delta.effect.p_t is delta.significant is delta.p_adjusted is delta.significant_adjusted is None
    assert (delta.family_size, delta.family_tested) == (2, 0)


def test_the_family_is_corrected_as_asked_and_an_untested_arm_costs_nothing() -> None:
    noise = [51.0, 59.0, 71.0, 54.0, 66.0, 74.0, 53.0, 57.0]
    table = {"baseline": BASELINE, "docs": LIFTED, "skill:x": noise, "skill:flat": [points + 5 for points in BASELINE]}
    by_holm, by_bh = summary_of(table).deltas, summary_of(table, correction="bh").deltas
    assert by_holm["docs"].p_adjusted == pytest.approx(2 * by_holm["docs"].effect.p_t)
    assert by_bh["skill:x"].p_adjusted == pytest.approx(by_bh["skill:x"].effect.p_t)
    assert by_holm["skill:flat"].p_adjusted is None
    assert {(delta.family_size, delta.family_tested) for delta in by_holm.values()} == {(3, 2)}


def test_neither_other_arms_nor_their_order_change_a_permutation_p_value() -> None:
    baseline = [20.0 + number for number in range(30)]
    docs = [points + (7 * place) % 11 - 4 for place, points in enumerate(baseline)]
    few, many = {"baseline": baseline, "docs": docs}, {"skill:x": baseline[::-1], "docs": docs, "baseline": baseline}
    assert summary_of(few).deltas["docs"].effect == summary_of(many).deltas["docs"].effect


def test_interaction_is_the_contrast_on_questions_all_four_scored() -> None:
    table: Table = {
        "baseline": [50.0, 52.0, 54.0, 50.0],
        "docs": [55.0, 58.0, 60.0, None],
        "skill:x": [60.0, 60.0, 66.0, 90.0],
        "docs+skill:x": [62.0, 65.0, 70.0, 90.0],
    }
    (interaction,) = summary_of(table).interactions
    assert interaction.effect.n == 3
    # 62-55-60+50, 65-58-60+52, 70-60-66+54
    assert interaction.effect.delta_mean == pytest.approx((-3 - 1 - 2) / 3)
    assert interaction.delta_a_points == pytest.approx(17 / 3)
    assert interaction.delta_b_points == pytest.approx(10.0)
    assert interaction.delta_combined_points == pytest.approx(41 / 3)


@pytest.mark.parametrize(
    ("arms", "found"),
    [
        (("baseline", "docs", "skill:c++-guide", "docs+skill:c++-guide"), ("docs", "skill:c++-guide")),
        (("baseline", "docs+skill:a", "skill:b", "docs", "docs+skill:a+skill:b"), ("docs+skill:a", "skill:b")),
        (("baseline", "a", "b+c", "a+b", "c", "a+b+c"), ("a", "b+c")),
    ],
)
def test_a_combined_arm_splits_at_the_leftmost_plus_between_two_arms(arms: tuple[str, ...], found: tuple[str, str]) -> None:
    interactions = summary_of({arm: [50.0, 60.0] for arm in arms}).interactions
    assert [(item.arm_a, item.arm_b) for item in interactions if item.combined_arm == arms[-1]] == [found]


@pytest.mark.parametrize(
    "arms",
    [
        ("baseline", "docs", "docs+skill:x"),
        ("baseline", "a", "b", "c", "a+b+c"),
        ("baseline", "docs", "docs+docs"),
        ("baseline", "x", "baseline+x"),
    ],
)
def test_arms_that_do_not_make_a_square_have_no_interaction(arms: tuple[str, ...]) -> None:
    assert summary_of({arm: [50.0, 60.0] for arm in arms}).interactions == ()


def test_questions_of_one_cluster_widen_the_interval() -> None:
    table = {"baseline": [50.0] * 12, "docs": [60.0, 60.5, 59.5, 40.0, 40.5, 41.0, 70.0, 71.0, 70.5, 52.0, 53.0, 51.0]}
    labels = {question_id(number): f"page {number // 3}" for number in range(12)}
    clustered = summary_of(table, clusters=QuestionClusters(field="page", labels=labels))
    plain = summary_of(table)
    assert clustered.cluster_field == "page"
    assert clustered.deltas["docs"].effect.clusters == 4
    assert clustered.scores["docs"].ci_lo_points < plain.scores["docs"].ci_lo_points
    assert clustered.deltas["docs"].significant is None, "four clusters are too few for a test"


def test_a_question_without_its_cluster_is_named() -> None:
    labels = {question_id(0): "page 0"}
    with pytest.raises(InputError, match=f"cluster_field: question '{question_id(1)}' has no 'page'"):
        summary_of({"baseline": [1.0, 2.0]}, clusters=QuestionClusters(field="page", labels=labels))


def test_failed_answers_cost_nothing_and_unknown_prices_stay_unknown() -> None:
    answers = [answer(0, "baseline"), answer(1, "baseline", cost_usd=None), failed(2, "baseline"), answer(0, "docs", cost_usd=None)]
    timings = [timing(0, "baseline", seconds=2.0), timing(1, "baseline", seconds=None), timing(2, "baseline", seconds=9.0)]
    costs = summary_of({"baseline": [0.0] * 3, "docs": [0.0] * 3}, scores=[], answers=answers, timings=timings).costs
    baseline, docs = costs["baseline"], costs["docs"]
    assert (baseline.answers, baseline.priced_answers, baseline.total_cost_usd) == (2, 1, 0.0002)
    assert (baseline.prompt_tokens, baseline.total_tokens, baseline.mean_latency_seconds) == (201, 241, 2.0)
    assert (docs.answers, docs.total_cost_usd, docs.mean_latency_seconds) == (1, None, None)


def test_a_baseline_that_is_no_arm_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'baseline'") as caught:
        summary_of({"baseline": [1.0]}, baseline_arm="basline")
    assert caught.value.field == "baseline_arm"


@pytest.mark.parametrize(
    ("stray", "message"),
    [
        (score(0, "doc", 5.0), "unknown arm 'doc'"),
        (score(9, "docs", 5.0), "unknown question id 'q0009'"),
        (score(0, "docs", 5.0), "has two scores for question 'q0000', draw 0"),
        (score(0, "docs", 5.0, draw=1), "draw 1 of question 'q0000' is beyond the 1 of this run"),
    ],
)
def test_a_score_that_is_not_of_this_run_is_refused(stray: JudgedScore, message: str) -> None:
    table = {"baseline": [1.0, 2.0], "docs": [3.0, 4.0]}
    with pytest.raises(InputError, match=message):
        summary_of(table, scores=[*scores_of(table), stray])


def test_an_answer_of_an_unknown_arm_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown arm 'dcs'"):
        summary_of({"baseline": [1.0], "docs": [3.0]}, answers=[answer(0, "dcs")])
