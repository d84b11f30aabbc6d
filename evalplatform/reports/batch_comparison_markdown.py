"""A batch comparison as Markdown, and as the lines of a terminal."""

from collections.abc import Iterator

from evalplatform.reports.batch_comparison_view import BatchComparisonReport, Item, Passage
from evalplatform.reports.markdown import markdown_cell, markdown_facts, markdown_notices, markdown_table, markdown_text
from evalplatform.reports.view import Cell
from evalplatform.reports.visible import one_line


def batch_comparison_markdown(report: BatchComparisonReport) -> str:
    """Return the report as Markdown; figures are left to the HTML form."""
    return "\n".join(_blocks(report))


def lines_above(report: BatchComparisonReport) -> Iterator[str]:
    """Yield what a terminal shows above the table: headline, both batches, what to know, verdict and counts."""
    yield one_line(report.headline.sentence)
    for fact in report.page.headline_facts:
        yield one_line(f"{fact.label}: {fact.value}")
    for notice in report.page.notices:
        yield one_line(f"{notice.level}: {notice.text}")
    yield from (one_line(line) for line in (report.page.subtitle, report.counts) if line)


def lines_below(report: BatchComparisonReport) -> Iterator[str]:
    """Yield what a terminal shows below the table: path tolerance, then each passage after an empty line."""
    if report.caption is not None:
        yield one_line(report.caption)
    yield from map(one_line, report.lines)
    for passage in report.passages:
        yield ""
        yield one_line(f"{passage.title}:")
        yield from (f"  {one_line(sentence)}" for sentence in passage.intro)
        yield from (f"  - {_spaced(f'{item.scenario_id} {item.text}')}" for item in passage.items)
        yield from (f"  {one_line(note)}" for note in passage.notes)


def _blocks(report: BatchComparisonReport) -> Iterator[str]:
    page = report.page
    yield f"# {markdown_text(page.kind)}: {markdown_text(page.title)}\n"
    yield f"**{markdown_text(report.headline.sentence)}**{_where_they_part(report)}\n"
    yield markdown_facts(page.headline_facts)
    if page.notices:
        yield markdown_notices(page.notices)
    yield from (f"{markdown_text(line)}\n" for line in (page.subtitle, report.counts) if line)
    if report.caption is not None:
        yield f"{markdown_text(report.caption)}\n"
    if report.table.rows:
        yield f"{markdown_table(report.table)}\n"
    if report.lines:
        yield "".join(f"- {markdown_text(line)}\n" for line in report.lines)
    yield from (_passage(passage) for passage in report.passages)
    yield f"## What was compared\n\n{markdown_facts(page.facts)}"


def _where_they_part(report: BatchComparisonReport) -> str:
    """Return the link to the diff that the headline speaks of, after a space; nothing without such a page."""
    return "" if report.headline_href is None else f" {markdown_cell(Cell(text='Where they part', href=report.headline_href))}"


def _passage(passage: Passage) -> str:
    parts = [f"## {markdown_text(passage.title)}", *(markdown_text(sentence) for sentence in passage.intro)]
    if passage.items:
        parts.append("\n".join(f"- {_item(item)}" for item in passage.items))
    parts += [markdown_text(note) for note in passage.notes]
    return "\n\n".join(parts) + "\n"


def _item(item: Item) -> str:
    return f"{markdown_cell(Cell(text=item.scenario_id, href=item.href))} {markdown_text(item.text)}"


def _spaced(text: str) -> str:
    """Return an item on one line, with the two spaces that set off its parts kept."""
    return "  ".join(one_line(part) for part in text.split("  "))
