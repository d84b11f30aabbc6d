"""A plugin delta as a page: what was found, with intervals and verdicts; a refused one with every reason."""

from pathlib import Path

import pytest

from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.comparisons.plugin_delta_records import PluginDelta
from evalplatform.comparisons.refusals import Refused
from evalplatform.reports.page import Page, page_html, page_markdown
from evalplatform.reports.plugin_delta_report import plugin_delta_page, refused_page
from tests.support.plugin_cells import changed, control_run, plugin_run, unjudged, with_arm
from tests.support.snapshots import assert_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"


def page_of(control: ComparedRun, plugin: ComparedRun) -> Page:
    delta = plugin_delta(control, plugin)
    assert isinstance(delta, PluginDelta), delta
    return plugin_delta_page(delta)


def refused() -> Refused:
    ids = tuple(f"q{number:03d}" for number in range(1, 25))
    found = plugin_delta(control_run(), changed(plugin_run(), model="large", question_ids=ids, judge_context=None))
    assert isinstance(found, Refused)
    return found


def body(html: str) -> str:
    return html[html.index("<body>") :]


def text_cells(page: Page, section: str) -> dict[str, list[str]]:
    table = next(part.table for part in page.sections if part.key == section)
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def test_the_pages_markdown_and_html_are_what_readers_were_shown_before() -> None:
    page = page_of(control_run(), plugin_run())
    assert_snapshot(SNAPSHOTS / "plugin_delta.md", page_markdown(page))
    assert_snapshot(SNAPSHOTS / "plugin_delta.html", body(page_html(page)))


def test_a_refused_comparison_lists_every_reason_and_shows_no_number() -> None:
    page = refused_page(refused())
    assert [notice.level for notice in page.notices] == ["problem"] * 3
    assert (page.sections, page.figures, page.findings) == ((), (), ())
    assert_snapshot(SNAPSHOTS / "refused_plugin_delta.md", page_markdown(page))
    assert "at place 1 plain has q000; caveman has q001" in body(page_html(page))


def test_colour_is_for_what_is_significant() -> None:
    page = page_of(control_run(), plugin_run())
    assert [found.tone for found in page.findings] == ["muted", "worse", "muted", "better"]
    assert page.findings[1].sentence == "docs scores lower with caveman:full"
    assert page.findings[0].sentence == "baseline: no difference with caveman:full shown"


@pytest.mark.parametrize(
    ("points", "sentence", "evidence", "verdict"),
    [
        ({}, "docs cannot be compared", "0 questions scored in both runs; two are needed.", "— (no pairs)"),
        ({"q000": 50.0}, "docs cannot be compared", "1 question scored in both runs; two are needed.", "— (one pair)"),
        ({"q000": 50.0, "q001": 60.0, "q002": 40.0}, "docs was not tested", "3 pairs, 6 needed", "— (3 pairs, 6 needed)"),
    ],
)
def test_what_could_not_be_tested_says_why(points: dict[str, float], sentence: str, evidence: str, verdict: str) -> None:
    page = page_of(with_arm(control_run(), "docs", points=points), plugin_run())
    assert page.findings[1].sentence == sentence
    assert evidence in page.findings[1].evidence
    assert text_cells(page, "scores")["docs"][-1] == verdict
    assert next(notice.level for notice in page.notices) == "problem", "too few pairs stand before everything else"


def test_an_arm_that_moves_by_the_same_amount_everywhere_is_not_tested() -> None:
    shifted = {question: points + 2 for question, points in control_run().arms["docs"].points.items()}
    page = page_of(control_run(), with_arm(plugin_run(), "docs", points=shifted))
    assert page.findings[1].evidence == "+2.0 points, 95% interval [+2.0, +2.0], 23 pairs; every pair differs by the same amount."
    assert text_cells(page, "scores")["docs"][-1] == "— (N/A: no spread)"


def test_without_a_judge_the_page_says_nothing_of_quality() -> None:
    page = page_of(unjudged(control_run()), unjudged(plugin_run()))
    assert [section.key for section in page.sections] == ["costs", "lengths"]
    assert (page.findings, page.figures) == ((), ())
    assert "nothing is said of quality" in page.notices[0].text
    assert text_cells(page, "costs")["docs"][2] == "-1,792 (-50.0%)"


def test_a_cost_that_is_not_of_all_answers_is_marked_and_an_unknown_one_is_no_zero() -> None:
    costs = text_cells(page_of(control_run(), plugin_run()), "costs")
    assert costs["baseline"][0].endswith(", partial")
    assert costs["docs"][0] == "-0.003584 (-44.1%)"
    assert costs["docs"][-1] == "—"


def test_what_users_and_models_wrote_cannot_become_markup() -> None:
    hostile = "caveman|<script>alert(1)</script>"
    page = page_of(control_run(), changed(plugin_run(), plugin_set=hostile, plugin_set_id="sha256:5"))
    assert "<script>" not in page_html(page)
    assert "caveman\\|\\<script>" in page_markdown(page)


SKILL = "skill:bucket-lifecycle"
LEFT_OUT = "the questions left out may hide a difference."


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        (
            {"docs": 0, SKILL: 0},
            f"docs and {SKILL} were scored in both runs for 0 of 24 questions (0.0%, 95.0% needed): nothing can be said",
        ),
        ({"docs": 20}, f"docs was scored in both runs for 20 of 24 questions (83.3%, 95.0% needed): {LEFT_OUT}"),
        (
            {"docs": 20, SKILL: 20},
            f"docs and {SKILL} were scored in both runs for 20 of 24 questions each (83.3%, 95.0% needed): {LEFT_OUT}",
        ),
        (
            {"docs": 20, SKILL: 22},
            f"docs and {SKILL} were scored in both runs for too few questions, docs for the fewest: 20 of 24 questions (83.3%, ",
        ),
    ],
)
def test_too_few_pairs_are_said_as_they_are(pairs: dict[str, int], sentence: str) -> None:
    control = control_run()
    for arm, number in pairs.items():
        control = with_arm(control, arm, points=dict.fromkeys(control.identity.question_ids[:number], 50.0))
    assert page_of(control, plugin_run()).notices[0].text.startswith(sentence)


def test_runs_given_the_wrong_way_round_are_told_how_to_be_swapped() -> None:
    page = page_of(plugin_run(), control_run())
    assert page.title == "Object Storage: none against caveman:full, the wrong way round"
    assert page.notices[0].level == "problem"
    assert "Give plain as the control (--baseline-json) and caveman as the run with plugins (--plugin-json)." in page.notices[0].text


def test_a_length_has_an_interval_and_a_sum_says_why_it_has_none() -> None:
    page = page_of(control_run(), plugin_run())
    assert text_cells(page, "lengths")["docs"][2].endswith("]")
    costs = next(section for section in page.sections if section.key == "costs")
    assert costs.notes[0].startswith("These deltas have no interval and no test")
