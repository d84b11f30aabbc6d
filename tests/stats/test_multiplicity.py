import json
from pathlib import Path

import pytest

from evalplatform.reports.rounding import rounded_p
from evalplatform.stats.multiplicity import benjamini_hochberg, holm

CASES = json.loads((Path(__file__).parents[1] / "cases/treatment-arms/adjust_pvalues.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["p"]))
def test_adjusted_p_values_are_those_of_the_worked_cases(case: dict[str, list[float | None]]) -> None:
    assert [rounded_p(p) for p in holm(case["p"])] == case["holm"]
    assert [rounded_p(p) for p in benjamini_hochberg(case["p"])] == case["bh"]
    assert [None if p is None else round(p, 12) for p in holm(case["p"])] == case["holm_unrounded"]


def test_a_decision_is_taken_before_rounding() -> None:
    # 3 * 0.016666 is 0.049998: shown as 0.05, and below 0.05 all the same
    adjusted = holm([0.016666, 0.03, 0.04])[0]
    assert adjusted is not None
    assert adjusted < 0.05 == rounded_p(adjusted)


def test_a_test_that_could_not_be_made_does_not_count() -> None:
    assert holm([0.02, None, None]) == [0.02, None, None]
    assert benjamini_hochberg([None, 0.02]) == [None, 0.02]


@pytest.mark.parametrize("p_value", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(p_value: float) -> None:
    with pytest.raises(ValueError, match="p-value 2 of 2"):
        holm([0.5, p_value])
    with pytest.raises(ValueError, match="p-value 2 of 2"):
        benjamini_hochberg([0.5, p_value])
