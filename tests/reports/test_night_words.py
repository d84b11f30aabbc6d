"""What the pages of nights say where numbers alone would mislead."""

from datetime import timedelta

import pytest

from evalplatform.monitoring.trend import drift_history
from evalplatform.reports.drift_history_report import history_sentence
from evalplatform.reports.night_page import night_page
from tests.support.monitoring_values import FIRST, FULL_NIGHT, night


@pytest.mark.parametrize(("attempt", "label"), [(1, "Cost"), (2, "Cost of the last attempt")])
def test_a_cost_says_where_it_is_of_the_last_attempt_alone(attempt: int, label: str) -> None:
    page = night_page(FULL_NIGHT.with_changes(attempt=attempt), comparison_file=None, diff_pages={})
    assert [fact.label for fact in page.headline_facts if fact.label.startswith("Cost")] == [label]


def test_nights_on_which_nothing_was_seen_are_not_told_as_scenarios_without_drift() -> None:
    failed = night(state="check_failed", reason="baseline_not_pinned")
    history = drift_history([failed], since=FIRST, until=FIRST + timedelta(days=1))
    assert history_sentence(history) == "No scenario was seen over 1 night; 1 check failed."
