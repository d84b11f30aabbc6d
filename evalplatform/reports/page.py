"""A report of a comparison as one page: facts, notices, findings, figures, tables. One value, a Markdown form and an HTML form of it."""

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from evalplatform.kernel.values import Value
from evalplatform.reports.html import Download, check_downloads, page_environment, page_style
from evalplatform.reports.markdown import markdown_facts, markdown_findings, markdown_notices, markdown_section, markdown_text
from evalplatform.reports.view import Fact, Figure, Finding, Notice, Section

PAGE_ANCHORS = ("main", "compared", "notices", "findings")
"""The anchors of the page's own parts."""


class PartLink(NamedTuple):
    """A link to a part of the page."""

    anchor: str
    label: str


class LinkGroup(NamedTuple):
    """Links to parts that are of one thing, such as an arm; `name` is None where the page has one of each part."""

    name: str | None
    links: tuple[PartLink, ...]


class Page(Value):
    """A report, worded and rounded.

    `kind` says in two or three words what kind of report it is. `headline_facts` are read first, `facts` are all that was fixed.
    """

    kind: str
    title: str
    subtitle: str
    headline_facts: tuple[Fact, ...] = ()
    notices: tuple[Notice, ...] = ()
    findings: tuple[Finding, ...] = ()
    figures: tuple[Figure, ...] = ()
    sections: tuple[Section, ...] = ()
    facts: tuple[Fact, ...] = ()


def page_markdown(page: Page) -> str:
    """Return the page as Markdown: title, facts, notices, findings, tables, and what was fixed. Figures are left to the HTML form."""
    blocks = [f"# {markdown_text(page.title)}\n\n{markdown_text(page.subtitle)}\n"]
    blocks += [block for block in (markdown_facts(page.headline_facts), markdown_notices(page.notices)) if block]
    if page.findings:
        blocks.append(markdown_findings(page.findings))
    blocks += [markdown_section(section) for section in page.sections]
    if page.facts:
        blocks.append(f"## What was compared\n\n{markdown_facts(page.facts)}")
    return "\n".join(blocks)


def page_html(page: Page, *, downloads: Sequence[Download] = ()) -> str:
    """Return the page as one HTML file that opens offline, runs no script and makes no request.

    Raises:
        InputError: a download whose file name is not a plain name of a file beside the page.
    """
    check_downloads(downloads)
    style = page_style()
    anchored = anchored_sections(page.sections)
    return (
        page_environment()
        .get_template("page.html.j2")
        .render(
            page=page.model_copy(update={"sections": anchored}),
            link_groups=link_groups(anchored),
            downloads=downloads,
            style=Markup(style),  # our own file, no user text
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        )
    )


def anchored_sections(sections: Iterable[Section]) -> tuple[Section, ...]:
    """Return the sections with keys that an address can end in as they are: lower case letters, digits and hyphens, each only once.

    Keys hold what users named, such as `skill:use-kettle+docs`.
    """
    taken, anchored = set(PAGE_ANCHORS), []
    for section in sections:
        slug = re.sub(r"[^a-z0-9]+", "-", section.key.lower()).strip("-") or "part"
        anchor, number = slug, 1
        while {anchor, f"{anchor}-title"} & taken:
            number += 1
            anchor = f"{slug}-{number}"
        taken |= {anchor, f"{anchor}-title"}
        anchored.append(section.model_copy(update={"key": anchor}))
    return tuple(anchored)


def link_groups(sections: Iterable[Section]) -> list[LinkGroup]:
    """Return a link to each section, those of one group together. Sections of one group stand beside each other."""
    return [
        LinkGroup(name, tuple(PartLink(section.key, section.nav_label or section.title) for section in of_group))
        for name, of_group in groupby(sections, key=lambda section: section.nav_group)
    ]
