"""How often a judge ranks the intact answer higher, and what that decides."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from evalplatform.comparisons.judge_validity import judge_validity, pairs_to_settle
from evalplatform.comparisons.judge_validity_records import Condition, JudgeValidity, Probe, ProbedPair, ProbeResult
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.stats.wilson import wilson_interval

TRUNCATE = Probe(name="truncate", what="cut", is_worse=True, lack="too_short", lacking=2)
NUMBER = Probe(name="wrong_number", what="changed", is_worse=True, lack="no_number")
PADDING = Probe(name="padding", what="padded", is_worse=False, lack="empty")


def pair(
    question: int,
    intact: float | None,
    degraded: float | None,
    *,
    probe: Probe = TRUNCATE,
    condition: Condition = "with",
    shorter: int = 10,
) -> ProbedPair:
    return ProbedPair(
        question_id=f"q{question}",
        arm="a",
        draw=0,
        probe=probe.name,
        condition=condition,
        change="cut",
        intact_points=intact,
        intact_reason=None if intact is not None else "judge_failed: timeout: no reply",
        degraded_points=degraded,
        degraded_reason=None if degraded is not None else "malformed_reply",
        intact_chars=100,
        degraded_chars=100 - shorter,
    )


def ranked(wins: int, ties: int, losses: int, *, probe: Probe = TRUNCATE, condition: Condition = "with") -> list[ProbedPair]:
    drops = [10.0] * wins + [0.0] * ties + [-10.0] * losses
    return [pair(number, 50.0, 50.0 - drop, probe=probe, condition=condition) for number, drop in enumerate(drops)]


def validity(pairs: list[ProbedPair], *probes: Probe, conditions: tuple[Condition, ...] = ("with",), least: float = 0.8) -> JudgeValidity:
    return judge_validity(
        pairs, probes=probes or (TRUNCATE,), conditions=conditions, intact_answers=20, with_material=20, min_accuracy_rate=least
    )


def result(pairs: list[ProbedPair], probe: Probe = TRUNCATE) -> ProbeResult:
    (found,) = validity(pairs, probe).results
    return found


def test_accuracy_is_the_share_of_pairs_won_with_a_tie_as_half() -> None:
    found = result(ranked(12, 4, 4))
    assert (found.pairs, found.wins, found.ties, found.losses) == (20, 12, 4, 4)
    assert found.accuracy == wilson_interval(14, 20)
    assert found.accuracy is not None
    assert found.accuracy.rate == 0.7
    half = result(ranked(12, 5, 3)).accuracy
    assert half is not None
    assert half.rate == 14.5 / 20


def test_the_sign_test_leaves_ties_out() -> None:
    assert result(ranked(12, 4, 4)).sign_p == pytest.approx(binomtest(12, 16).pvalue, rel=1e-12)
    assert result(ranked(0, 8, 0)).sign_p == 1.0


def test_the_drop_is_intact_minus_degraded_points_with_its_interval() -> None:
    found = result([pair(number, 80.0, 80.0 - drop) for number, drop in enumerate([10, 20, 30, 0, 15, 15])])
    assert found.drop is not None
    assert found.drop.mean == 15.0
    assert found.drop.standard_error == pytest.approx(np.std([10, 20, 30, 0, 15, 15], ddof=1) / sqrt(6))


@pytest.mark.parametrize(
    ("wins", "losses", "state"),
    [(20, 0, "passed"), (19, 1, "inconclusive"), (16, 4, "inconclusive"), (8, 12, "failed"), (5, 0, "too_few_pairs")],
)
def test_a_probe_passes_above_its_interval_fails_below_it_and_is_inconclusive_between(wins: int, losses: int, state: str) -> None:
    assert result(ranked(wins, 0, losses)).state == state


def test_a_judge_that_sees_no_difference_stands_at_a_half_and_fails() -> None:
    found = result(ranked(0, 20, 0))
    assert found.accuracy is not None
    assert (found.accuracy.rate, found.state) == (0.5, "failed")


@given(st.integers(0, 100).map(lambda percent: percent / 100), st.sampled_from([0.5, 0.6, 0.8, 0.9, 0.95]))
def test_so_many_pairs_settle_it_and_one_fewer_would_not(rate: float, least: float) -> None:
    enough = pairs_to_settle(rate, least)
    if enough is None:
        assert rate == least
        return
    assert not _holds(rate, enough + 1, least)
    assert enough == 1 or _holds(rate, enough - 1, least)


def _holds(rate: float, trials: int, value: float) -> bool:
    interval = wilson_interval(rate * trials, trials)
    assert interval is not None
    return interval.ci_lo <= value <= interval.ci_hi


def test_what_is_inconclusive_says_how_many_pairs_would_settle_it_and_nothing_else_does() -> None:
    assert result(ranked(10, 0, 0)).pairs_to_settle == 16
    assert result(ranked(16, 0, 4)).pairs_to_settle is None  # exactly at the mark no number would
    assert result(ranked(20, 0, 0)).pairs_to_settle is None
    assert result(ranked(3, 0, 0)).pairs_to_settle is None


def test_padding_fails_where_longer_is_shown_to_rank_higher_and_an_indifferent_judge_passes() -> None:
    assert result(ranked(0, 20, 0, probe=PADDING), PADDING).state == "passed"
    assert result(ranked(2, 10, 8, probe=PADDING), PADDING).state == "passed"  # p = 0.11
    assert result(ranked(0, 10, 10, probe=PADDING), PADDING).state == "failed"
    assert result(ranked(20, 0, 0, probe=PADDING), PADDING).state == "passed"
    assert result(ranked(0, 5, 0, probe=PADDING), PADDING).state == "too_few_pairs"


def test_p_values_are_corrected_over_the_probes_of_one_condition() -> None:
    pairs = ranked(9, 0, 1) + ranked(8, 0, 2, probe=NUMBER) + ranked(10, 0, 0, condition="without")
    found = validity(pairs, TRUNCATE, NUMBER, conditions=("with", "without")).results
    first, second, without, untried = found
    assert first.sign_p is not None
    assert first.sign_p_adjusted == pytest.approx(2 * first.sign_p)
    assert second.sign_p_adjusted == pytest.approx(second.sign_p)
    assert without.sign_p_adjusted == without.sign_p
    assert (untried.pairs, untried.accuracy, untried.sign_p_adjusted, untried.state) == (0, None, None, "too_few_pairs")


def test_pairs_without_points_are_counted_by_reason_and_never_as_zero() -> None:
    found = result([*ranked(7, 0, 0), pair(90, None, None), pair(91, 50.0, None), pair(92, None, 30.0)])
    assert (found.pairs, found.unscored_reasons) == (7, {"judge_failed": 2, "malformed_reply": 1})
    assert found.probe.lacking == 2


def test_a_judge_that_leaves_over_one_pair_in_twenty_unscored_is_not_believed_about_the_others() -> None:
    assert result([*ranked(19, 0, 0), pair(90, 50.0, None)]).state == "passed"
    assert result([*ranked(38, 0, 0), pair(90, 50.0, None), pair(91, 50.0, None)]).state == "passed"
    for found in (result([*ranked(18, 0, 0), pair(90, 50.0, None), pair(91, 50.0, None)]), result([pair(1, None, None)])):
        assert found.state == "unscored"
    assert validity([*ranked(30, 0, 0), *(pair(number, 50.0, None) for number in (90, 91))]).verdict == "unanswered"


def test_a_counter_of_characters_is_measured_on_the_same_pairs() -> None:
    pairs = [pair(1, 50, 40, shorter=10), pair(2, 50, 40, shorter=0), pair(3, 50, 40, shorter=-10), pair(4, None, 40, shorter=10)]
    assert result(pairs).longer_accuracy_rate == 0.5


def test_the_condition_that_answers_are_judged_in_decides() -> None:
    pairs = ranked(20, 0, 0) + ranked(0, 0, 20, condition="without")
    both = validity(pairs, conditions=("with", "without"))
    assert (both.gating, both.verdict) == ("with", "passed")
    assert [found.state for found in both.results] == ["passed", "failed"]
    alone = validity(ranked(0, 0, 20, condition="without"), conditions=("without",))
    assert (alone.gating, alone.verdict, alone.differences, alone.level) == ("without", "failed", (), None)


@pytest.mark.parametrize(
    ("of_truncate", "of_number", "verdict"),
    [
        ((20, 0, 0), (20, 0, 0), "passed"),
        ((20, 0, 0), (18, 0, 2), "inconclusive"),
        ((20, 0, 0), (3, 0, 0), "unanswered"),
        ((18, 0, 2), (3, 0, 0), "unanswered"),
        ((0, 20, 0), (3, 0, 0), "failed"),
    ],
)
def test_one_failed_probe_fails_the_judge_and_one_untried_leaves_it_unanswered(
    of_truncate: tuple[int, int, int], of_number: tuple[int, int, int], verdict: str
) -> None:
    assert validity(ranked(*of_truncate) + ranked(*of_number, probe=NUMBER), TRUNCATE, NUMBER).verdict == verdict


def test_what_the_material_changes_is_taken_pair_by_pair() -> None:
    seen = [pair(number, 90.0, 60.0) for number in range(6)]
    unseen = [pair(number, 80.0 - number, 80.0 - number, condition="without") for number in range(5)]
    found = validity([*seen, *unseen], conditions=("with", "without"))
    (difference,) = found.differences
    assert difference.pairs == 5
    assert difference.accuracy is not None
    assert difference.accuracy.mean == 0.5
    assert difference.drop is not None
    assert difference.drop.mean == 30.0
    assert found.level is not None
    assert (found.level.n, found.level.mean) == (5, 12.0)


def test_the_intact_points_of_a_question_count_once_for_the_level_however_many_probes_there_are() -> None:
    pairs = [
        pair(number, points, 10.0, probe=probe, condition=condition)
        for number in range(3)
        for probe in (TRUNCATE, NUMBER)
        for condition, points in (("with", 80.0), ("without", 70.0 + number))
    ]
    level = validity(pairs, TRUNCATE, NUMBER, conditions=("with", "without")).level
    assert level is not None
    assert (level.n, level.mean) == (3, 9.0)


def test_two_pairs_of_one_question_and_an_unknown_probe_are_refused() -> None:
    with pytest.raises(InputError, match="question 'q1' has two pairs for 'truncate'"):
        validity([pair(1, 50, 40), pair(1, 50, 30)])
    with pytest.raises(UnknownNameError, match="unknown degradation 'padding'"):
        validity([pair(1, 50, 40, probe=PADDING)])
    with pytest.raises(InputError, match="no condition"):
        validity([], conditions=())
