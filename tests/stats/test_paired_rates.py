"""Paired rates: what the exact test and the interval say at the edges."""

import itertools
from math import comb

import pytest

from evalplatform.stats.paired_rates import PairedPasses, mcnemar_p_value, paired_rate_difference


def passes(both: int, candidate: int, baseline: int, neither: int) -> PairedPasses:
    return PairedPasses(both=both, candidate_alone=candidate, baseline_alone=baseline, neither=neither)


def test_pairs_that_agree_say_nothing_of_a_difference() -> None:
    assert mcnemar_p_value(passes(3, 7, 1, 4)) == mcnemar_p_value(passes(300, 7, 1, 0))
    assert mcnemar_p_value(passes(5, 0, 0, 5)) == 1.0


def test_without_a_pair_there_is_neither_test_nor_interval() -> None:
    assert mcnemar_p_value(passes(0, 0, 0, 0)) is None
    assert paired_rate_difference(passes(0, 0, 0, 0)) is None


def test_five_pairs_all_one_way_cannot_pass_five_percent_and_six_can() -> None:
    assert mcnemar_p_value(passes(0, 5, 0, 0)) == 0.0625
    assert mcnemar_p_value(passes(0, 6, 0, 0)) == 0.03125


def test_swapping_the_sides_mirrors_the_interval() -> None:
    one, other = paired_rate_difference(passes(20, 9, 3, 8)), paired_rate_difference(passes(20, 3, 9, 8))
    assert one is not None
    assert other is not None
    assert (one.difference, one.ci_lo, one.ci_hi) == pytest.approx((-other.difference, -other.ci_hi, -other.ci_lo))


@pytest.mark.parametrize("counts", [(10, 0, 0, 0), (0, 0, 0, 10), (5, 0, 0, 5), (0, 10, 0, 0), (0, 0, 1, 0)])
def test_an_interval_has_a_width_and_stays_on_the_scale_where_every_pair_is_alike(counts: tuple[int, int, int, int]) -> None:
    found = paired_rate_difference(passes(*counts))
    assert found is not None
    assert -1 <= found.ci_lo < found.ci_hi <= 1
    assert found.ci_lo <= found.difference <= found.ci_hi


@pytest.mark.parametrize(("rates", "pairs"), [((0.55, 0.15, 0.05, 0.25), 25), ((0.3, 0.1, 0.1, 0.5), 30), ((0.8, 0.1, 0.02, 0.08), 25)])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(rates: tuple[float, float, float, float], pairs: int) -> None:
    """Over every outcome that so many pairs can have, each weighted by its chance: no sampling, no luck."""
    truth, covered, total = rates[1] - rates[2], 0.0, 0.0
    for both, candidate, baseline in itertools.product(range(pairs + 1), repeat=3):
        neither = pairs - both - candidate - baseline
        if neither < 0:
            continue
        ways = comb(pairs, both) * comb(pairs - both, candidate) * comb(pairs - both - candidate, baseline)
        chance = ways * rates[0] ** both * rates[1] ** candidate * rates[2] ** baseline * rates[3] ** neither
        total += chance
        if chance < 1e-7:  # together they weigh too little to be seen, and there are thousands of them
            continue
        found = paired_rate_difference(passes(both, candidate, baseline, neither))
        assert found is not None
        covered += chance if found.ci_lo <= truth <= found.ci_hi else 0.0
    assert total == pytest.approx(1.0)
    assert 0.93 < covered < 0.99
