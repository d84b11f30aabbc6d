"""The report of a batch comparison, as a reader sees it."""

import re
from pathlib import Path

import pytest

from evalplatform.comparisons.batches.records import BatchComparison
from evalplatform.reports.batch_comparison_html import batch_comparison_html
from evalplatform.reports.batch_comparison_markdown import batch_comparison_markdown, lines_above, lines_below
from evalplatform.reports.batch_comparison_report import batch_comparison_report
from evalplatform.reports.batch_comparison_view import Passage
from evalplatform.reports.batch_comparison_words import counts_line, path_words, tolerance_caption, tolerance_lines, verdict_sentence
from tests.support.compared_batches import Told, a_regression, batch_of, compared
from tests.support.snapshots import assert_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"


def of(baseline: dict[str, Told], candidate: dict[str, Told], **changes: str) -> BatchComparison:
    return compared(batch_of(baseline), batch_of(candidate, hours=1), **changes)


def passage(comparison: BatchComparison, key: str) -> Passage:
    return next(passage for passage in batch_comparison_report(comparison).passages if passage.key == key)


def said(comparison: BatchComparison) -> str:
    report = batch_comparison_report(comparison)
    return "\n".join([*lines_above(report), *lines_below(report)])


def test_the_markdown_report_says_it_all() -> None:
    comparison = compared(*a_regression())
    pages = {change.scenario_id: f"report-diffs/{change.scenario_id}.html" for change in comparison.changes}
    report = batch_comparison_report(comparison, diff_pages=pages)
    assert_snapshot(SNAPSHOTS / "batch_comparison.md", batch_comparison_markdown(report))


def test_the_page_says_the_same_offline_and_without_a_script() -> None:
    html = batch_comparison_html(batch_comparison_report(compared(*a_regression())))
    assert_snapshot(SNAPSHOTS / "batch_comparison.html", html[html.index("<body>") :])
    assert "<script" not in html
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", html)


def test_scenarios_that_a_partial_batch_was_not_recorded_of_are_noticed_and_not_called_dropped_or_added() -> None:
    many = batch_of({f"s{number}": Told("P") for number in range(7)}, set_scenarios=7)
    few = batch_of({"s3": Told("P")}, hours=1, set_scenarios=7)
    told = said(compared(many, few))
    assert "The candidate is partial: 1 of 7 scenarios." in told
    assert "6 scenarios of the baseline have no run in the candidate, which is partial." in told
    assert "dropped" not in told
    backwards = said(compared(few, many))
    assert "6 scenarios of the candidate have no run in the baseline, which is partial." in backwards
    assert "added" not in backwards


def test_a_candidate_that_could_not_run_is_newly_failing_and_counted_apart() -> None:
    comparison = of({"a": Told("P"), "b": Told("P"), "c": Told("P")}, {"a": Told("F"), "b": Told("H"), "c": Told("P")})
    assert verdict_sentence(comparison) == (
        "Regressed: 1 of 3 compared scenarios passed in the baseline and fails in the candidate; 1 more could not run."
    )
    assert counts_line(comparison) == "2 newly failing"
    rows = batch_comparison_report(comparison).table.rows
    assert [row[1].text for row in rows] == ["newly failing", "could not run (harness)"]


@pytest.mark.parametrize(
    ("baseline", "candidate", "sentence"),
    [
        ("P", "H", "Regressed: the one compared scenario passed in the baseline and could not run in the candidate."),
        ("F", "P", "Improved: the one compared scenario failed in the baseline and passes in the candidate; none the other way."),
        ("P", "P", "Clean: the one compared scenario neither flips nor scores lower nor drifts in its tool path."),
        ("H", "P", "Incomparable: no compared run has a verdict on both sides."),
        ("U", "P", "Incomparable: no compared run has a verdict on both sides."),
    ],
)
def test_each_verdict_has_its_sentence(baseline: str, candidate: str, sentence: str) -> None:
    assert verdict_sentence(of({"a": Told(baseline)}, {"a": Told(candidate)})) == sentence


def test_a_regression_of_runs_that_could_not_run_alone_starts_with_them() -> None:
    comparison = of({"a": Told("P"), "b": Told("P"), "c": Told("P")}, {"a": Told("H"), "b": Told("H"), "c": Told("P")})
    assert verdict_sentence(comparison) == "Regressed: 2 of 3 compared scenarios passed in the baseline and could not run in the candidate."


def test_what_is_incomparable_never_reads_as_clean() -> None:
    expired = compared(batch_of({"a": Told("P")}), batch_of({"a": Told("P")}, hours=1), baseline_retention="expired")
    partly = of({"a": Told("P"), "b": Told("H")}, {"a": Told("P"), "b": Told("P")})
    for comparison in (expired, partly):
        text = said(comparison)
        assert text.startswith(("The comparison could not be computed: ", "The gate has no answer"))
        assert "no change" not in text
        assert not re.search(r"\bclean\b(?<!same as clean)", text, re.IGNORECASE)
    assert "has expired, and its runs are no longer kept" in said(expired)
    assert "b — the baseline's run could not run (harness): connection refused" in said(partly)


def test_the_header_names_both_batches_with_commit_time_and_what_they_lack() -> None:
    cut = batch_of({"a": Told("P")}, hours=1, commit="beef002", truncated_reason="the spend cap of $5.00 was reached")
    text = said(compared(batch_of({"a": Told("P")}), cut, baseline_retention="compacted"))
    assert re.search(r"^Baseline: b-20260501t120000-\w{8}, commit c0ffee1, recorded 2026-05-01 12:00 UTC; compacted: one run", text, re.M)
    assert re.search(
        r"^Candidate: b-20260501t130000-\w{8}, commit beef002, .*; truncated: the spend cap of \$5.00 was reached$", text, re.M
    )
    assert "caution: The baseline is compacted: one run of each scenario is kept." in text


def test_tool_paths_read_as_before_where_no_tolerance_is_declared() -> None:
    comparison = of({"a": Told("P", tools="xy"), "b": Told("P")}, {"a": Told("P", tools="yx"), "b": Told("P")})
    assert [path_words(change) for change in comparison.changes] == ["changed"]
    assert list(tolerance_lines(comparison)) == []
    assert tolerance_caption(comparison) is None
    assert "olerance" not in said(comparison)


def test_a_declared_tolerance_is_named_on_each_row_that_it_applies_to() -> None:
    def lookup(tools: str, tolerance: str = "any_order") -> dict[str, Told]:
        return {"lookup": Told("P", tools=tools, tolerance=tolerance)}

    tolerated = of(lookup("xy"), lookup("yx"))
    assert path_words(tolerated.changes[0]) == "within tolerance (any order)"
    assert list(tolerance_lines(tolerated)) == ["Within path tolerance (1): lookup"]
    assert str(tolerance_caption(tolerated)).endswith("1 row within path tolerance.")
    assert path_words(of(lookup("xy"), lookup("xyy")).changes[0]) == "changed (any order)"
    loosened = of(lookup("xy", "exact"), lookup("yx"))
    assert path_words(loosened.changes[0]) == "changed (exact)"
    assert list(tolerance_lines(loosened)) == ["lookup: path tolerance any order in the candidate, exact in the baseline; exact applies"]


def test_a_new_violation_reads_as_the_scenario_breaching_the_policy() -> None:
    comparison = of(
        {"refund": Told("P"), "old": Told("P", violations=[("No SSN", 2)])},
        {"refund": Told("P", violations=[("No SSN", 5)]), "old": Told("P")},
    )
    shown = passage(comparison, "violations")
    assert [f"{item.scenario_id} {item.text}" for item in shown.items] == [
        'refund breaches "No SSN" (step 5); the candidate passed',
        'old no longer breaches "No SSN" (step 2 of the baseline)',
    ]
    assert shown.notes == ("Violations are apart from the verdict: a scenario can pass its checks and still breach a policy.",)


def test_an_empty_list_of_violations_says_that_all_runs_were_scanned() -> None:
    notes = passage(of({"a": Told("P")}, {"a": Told("P")}), "violations").notes
    assert notes[0] == "No new violation: every run of both batches that has steps was scanned."


def test_what_a_candidate_breaches_where_the_baseline_has_nothing_to_compare_is_listed_as_new_with_the_reason() -> None:
    breaching = Told("P", violations=[("No SSN", 2)])
    shown = passage(of({"a": Told("P"), "n": Told("H")}, {"a": Told("P"), "n": breaching, "z": breaching}), "violations")
    assert [f"{item.scenario_id} {item.text}" for item in shown.items] == [
        'z breaches "No SSN" (step 2); the candidate passed; the baseline does not have the scenario',
        'n breaches "No SSN" (step 2); the candidate passed; the baseline has no steps of it',
    ]
    assert not any("No new violation" in note for note in shown.notes)


def test_breaches_in_runs_that_were_not_compared_are_counted_and_nothing_is_called_free_of_new_ones() -> None:
    comparison = of({"x": Told("PP")}, {"x": Told("PP", violations=[("No SSN", 2)])})
    earlier = comparison.with_changes(uncompared_breaches=1, changes=())
    assert passage(earlier, "violations").notes[:2] == (
        "The compared runs of the candidate breach nothing new.",
        "1 further run of the candidate breaches a policy, and was not compared with a run of the baseline.",
    )
    assert "1 further run of the candidate" in passage(comparison, "violations").notes[0]


def test_a_candidate_without_steps_is_not_called_free_of_violations() -> None:
    (note, _) = passage(of({"a": Told("P")}, {"a": Told("H")}), "violations").notes
    assert note == "No run of the candidate has steps, so that nothing was scanned for violations."


def test_scan_coverage_stands_in_place_of_an_empty_list_of_violations() -> None:
    shown = passage(of({"a": Told("P", violations=None)}, {"a": Told("P")}), "violations")
    assert shown.items == ()
    (note,) = shown.notes
    assert note == (
        "Scanned for violations: 0 of 1 run with steps of the baseline, 1 of 1 run with steps of the candidate. "
        "What was not scanned is not known to be free of them."
    )


def test_tolerance_is_not_spoken_of_where_no_path_was_compared() -> None:
    comparison = of({"a": Told("P", tolerance="any_order"), "b": Told("P")}, {"a": Told("H"), "b": Told("P")})
    assert list(tolerance_lines(comparison)) == []
    assert tolerance_caption(comparison) is None


def test_names_that_differ_in_their_spaces_alone_do_not_read_alike_in_any_form() -> None:
    names = ["a b", "a  b", " a b", "a b"]
    report = batch_comparison_report(of(dict.fromkeys(names, Told("P")), dict.fromkeys(names, Told("F"))))
    assert sorted(row[0].text for row in report.table.rows) == ["a b", "a ⟨U+0020⟩b", "a⟨U+00A0⟩b", "⟨U+0020⟩a b"]


def test_rows_of_a_class_are_found_by_the_pages_address() -> None:
    html = batch_comparison_html(batch_comparison_report(compared(*a_regression())))
    keys = re.findall(r'<tr role="row" class="is-([a-z_]+)">', html)
    assert "newly_failing" in keys
    for key in keys:
        if key != "unchanged":
            assert f'<span class="shown" id="show-{key}">' in html
            assert f'<a href="#show-{key}">' in html
            assert f"#show-{key}:target ~ .scroll tbody tr:not(.is-{key})" in html


def test_names_of_users_cannot_become_markup() -> None:
    name = '<b>"x"</b>|[y](z)\u202e'
    comparison = of({name: Told("P")}, {name: Told("F", violations=[("<i>p</i>", 1)])})
    html = batch_comparison_html(batch_comparison_report(comparison))
    assert "<b>&#34;x" not in html
    assert "&lt;b&gt;&#34;x&#34;&lt;/b&gt;|[y](z)" in html
    assert "<i>p" not in html
    assert "\u202e" not in html + batch_comparison_markdown(batch_comparison_report(comparison)) + said(comparison)
    assert "\\<b>" in batch_comparison_markdown(batch_comparison_report(comparison))
