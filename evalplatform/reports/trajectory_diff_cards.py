"""What a page of two trajectories draws: the rows of both columns as cards, with the texts laid out and cut."""

import json
import re
from typing import NamedTuple

from evalplatform.reports.html import PAGE_TEXT_LIMIT_CHARS
from evalplatform.reports.trajectory_diff_text import change_steps_words, change_words
from evalplatform.runs.folding import DiffView, Row
from evalplatform.runs.trajectory import FileChangeStep, MessageStep, Step, ToolCallStep, Trajectory
from evalplatform.runs.trajectory_diff import TrajectoryDiff

PROSE_CHARS = 700
CODE_CHARS = 240
"""How much of a long text is seen at first; one that is less than half as long again is not cut."""
ONE_LINE_CHARS = 56
"""Arguments up to this length stay on one line."""

JSON_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
_WHO = {"system": "System", "user": "User", "assistant": "Agent"}


class Shown(NamedTuple):
    """A text as a card holds it: `head` at once and `whole` on demand, None where the head is all; `beyond_chars` are not on the page."""

    head: str
    whole: str | None
    chars: int
    beyond_chars: int


class Card(NamedTuple):
    """One step.

    Attributes:
        step: its number.
        kind: for the style: system, user, agent, call, result or files.
        who: who acted, in a word.
        tool: the tool's name, None for a message.
        said: what the agent said beside a call, None where nothing.
        text: the message, the arguments, the result, or the changed files.
        is_code: whether the text is for machines.
        compared: whether its structure is compared; a message beside a call is not.
    """

    step: int
    kind: str
    who: str
    tool: str | None
    said: Shown | None
    text: Shown
    is_code: bool
    compared: bool


class CardRow(NamedTuple):
    """One row of cards.

    Attributes:
        number: its place from 1.
        a, b: the cards of each side, () where that run has no such step.
        same: whether both sides hold the same texts.
        diverges: whether the runs part here.
        change: what differs, in words; None where nothing does.
        absent: what stands in a side without a card.
    """

    number: int
    a: tuple[Card, ...]
    b: tuple[Card, ...]
    same: bool
    diverges: bool
    change: str | None
    absent: str


def card_rows(a: Trajectory, b: Trajectory, diff: TrajectoryDiff, view: DiffView) -> tuple[CardRow, ...]:
    """Return every row of the view, in order, numbered from 1."""
    return tuple(_card_row(number, row, a, b, diff) for number, row in enumerate(view.rows, start=1))


def shown_text(text: str, limit_chars: int, *, whole: str | None = None) -> Shown:
    """Return a text cut for a card.

    Args:
        text: what is shown; its head where it is long.
        limit_chars: about how many characters of a long text are seen at first.
        whole: the form of the text that is opened on demand; None takes the text itself.
    """
    if len(text) <= limit_chars * 3 // 2:
        return Shown(text, None, len(text), 0)
    head = text[:limit_chars]
    # A cut at white space breaks neither a word nor a joined emoji, where there is white space.
    space = max(head.rfind(" "), head.rfind("\n"))
    head = head[:space] if space > limit_chars // 2 else head
    full = text if whole is None else whole
    return Shown(head.rstrip(" \n-,.:"), full[:PAGE_TEXT_LIMIT_CHARS], len(text), max(0, len(full) - PAGE_TEXT_LIMIT_CHARS))


def indented_json(text: str) -> str:
    """Return a JSON object or array with a line an entry; all but white space stays as it was written. Other text is returned as it is."""
    stripped = text.strip()
    if stripped[:1] not in ("{", "[") or not _is_json(text):
        return text
    parts: list[str] = []
    depth = 0
    pieces = JSON_PIECE.findall(stripped)
    for place, piece in enumerate(pieces):
        following = pieces[place + 1] if place + 1 < len(pieces) else ""
        if piece in "}]":
            depth -= 1
            parts.append(piece if pieces[place - 1] in "{[" else "\n" + "  " * depth + piece)
        elif piece in "{[":
            depth += 1
            parts.append(piece if following in ("}", "]") else piece + "\n" + "  " * depth)
        elif piece == ",":
            parts.append(",\n" + "  " * depth)
        else:
            parts.append(": " if piece == ":" else piece)
    return "".join(parts)


def _is_json(text: str) -> bool:
    if len(text) > PAGE_TEXT_LIMIT_CHARS:
        return False
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def _card_row(number: int, row: Row, a: Trajectory, b: Trajectory, diff: TrajectoryDiff) -> CardRow:
    cards_a = tuple(_card(a.steps[step - 1], step, compared=step not in row.beside_a) for step in row.a)
    cards_b = tuple(_card(b.steps[step - 1], step, compared=step not in row.beside_b) for step in row.b)
    change = None if row.change is None else diff.changes[row.change]
    return CardRow(
        number,
        cards_a,
        cards_b,
        same=[card._replace(step=0) for card in cards_a] == [card._replace(step=0) for card in cards_b],
        diverges=row.diverges,
        change=None if change is None else f"{change_steps_words(change)} · {change_words(change)}",
        absent="No file state recorded in" if any(card.kind == "files" for card in (*cards_a, *cards_b)) else "No such step in",
    )


def _card(step: Step, number: int, *, compared: bool) -> Card:
    if isinstance(step, MessageStep):
        kind = "agent" if step.role == "assistant" else step.role
        return Card(number, kind, _WHO[step.role], None, None, shown_text(step.text, PROSE_CHARS), is_code=False, compared=compared)
    if isinstance(step, FileChangeStep):
        files = "\n".join(f"{file.change} {file.path}" for file in step.files) or "No file was changed."
        text = shown_text(files, PROSE_CHARS)
        return Card(number, "files", "Files left changed", None, None, text, is_code=bool(step.files), compared=compared)
    if isinstance(step, ToolCallStep):
        said = shown_text(step.text, PROSE_CHARS) if step.text else None
        laid_out = step.arguments_text if len(step.arguments_text) <= ONE_LINE_CHARS else indented_json(step.arguments_text)
        return Card(number, "call", "Agent calls", step.tool, said, shown_text(laid_out, CODE_CHARS), is_code=True, compared=compared)
    answer = shown_text(step.text, CODE_CHARS, whole=indented_json(step.text))
    return Card(number, "result", "Result", step.tool, None, answer, is_code=True, compared=compared)
