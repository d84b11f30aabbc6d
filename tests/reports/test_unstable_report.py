"""The report of unstable scenarios: its sentence, what it leaves out, and its three forms."""

import json
from typing import Any

import pytest

from evalplatform.drift.instability import InstabilityReading, batch_window, unstable_scenarios
from evalplatform.reports.page import page_html, page_markdown
from evalplatform.reports.unstable_report import headline, unstable_json, unstable_lines, unstable_page
from evalplatform.runs.bundle import BundleSummary
from tests.support.recorded_batches import NOW, MemoryBatches, recorded


def reading_of(*summaries: BundleSummary, **changes: Any) -> InstabilityReading:
    stored = MemoryBatches(*summaries)
    return unstable_scenarios(batch_window(stored.batches, now=NOW), runs_of=stored.runs).with_changes(**changes)


FLIPPED = (recorded({"refund": "PP", "rebook": "P"}, days_ago=1), recorded({"refund": "PF", "rebook": "P"}, model="small"))


@pytest.mark.parametrize(
    ("summaries", "sentence"),
    [
        ((), "Not enough evidence: no commit ran twice."),
        (FLIPPED[:1], "Not enough evidence: no commit ran twice."),
        (
            (recorded({"refund": "P"}, days_ago=1), recorded({"rebook": "P"})),
            "Not enough evidence: no scenario ran in two batches of one commit.",
        ),
        (
            (recorded({"refund": "P"}, days_ago=1), recorded({"refund": "PP"})),
            "The 1 scenario that ran in several batches of one commit came out the same.",
        ),
        (FLIPPED, "1 of 2 scenarios that ran in several batches of one commit came out differently."),
    ],
)
def test_the_headline_never_takes_missing_evidence_for_stability(summaries: tuple[BundleSummary, ...], sentence: str) -> None:
    assert headline(reading_of(*summaries)) == sentence


def test_the_lines_show_passes_over_graded_runs_by_batch_and_what_else_differs() -> None:
    older, newer = (summary.batch.id for summary in FLIPPED)
    assert list(unstable_lines(reading_of(*FLIPPED))) == [
        "1 of 2 scenarios that ran in several batches of one commit came out differently.",
        "refund: 3/4 runs passed over 2 batches; not the same in all of them: model",
        f"    mixed 1/2 in {newer} on c0ffee1",
        f"    passed 2/2 in {older} on c0ffee1",
        "Read: 2 whole batches of the last 30 days (since 2026-10-31 12:00 UTC), live graded runs only.",
    ]


def test_what_is_left_out_is_said_and_counted() -> None:
    reading = reading_of(*FLIPPED, continued=1, compacted=3, expired=1, beyond_limit=2, without_commit=1)
    assert list(unstable_lines(reading))[-4:] == [
        "Left out: 1 batch that went on as another batch, which is read.",
        "Left out: 3 compacted and 1 expired batches, which no longer hold whole run sets.",
        "Left out: 2 older batches: only the newest 200 are read.",
        "1 batch names no commit, and so can be set beside no other.",
    ]


def test_many_batches_of_one_scenario_are_cut_short_in_words_and_whole_in_json() -> None:
    reading = reading_of(*(recorded({"refund": "P" if number else "F"}, days_ago=number) for number in range(9)))
    assert "    and 3 more, all of them with --json" in unstable_lines(reading)
    data = json.loads(unstable_json(reading))
    (refund,) = data["unstable"]
    assert (len(refund["batches"]), refund["failed_runs"], refund["batches"][0]["outcome"]) == (9, 1, "failed")
    assert (data["schema_version"], data["has_evidence"], data["batches_read"]) == (1, True, 9)


def test_the_page_escapes_names_and_says_that_it_decides_nothing() -> None:
    page = unstable_page(reading_of(recorded({"<b>|": "P"}, days_ago=1), recorded({"<b>|": "F"})))
    assert r"\<b>\|" in page_markdown(page)
    html = page_html(page)
    assert "&lt;b&gt;|" in html
    assert "changes no verdict" in html


def test_a_page_without_evidence_has_no_table() -> None:
    assert "| Scenario |" not in page_markdown(unstable_page(reading_of()))
