"""What two batches differ in beside the agent's commit is said in every form."""

from typing import Any

import pytest

from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.reports.batch_comparison_html import batch_comparison_html
from evalplatform.reports.batch_comparison_markdown import batch_comparison_markdown, lines_above
from evalplatform.reports.batch_comparison_report import batch_comparison_report
from evalplatform.reports.batch_difference_words import difference_notices
from tests.support.batch_runs import run, side


def notices(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str]]:
    runs = {"s": [run("passed")]}
    comparison = compare_batches(side(runs, **before), side(runs, hours=1, **after))
    return [(notice.level, notice.text) for notice in difference_notices(comparison)]


@pytest.mark.parametrize(
    ("before", "after", "level", "text"),
    [
        (
            {"judge": "structural"},
            {"judge": "strict"},
            "caution",
            "Judges differ: structural in the baseline, strict in the candidate: a change can come from the grading alone.",
        ),
        (
            {"scenario_set_digest": "sha256:1"},
            {"scenario_set_digest": "sha256:2"},
            "caution",
            "The scenario sets differ: scenarios can have been graded by different checks, and a change can come from those.",
        ),
        (
            {"scenario_set_digest": "sha256:1"},
            {},
            "caution",
            "The candidate records no scenario set: whether both batches were graded by the same checks is not known.",
        ),
        ({"agent": "a"}, {"agent": "b"}, "note", "Agents differ: a in the baseline, b in the candidate."),
        ({}, {"model": "m-2"}, "note", "Models differ: not recorded in the baseline, m-2 in the candidate."),
    ],
)
def test_whatever_else_differs_is_said(before: dict[str, Any], after: dict[str, Any], level: str, text: str) -> None:
    assert notices(before, after) == [(level, text)]


def test_two_batches_that_differ_in_their_commit_alone_have_no_notice() -> None:
    assert notices({"commit": "a", "branch": "x"}, {"commit": "b", "branch": "y"}) == []


def test_a_batch_compared_with_itself_is_named_as_such() -> None:
    batch = side({"s": [run("passed")]})
    (notice,) = difference_notices(compare_batches(batch, batch))
    assert notice.text == "Both sides are the same batch: it is compared with itself, and nothing can differ."


def test_every_form_says_that_a_replay_was_compared_with_a_live_run_and_which_is_which() -> None:
    comparison = compare_batches(side({"s": [run("passed", leg="replay")]}), side({"s": [run("agent_error")]}, hours=1))
    report = batch_comparison_report(comparison)
    assert [cell.text for cell in report.table.rows[0][2:4]] == ["passed (replay)", "failed (agent error)"]
    said = "1 scenario compares a replayed recording with a live run"
    for form in ("\n".join(lines_above(report)), batch_comparison_markdown(report), batch_comparison_html(report)):
        assert said in form
