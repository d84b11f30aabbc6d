"""The arms report as Markdown: readable as it is, and safe whatever users and models wrote."""

import re
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from evalplatform.reports.markdown import arms_markdown, markdown_notices, markdown_table, markdown_text
from evalplatform.reports.view import Cell, Column, Notice, Table
from evalplatform.reports.visible import one_line
from tests.support.arms_fixture import arms_run
from tests.support.snapshots import assert_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def inline(markdown: str) -> list[Token]:
    return [token for token in PARSER.parse(markdown) if token.type == "inline"]


def plain(token: Token) -> str:
    return "".join(child.content for child in token.children or [])


def test_the_report_reads_as_it_did() -> None:
    arms = ("baseline", "docs", "skill:bucket-lifecycle", "docs+skill:bucket-lifecycle")
    report = arms_run(questions=8, arms=arms, retrieval=True).report()
    assert_snapshot(SNAPSHOTS / "arms_report.md", arms_markdown(report))


def test_numbers_and_arm_names_stand_unescaped_in_the_file() -> None:
    for text in ("<0.0001", "[+1.2, +3.4]", "-5.1", "profile:concise_expert", "docs+skill:a-b", "1.5 s", "—"):
        assert markdown_text(text) == text


def test_notices_are_paragraphs_of_one_quote_that_ends_with_the_last_of_them() -> None:
    notices = [Notice(level="caution", text="One."), Notice(level="note", text="Two.")]
    assert markdown_notices(notices) == "> **Caution:** One.\n>\n> **Note:** Two.\n"
    assert markdown_notices([]) == ""


@given(st.text(st.characters(), max_size=80))
def test_a_cell_shows_exactly_its_text_and_no_markup(text: str) -> None:
    table = Table(columns=(Column(label="a"), Column(label="b")), rows=((Cell(text=text), Cell(text="end")),))
    cells = inline(markdown_table(table))
    assert [plain(cell) for cell in cells] == ["a", "b", one_line(text), "end"]
    assert {child.type for cell in cells for child in cell.children or []} <= {"text", "text_special"}


@given(
    st.lists(st.sampled_from(["|", "`", "\\", "*", "_", "[x]", "(y)", "<b>", "&amp;", "~~", "$", "#", "- ", "1. ", "> ", "a", " ", ":"]))
)
def test_markup_that_users_write_is_shown_not_followed(pieces: list[str]) -> None:
    text = "".join(pieces)
    table = Table(columns=(Column(label="a"), Column(label="b")), rows=((Cell(text=text), Cell(text="end")),))
    assert plain(inline(markdown_table(table))[2]) == one_line(text)
    paragraph = markdown_text(text)
    if paragraph:
        assert [token.type for token in PARSER.parse(paragraph)] == ["paragraph_open", "inline", "paragraph_close"]
        assert plain(inline(paragraph)[0]) == one_line(text)


def test_a_pipe_in_a_question_makes_no_further_cell() -> None:
    run = arms_run(questions=2, arms=("baseline", "docs"))
    first = run.questions.questions[0].with_changes(question="a | b `c | d` \\| e")
    changed = replace(run, questions=run.questions.with_changes(questions=(first, *run.questions.questions[1:])))
    rows = [line for line in arms_markdown(changed.report()).split("\n") if line.startswith("| q0")]
    assert [len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows] == [5, 5]
