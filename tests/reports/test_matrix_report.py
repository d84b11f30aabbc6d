"""A matrix as a page: counts, warnings, cells, plugin deltas; nothing missing reads as a number."""

from dataclasses import replace
from pathlib import Path

from evalplatform.comparisons.matrix_rollup import MatrixRollup, roll_up
from evalplatform.reports.matrix_report import matrix_page
from evalplatform.reports.page import Page, page_html, page_markdown
from tests.support.plugin_cells import changed, control_run, plugin_run, unjudged, with_arm
from tests.support.snapshots import assert_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"


def matrix() -> MatrixRollup:
    """Two models, one of them with a plugin set, an orphan, and a cell without a run."""
    other = {"model": "large", "answering_digest": "sha256:large", "plugin_set": "truncate:80", "plugin_set_id": "sha256:" + "3" * 32}
    orphan = replace(changed(plugin_run(), **other), name="large-cut")
    return roll_up([control_run(), plugin_run(), orphan], missing={"large": "HTTP 401: wrong key."})


def section(page: Page, key: str) -> list[list[str]]:
    table = next(part.table for part in page.sections if part.key == key)
    return [[cell.text for cell in row] for row in table.rows]


def test_a_matrix_reads_as_it_should() -> None:
    assert_snapshot(SNAPSHOTS / "matrix.md", page_markdown(matrix_page(matrix())))


def test_counts_come_first_then_what_to_know_then_cells_then_deltas() -> None:
    page = matrix_page(matrix())
    assert [fact.label for fact in page.headline_facts][:2] == ["Cells", "Cells without a run"]
    assert [notice.level for notice in page.notices] == ["problem", "caution"]
    assert [part.title for part in page.sections] == ["Cells", "Plugin Deltas"]
    assert [figure.title for figure in page.figures] == ["Points by cell and arm", "What plugins do to each arm", "Cost against score"]


def test_every_arm_of_every_cell_has_a_row() -> None:
    assert [tuple(row[:3]) for row in section(matrix_page(matrix()), "cells")] == [
        (name, plugins, arm)
        for name, plugins in (("plain", "none"), ("caveman", "caveman:full"), ("large-cut", "truncate:80"))
        for arm in control_run().identity.arms
    ]


def test_a_cost_that_leaves_answers_out_is_marked() -> None:
    costs = [row[10] for row in section(matrix_page(matrix()), "cells") if row[0] == "caveman"]
    assert [cost.endswith(", partial") for cost in costs] == [True, False, False, False]


def test_a_matrix_without_a_pair_has_no_deltas_section() -> None:
    page = matrix_page(roll_up([control_run()]))
    assert [part.key for part in page.sections] == ["cells"]
    assert "Plugin deltas: 0" in [f"{fact.label}: {fact.value}" for fact in page.headline_facts]


def test_where_nobody_judged_costs_are_shown_and_nothing_is_said_of_quality() -> None:
    page = matrix_page(roll_up([unjudged(control_run()), unjudged(plugin_run())]))
    assert "Nobody judged plain and caveman" in page.notices[0].text
    assert page.figures == ()
    assert all(row[3] == row[9] == "—" for row in section(page, "cells"))
    assert all(row[6] == row[10] == "—" for row in section(page, "plugin-deltas"))
    assert all(row[11] != "—" for row in section(page, "plugin-deltas")[1:])


def test_a_refused_delta_is_a_problem_that_says_why() -> None:
    page = matrix_page(roll_up([control_run(), unjudged(plugin_run())]))
    assert page.notices[0].level == "problem"
    assert page.notices[0].text.startswith("The delta of caveman from plain is refused. ")
    assert "Refused: 1" in [f"{fact.label}: {fact.value}" for fact in page.headline_facts]


def test_a_linked_page_leads_to_the_pages_of_its_cells_and_deltas() -> None:
    rollup = roll_up([replace(control_run(), name="a]b /x"), plugin_run()])
    page = matrix_page(rollup, linked=True)
    delta = "plugin-delta-a-b--x-to-caveman-"
    for href, cell in (("cells/a-b--x.html", "a]b /x"), ("cells/caveman.html", "caveman")):
        assert f'<th scope="row"><a href="{href}">{cell}</a></th>' in page_html(page)
    assert f'<th scope="row"><a href="{delta}' in page_html(page)
    assert r"| [a\]b /x](cells/a-b--x.html) | none | baseline |" in page_markdown(page)
    assert f"| [caveman]({delta}" in page_markdown(page)
    assert "href" not in str(matrix_page(rollup).sections).replace("href=None", "")


def test_what_answered_each_cell_and_how_stands_at_the_end() -> None:
    facts = {fact.label: fact.value for fact in matrix_page(roll_up([changed(control_run(), draws=3)])).facts}
    assert facts["plain"] == (
        "small-8b-instruct at openai-chat, http://127.0.0.1:8000/v1, arms-runner, plugin set none, sampling max_tokens 800, temperature 0, "
        "grounded_from_topics false, seed 7, 3 draws of each question"
    )


def test_names_of_users_are_escaped_in_both_forms() -> None:
    page = matrix_page(roll_up([replace(control_run(), name="<b>|x")]))
    assert "<b>|x" not in page_html(page)
    assert "&lt;b&gt;|x" in page_html(page)
    assert r"\<b>\|x" in page_markdown(page)


def test_a_truncated_cell_is_a_problem() -> None:
    page = matrix_page(roll_up([replace(control_run(), truncated_reason="budget_exhausted")]))
    assert page.notices[0].level == "problem"
    assert page.notices[0].text == (
        "The cell plain ended before its last question: the budget was spent. A rerun asks only what is missing."
    )


def test_what_a_cell_lacks_is_a_problem_before_what_is_only_to_be_known() -> None:
    orphan = replace(changed(plugin_run(), model="large", answering_digest="sha256:large"), name="orphan")
    page = matrix_page(roll_up([control_run(), orphan], flaws={"plain": ["3 answers failed.", "80.0% were scored; 95% are needed."]}))
    assert [notice.level for notice in page.notices] == ["problem", "problem", "caution"]
    assert [notice.text for notice in page.notices][:2] == [
        "The cell plain: 3 answers failed.",
        "The cell plain: 80.0% were scored; 95% are needed.",
    ]


def test_what_may_mislead_about_a_delta_is_said_with_its_pair() -> None:
    page = matrix_page(roll_up([control_run(), changed(plugin_run(), seed=8)]))
    assert page.notices[0].text.startswith("caveman against plain: The runs have different seeds")


def test_a_delta_of_too_few_pairs_is_a_problem() -> None:
    control, plugin = control_run(), plugin_run()
    half = {question: points for question, points in plugin.arms["docs"].points.items() if question < "q012"}
    page = matrix_page(roll_up([control, with_arm(plugin, "docs", points=half)]))
    assert (page.notices[0].level, page.notices[0].text.split(": ")[0]) == ("problem", "caveman against plain")
