"""What holds for the report of any two batches."""

from typing import Any

from hypothesis import given

from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.records import BatchComparison, ScenarioChange
from evalplatform.reports.batch_comparison_html import batch_comparison_html
from evalplatform.reports.batch_comparison_markdown import batch_comparison_markdown, lines_above, lines_below
from evalplatform.reports.batch_comparison_report import batch_comparison_report
from evalplatform.reports.batch_comparison_v3 import batch_comparison_v3, read_batch_comparison_v3
from evalplatform.reports.headline_words import headline_sentence
from evalplatform.runs.records import PlannedScenario
from tests.support.batch_runs import side
from tests.support.batch_strategies import plans, scenarios

Scenarios = dict[str, list[dict[str, Any]]]
Plans = dict[str, PlannedScenario]


def compared(before: Scenarios, after: Scenarios, plan_before: Plans, plan_after: Plans) -> tuple[BatchComparison, list[ScenarioChange]]:
    rows: list[ScenarioChange] = []
    comparison = compare_batches(side(before, planned=plan_before), side(after, planned=plan_after), on_row=rows.append)
    return comparison, rows


@given(scenarios(), scenarios(), plans(), plans())
def test_a_comparison_with_all_its_rows_reads_back_equal(
    before: Scenarios, after: Scenarios, plan_before: Plans, plan_after: Plans
) -> None:
    comparison, rows = compared(before, after, plan_before, plan_after)
    read = read_batch_comparison_v3(batch_comparison_v3(comparison, rows))
    assert read.comparison == comparison
    assert list(read.rows) == rows


@given(scenarios(), scenarios(), plans(), plans())
def test_every_scenario_is_listed_or_counted_in_every_form(
    before: Scenarios, after: Scenarios, plan_before: Plans, plan_after: Plans
) -> None:
    comparison, rows = compared(before, after, plan_before, plan_after)
    report = batch_comparison_report(comparison)
    listed = [row[0].text for row in report.table.rows]
    unlisted = {row.scenario_id for row in rows} - set(listed)
    assert {row.change for row in rows if row.scenario_id in unlisted} <= {"unchanged"}
    said = "\n".join([*lines_above(report), *lines_below(report)])
    assert (f"{len(unlisted)} unchanged scenario" in said) is bool(unlisted)
    markdown, html = batch_comparison_markdown(report), batch_comparison_html(report)
    for name in listed:
        assert name in markdown
        assert name in html


@given(scenarios(), scenarios(), plans(), plans())
def test_no_form_calls_clean_what_is_not(before: Scenarios, after: Scenarios, plan_before: Plans, plan_after: Plans) -> None:
    comparison, _ = compared(before, after, plan_before, plan_after)
    report = batch_comparison_report(comparison)
    headline = headline_sentence(comparison)
    assert ("(clean)" in headline) is (comparison.verdict == "clean")
    assert headline.startswith("The gate would fail") is comparison.would_fail
    assert (report.counts == "no change") is (comparison.verdict == "clean")
    assert report.page.subtitle.startswith("Clean: ") is (comparison.verdict == "clean")
