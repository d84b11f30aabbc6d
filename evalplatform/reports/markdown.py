"""Reports as Markdown (GitHub's tables). Text that users or models wrote is escaped: it cannot become markup, a link or a new row."""

import re
from collections.abc import Iterable, Iterator

from evalplatform.reports.arms_view import ArmsReport
from evalplatform.reports.view import Cell, Column, Fact, Finding, Notice, Section, Table
from evalplatform.reports.visible import one_line

# What may start markup inside a line, and only there, so that the file is readable as it is: `<0.0001` and `[1.2, 3.4]` need no escape.
# An underscore inside a word starts nothing (CommonMark 0.31, 6.2), and arm names are full of them.
MARKUP = re.compile(
    r"""[\\`*|~$]                        # escapes, code, emphasis, table cells, strikethrough, formulas
    | <(?=[A-Za-z/!?])                   # tags and comments
    | &(?=\#|[A-Za-z0-9]+;)              # entities
    | \](?=[(\[:])                       # links, and definitions of them
    | (?<![^\W_])_ | _(?![^\W_])         # emphasis at a word's edge
    | \A[>\#=] | \A[-+](?=\s|\Z)         # what starts a block
    | \A\[(?=[\ xX]\])                   # task lists
    | (?<=\A\d)[.)](?=\s|\Z) | (?<=\A\d\d)[.)](?=\s|\Z)  # numbered lists
    """,
    re.VERBOSE,
)
LINK_MARKUP = re.compile(rf"{MARKUP.pattern} | [\[\]]", re.VERBOSE)
"""In a link's text every bracket may end it, or begin another."""

NOTICE_WORDS = {"problem": "Problem", "caution": "Caution", "note": "Note"}


def markdown_text(text: str) -> str:
    """Return text as one line of Markdown that reads as that text: markup escaped, white space collapsed, hidden characters visible."""
    return MARKUP.sub(_escaped, one_line(text))


def markdown_table(table: Table) -> str:
    """Return a table, numbers to the right; every cell is escaped, and one with a page of its own leads there."""
    lines = [_row(markdown_text(column.label) for column in table.columns), _row_of_rules(table.columns)]
    lines += [_row(markdown_cell(cell) for cell in row) for row in table.rows]
    return "\n".join(lines)


def markdown_cell(cell: Cell) -> str:
    """Return a cell's text, as a link where it has a page of its own."""
    if cell.href is None:
        return markdown_text(cell.text)
    return f"[{LINK_MARKUP.sub(_escaped, one_line(cell.text))}]({cell.href})"


def arms_markdown(report: ArmsReport) -> str:
    """Return the arms report: header list, warnings, findings, summary, tests, interactions, cost, unscored answers, question scores.

    The header list names what a reader must know first; all that was fixed in the run stands at the end.
    """
    return "\n".join(_arms_blocks(report))


def _arms_blocks(report: ArmsReport) -> Iterator[str]:
    yield f"# {markdown_text(report.title)}\n\n{markdown_text(report.subtitle)}\n"
    yield markdown_facts(report.headline_facts)
    if report.notices:
        yield markdown_notices(report.notices)
    if report.findings:
        yield markdown_findings(report.findings)
    yield markdown_section(report.summary)
    for section in report.sections:
        yield markdown_section(section)
    yield markdown_section(report.question_scores)
    yield f"## What was run\n\n{markdown_facts(report.facts)}"


def markdown_facts(facts: Iterable[Fact]) -> str:
    """Return facts as a list, one a line."""
    return "".join(f"- **{markdown_text(fact.label)}**: {markdown_text(fact.value)}\n" for fact in facts)


def markdown_notices(notices: Iterable[Notice]) -> str:
    """Return notices as paragraphs of one quote, each with its level; empty without any."""
    lines = [_notice(notice) for notice in notices]
    return "\n>\n".join(lines) + "\n" if lines else ""


def markdown_findings(findings: Iterable[Finding]) -> str:
    """Return findings as a list: what was found, then the numbers behind it."""
    return "\n".join(f"- **{markdown_text(found.sentence)}**: {markdown_text(found.evidence)}" for found in findings) + "\n"


def markdown_section(section: Section) -> str:
    """Return a section: title, sentences before its table, the table, notes."""
    parts = [f"## {markdown_text(section.title)}"]
    if section.intro is not None:
        parts.append(markdown_text(section.intro))
    parts.append(markdown_table(section.table))
    if section.notes:
        parts.append("\n".join(f"- {markdown_text(note)}" for note in section.notes))
    return "\n\n".join(parts) + "\n"


def _notice(notice: Notice) -> str:
    return f"> **{NOTICE_WORDS[notice.level]}:** {markdown_text(notice.text)}"


def _escaped(found: re.Match[str]) -> str:
    return "\\" + found[0]


def _row(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _row_of_rules(columns: Iterable[Column]) -> str:
    return f"| {' | '.join('---:' if column.numeric else '---' for column in columns)} |"
