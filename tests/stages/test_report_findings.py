"""What is said of reports and comparisons besides their numbers."""

import pytest

from evalplatform.stages.report_findings import coverage_shortfall


@pytest.mark.parametrize(
    ("unscored", "why"),
    [
        ({"malformed_reply": 4}, "Without points: malformed_reply 4."),
        ({}, "The others have no row of scores: their answers were not made, or not graded."),
    ],
)
def test_a_shortfall_says_what_became_of_the_other_questions(unscored: dict[str, int], why: str) -> None:
    found = coverage_shortfall(coverage_rate=0.5, scored_rate=1.0, unscored=unscored, least_rate=0.95)
    assert found is not None
    assert found.sentence == f"50.0% of the questions were scored in both arms of a comparison; 95% are needed. {why}"
