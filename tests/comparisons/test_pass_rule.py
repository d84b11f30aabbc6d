"""When points pass, for verdicts and for the agreement of a judge with people alike."""

from math import nextafter

import pytest

from evalplatform.comparisons.label_agreement import label_agreement
from evalplatform.comparisons.pass_rule import points_pass
from evalplatform.comparisons.verdicts import question_verdicts
from tests.comparisons.test_label_agreement import a_label, graded
from tests.support.arm_rows import question_id, score

ON_THE_THRESHOLD = nextafter(70.0, 0.0)  # what a mean of draws may come to


@pytest.mark.parametrize(("points", "passed"), [(70.0, True), (ON_THE_THRESHOLD, True), (69.999, False), (70.001, True), (0.0, False)])
def test_verdicts_and_agreement_pass_the_same_points(points: float, passed: bool) -> None:
    assert points_pass(points, 70.0) is passed
    (row,) = question_verdicts([score(0, "a", points)], arms=["a"], question_ids=[question_id(0)], draws=1, pass_points=70.0)
    assert (row.verdict == "passed") is passed
    # Thirty people's labels that all say what the rule says: the judge agrees with each of them.
    labels = [a_label(number, "passed" if passed else "failed") for number in range(30)]
    agreement = label_agreement(graded([points] * 30), labels, pass_points=70.0).verdicts.agreement
    assert agreement is not None
    assert agreement.rate == 1.0
