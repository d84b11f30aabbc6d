"""The page of a comparison: its parts can be told apart in the list of links, and every link leads to one place."""

import re

from evalplatform.reports.page import Page, page_html, page_markdown
from evalplatform.reports.view import Cell, Column, Section, Table

ONE_CELL = Table(columns=(Column(label="Run", numeric=False),), rows=((Cell(text="a"),),))


def section(key: str, title: str, *, label: str | None = None, group: str | None = None) -> Section:
    return Section(key=key, title=title, nav_label=label, nav_group=group, table=ONE_CELL)


def page_of(*sections: Section) -> Page:
    return Page(kind="Comparison", title="x", subtitle="y", sections=sections)


def links(html: str) -> list[tuple[str, str]]:
    nav = html[html.index("<nav") : html.index("</nav>")]
    return [(anchor, re.sub(r"<[^>]*>", "", label)) for anchor, label in re.findall(r'<a href="#([^"]*)">(.*?)</a>', nav)]


def test_parts_of_one_arm_are_linked_together_under_the_arms_own_name() -> None:
    arm = "skill:use-kettle"
    html = page_html(page_of(section("a", f"{arm}: Ranking", label="Ranking", group=arm), section("b", "docs: Ranking", group="docs")))
    assert links(html) == [("a", "skill:use-kettle: Ranking"), ("b", "docs: docs: Ranking")]
    assert re.findall(r'<div class="group"><b>(.*?)</b>', html) == ["skill:use-kettle", "docs"]


def test_a_part_without_a_label_is_linked_by_its_whole_title() -> None:
    assert links(page_html(page_of(section("a", "Points: caveman against none")))) == [("a", "Points: caveman against none")]


def test_every_anchor_is_plain_and_leads_to_one_place() -> None:
    keys = (
        "skill:x+docs-benefit",
        "skill-x-docs-benefit",
        "SKILL X DOCS BENEFIT",
        "skill-x-docs",
        "main",
        "日本",
        "compared",
        "a",
        "a-title",
    )
    html = page_html(page_of(*(section(key, key) for key in keys)))
    anchors = [anchor for anchor, _ in links(html)]
    assert len(anchors) == len(keys)
    assert all(re.fullmatch(r"[a-z0-9-]+", anchor) for anchor in anchors)
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert set(anchors) <= set(ids)


def test_markdown_says_the_whole_title() -> None:
    assert "## docs: Ranking\n" in page_markdown(page_of(section("a", "docs: Ranking", label="Ranking", group="docs")))


def test_a_long_text_may_take_several_lines_and_a_number_may_not() -> None:
    table = Table(
        columns=(Column(label="Run", numeric=False), Column(label="Arm", numeric=False), Column(label="Points")),
        rows=((Cell(text="a"), Cell(text="docs+skill:bucket-lifecycle"), Cell(text="+100.0 [+100.0, +100.0]")),),
    )
    html = page_html(page_of(Section(key="a", title="A", table=table)))
    assert '<td class="wordy plain">docs+skill:bucket-lifecycle</td>' in html
    assert '<td class="number plain">+100.0 [+100.0, +100.0]</td>' in html
