"""Tarone's correction: worked numbers, and the smallest K by trying each."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.stats.tarone import tarone_k, tarone_threshold

CASES = json.loads((Path(__file__).parents[1] / "cases" / "gates.json").read_text(encoding="utf-8"))["cases"]
LEVEL = Fraction(1, 25)
smallest_ps = st.lists(st.fractions(0, 1) | st.integers(1, 4_000).map(lambda parts: Fraction(1, parts)), max_size=60)


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "tarone_K"], ids=lambda case: case["id"])
def test_the_worked_cases(case: dict[str, Any]) -> None:
    smallest = [Fraction(text) for text in case["input"]["alpha_stars"]]
    assert tarone_k(smallest, level=LEVEL) == case["expect"]["K"]
    assert tarone_threshold(smallest, level=LEVEL) == LEVEL / case["expect"]["K"]


@given(smallest_ps)
def test_k_is_the_smallest_that_suffices(ps: list[Fraction]) -> None:
    k = tarone_k(ps, level=LEVEL)
    suffices = [each for each in range(1, len(ps) + 2) if sum(p <= LEVEL / each for p in ps) <= each]
    assert k == suffices[0]
    assert tarone_threshold(ps, level=LEVEL) == LEVEL / k


def test_a_test_that_can_just_reach_the_level_counts() -> None:
    at, above = LEVEL / 2, LEVEL / 2 + Fraction(1, 10**30)
    assert tarone_k([at] * 3, level=LEVEL) == 3
    assert tarone_k([above] * 3, level=LEVEL) == 2
