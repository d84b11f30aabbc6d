"""The mean of many values is that of few: both add from left to right."""

from random import Random

from evalplatform.stats import mean
from evalplatform.stats.mean import LEAST_FOR_ARRAYS, estimate_mean, plain_mean


def test_a_mean_of_many_values_is_bit_for_bit_what_adding_them_one_by_one_gives(monkeypatch) -> None:
    random = Random(7)
    values = [round(random.gauss(60.0, 15.0), 1) for _ in range(LEAST_FOR_ARRAYS + 1)]
    by_arrays = estimate_mean(values)
    monkeypatch.setattr(mean, "LEAST_FOR_ARRAYS", len(values) + 1)
    assert by_arrays == estimate_mean(values)
    assert by_arrays is not None
    assert by_arrays.mean == plain_mean(values)
