"""The headline of a batch comparison stands in every form, and each thing is said once."""

import json

import pytest

from evalplatform.comparisons.batches.records import BatchComparison
from evalplatform.reports.batch_comparison_html import batch_comparison_html
from evalplatform.reports.batch_comparison_markdown import batch_comparison_markdown, lines_above, lines_below
from evalplatform.reports.batch_comparison_report import batch_comparison_report
from evalplatform.reports.batch_comparison_v3 import batch_comparison_v3, read_batch_comparison_v3
from evalplatform.reports.headline_words import Divergence, headline_sentence
from tests.support.compared_batches import Told, a_regression, batch_of, compared, compared_with_rows

PARTING = Divergence(scenario_id="collapse", step=4)


def of(baseline: dict[str, Told], candidate: dict[str, Told], **header: str) -> BatchComparison:
    return compared(batch_of(baseline, **header), batch_of(candidate, hours=1, **header))


def text_of(comparison: BatchComparison) -> str:
    report = batch_comparison_report(comparison)
    return "\n".join([*lines_above(report), *lines_below(report)])


def test_the_page_and_the_markdown_open_with_the_headline_and_lead_to_where_the_runs_part() -> None:
    comparison = compared(*a_regression())
    sentence = headline_sentence(comparison, divergence=PARTING)
    pages = {"collapse": "report-diffs/collapse.html"}
    report = batch_comparison_report(comparison, choice="previous_batch", divergence=PARTING, diff_pages=pages)
    link = '<a href="report-diffs/collapse.html">Where they part</a>'
    assert f'<p class="headline is-regressed">{sentence} {link}</p>' in batch_comparison_html(report)
    assert batch_comparison_markdown(report).splitlines()[2] == f"**{sentence}** [Where they part](report-diffs/collapse.html)"
    assert next(lines_above(report)) == sentence
    assert "Baseline (the previous batch)" in batch_comparison_markdown(report)


def test_the_json_holds_the_headline_and_gives_it_back() -> None:
    comparison, rows = compared_with_rows(*a_regression())
    data = batch_comparison_v3(comparison, rows, choice="last_gate", divergence=PARTING)
    headline = json.loads(data)["headline"]
    assert headline["sentence"] == headline_sentence(comparison, divergence=PARTING)
    assert headline["choice"] == "last_gate"
    assert headline["first_divergence"] == {"scenario_id": "collapse", "step": 4}
    assert headline["counts"]["could_not_run"] == 1
    assert headline["counts"]["compared"] == 12
    assert read_batch_comparison_v3(data).headline == batch_comparison_report(comparison, choice="last_gate", divergence=PARTING).headline


def test_a_headline_without_a_comparison_has_no_counts() -> None:
    comparison, rows = compared_with_rows(batch_of({"a": Told("H")}), batch_of({"a": Told("P")}, hours=1))
    headline = json.loads(batch_comparison_v3(comparison, rows))["headline"]
    assert (headline["counts"], headline["first_divergence"]) == (None, None)


def test_that_two_batches_could_not_be_compared_is_said_once() -> None:
    comparison = of({"a": Told("H")}, {"a": Told("P")})
    said = [line for line in text_of(comparison).splitlines() if "compar" in line.lower()]
    assert said == [headline_sentence(comparison), "Not compared:"]
    markdown = batch_comparison_markdown(batch_comparison_report(comparison))
    assert markdown.count("could not be computed") == 1
    assert "ncomparable" not in markdown
    assert "nothing compared" not in markdown


@pytest.mark.parametrize(
    ("commits", "is_said"),
    [(("c0ffee1", "c0ffee1"), True), (("c0ffee1", "beef002"), False), ((None, None), False)],
)
def test_two_batches_of_one_commit_say_that_no_commit_lies_between_them(commits: tuple[str | None, str | None], is_said: bool) -> None:
    before, after = commits
    comparison = compared(batch_of({"a": Told("P")}, commit=before), batch_of({"a": Told("F")}, hours=1, commit=after))
    assert ("no committed change lies between them" in text_of(comparison)) is is_said


def test_a_batch_beside_itself_is_not_said_to_be_of_one_commit() -> None:
    batch = batch_of({"a": Told("P")})
    assert "no committed change" not in text_of(compared(batch, batch))


def test_a_row_that_is_listed_for_its_violation_shows_it() -> None:
    comparison = of(
        {"refund": Told("P"), "old": Told("P", violations=[("No SSN", 2)]), "worse": Told("P")},
        {"refund": Told("P", violations=[("No SSN", 5), ("No card", 6)]), "old": Told("P"), "worse": Told("F")},
    )
    table = batch_comparison_report(comparison).table
    assert table.columns[-1].label == "Violations"
    assert {row[0].text: row[-1].text for row in table.rows} == {
        "worse": "",
        "refund": "new: No SSN, No card",
        "old": "resolved: No SSN",
    }


def test_without_a_new_or_resolved_violation_there_is_no_such_column() -> None:
    table = batch_comparison_report(of({"a": Told("P")}, {"a": Told("F")})).table
    assert [column.label for column in table.columns][-1] == "Runs passed"
    assert len(table.rows[0]) == len(table.columns)


def test_the_title_shortens_a_sha_and_no_other_name_of_a_commit() -> None:
    sha = "c63b5b68330bb97c6a9906d1f098a31fe88fa0ee"
    comparison = compared(batch_of({"a": Told("P")}, commit="release-candidate-2026"), batch_of({"a": Told("P")}, hours=1, commit=sha))
    report = batch_comparison_report(comparison)
    assert report.page.title == "shop: c63b5b68330b against release-candidate-2026"
    assert sha in report.page.headline_facts[1].value
