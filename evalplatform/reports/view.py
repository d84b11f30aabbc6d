"""What every report is made of, as frozen values: facts, notices, findings, tables, sections, plots. All is worded and rounded.

Texts that users or models wrote stay as they are; each renderer escapes for its own format.
"""

from typing import Literal

from evalplatform.kernel.values import Value

Tone = Literal["plain", "better", "worse", "muted", "caution"]
NoticeLevel = Literal["problem", "caution", "note"]


class Fact(Value):
    """A label and what stands beside it."""

    label: str
    value: str


class Notice(Value):
    """A sentence to read before any number. `problem`: the numbers are not what they seem; `caution`: know this; `note`: by the way."""

    level: NoticeLevel
    text: str


class Finding(Value):
    """What was found about one arm: a sentence, and the numbers behind it."""

    sentence: str
    evidence: str
    tone: Tone = "plain"


class Column(Value):
    """A table's column; `meaning` explains it in a sentence where the label is not enough."""

    label: str
    numeric: bool = True
    meaning: str | None = None


class Cell(Value):
    """One table cell. `anchor` names the place on the page that tells more, `href` a page beside it (a relative path of plain names)."""

    text: str
    tone: Tone = "plain"
    anchor: str | None = None
    href: str | None = None


class Table(Value):
    """A table; the first cell of each row is its header."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Section(Value):
    """A titled table with sentences before it (`intro`) and after it (`notes`).

    Attributes:
        key: its stable name on the page, in any characters.
        title: its heading, which says everything.
        nav_label: what a list of the page's parts calls it; None takes the title.
        nav_group: what the parts of a page that has several of each kind are of, such as an arm; they are listed together under it.
    """

    key: str
    title: str
    nav_label: str | None = None
    nav_group: str | None = None
    intro: str | None = None
    table: Table
    notes: tuple[str, ...] = ()


class Plot(Value):
    """A plot as SVG in two widths, with its text alternative."""

    wide_svg: str
    narrow_svg: str
    alt: str


class Figure(Value):
    """A plot with its title and the sentence under it."""

    title: str
    caption: str
    plot: Plot
