import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from evalplatform.stats.signed_rank import signed_rank_p_value

points = st.integers(-20, 20).map(lambda tenths: tenths / 10) | st.floats(-100, 100, allow_nan=False)


@settings(deadline=None)  # SciPy loads in the first example
@given(st.lists(points, min_size=14, max_size=90).filter(any))
def test_p_values_are_scipys_exact_or_approximate(differences: list[float]) -> None:
    expected = wilcoxon(differences, zero_method="zsplit", method="auto").pvalue
    assert signed_rank_p_value(differences) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_the_sign_of_all_differences_together_changes_nothing() -> None:
    differences = [float(number % 17 - 6) for number in range(80)]
    assert signed_rank_p_value(differences) == signed_rank_p_value([-difference for difference in differences])


def test_many_pairs_are_tested_without_loading_scipy() -> None:
    code = (
        "import sys; from evalplatform.stats.signed_rank import signed_rank_p_value;"
        "signed_rank_p_value([float(n % 9 - 3) for n in range(200)]); print('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
