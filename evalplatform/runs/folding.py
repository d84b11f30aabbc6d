"""What a page of two trajectories shows at first: it opens where they part, and what both did before is folded. Data, drawn elsewhere."""

from typing import NamedTuple

from evalplatform.runs.signature import Unit, file_change_step
from evalplatform.runs.trajectory import Trajectory
from evalplatform.runs.trajectory_diff import AlignedUnits, TrajectoryDiff

FEWEST_FOLDED_ROWS = 3
"""A fold takes a row itself: below this it would save nothing worth a press."""


class Row(NamedTuple):
    """One row of the two columns.

    Attributes:
        a, b: the steps that stand in it, in order; () where that run has none there.
        beside_a, beside_b: those of them that are the agent's messages right before a call, which are not compared.
        change: the place in the diff's changes, None where both are alike.
        diverges: whether the runs part here; the mark sits on the call, not on a message beside it.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    beside_a: tuple[int, ...] = ()
    beside_b: tuple[int, ...] = ()
    change: int | None = None
    diverges: bool = False


class Fold(NamedTuple):
    """Rows folded into one line.

    Attributes:
        first_row, after_row: the rows from `first_row` up to, and without, `after_row`, counted from 0.
        steps_a, steps_b: how many steps it hides in each column.
        user_messages: how many of the user's messages it hides.
    """

    first_row: int
    after_row: int
    steps_a: int
    steps_b: int
    user_messages: int


class DiffView(NamedTuple):
    """Two trajectories side by side.

    Attributes:
        rows: every row.
        split_row: the row where they part, from 0; None where they do not.
        folds: what is folded, in order: none, one or two, all before the split.
    """

    rows: tuple[Row, ...]
    split_row: int | None
    folds: tuple[Fold, ...]


def diff_view(a: Trajectory, b: Trajectory, diff: TrajectoryDiff) -> DiffView:
    """Return what a page of the two shows.

    After the opening user message the rows before the split are folded. Where the user wrote again before the split, the last exchange
    stays open: the user's message before, what the agent did on it, its reply, and the message that led to the split. Where the message
    before is the opening one, what the agent did before its reply is folded, as it follows the opening. A second fold then holds what the
    agent did from that last message to the split, after what it replied at once, so that the split reads right under what led to it.
    Fewer than three rows are not folded; without a split nothing is, for there is nothing to open at.
    """
    rows = [_row(line, diverges=line.change == 0) for line in diff.lines]
    files = Row(a=_steps(file_change_step(a)), b=_steps(file_change_step(b)))
    if files.a or files.b:
        change = len(diff.changes) - 1 if diff.file_state == "differs" else None
        rows.append(files._replace(change=change, diverges=change == 0))
    split = next((place for place, row in enumerate(rows) if row.diverges), None)
    return DiffView(tuple(rows), split, () if split is None else _folds(diff.lines, rows, split))


def _row(line: AlignedUnits, *, diverges: bool) -> Row:
    a, b = line.a, line.b
    return Row(_all(a), _all(b), () if a is None else a.beside, () if b is None else b.beside, line.change, diverges)


def _all(unit: Unit | None) -> tuple[int, ...]:
    return () if unit is None else unit.all_steps


def _steps(number: int | None) -> tuple[int, ...]:
    return () if number is None else (number,)


def _folds(lines: tuple[AlignedUnits, ...], rows: list[Row], split: int) -> tuple[Fold, ...]:
    asked = [place for place, line in enumerate(lines[:split]) if _is_message(line, "user")]
    first = asked[0] + 1 if asked else 0
    if len(asked) < 2:
        ranges = [(first, split)]
    else:
        ranges = [(first, _exchange_begins(lines, asked)), (_reply_ends(lines, asked[-1], split), split)]
    return tuple(_fold(rows, asked, first, after) for first, after in ranges if after - first >= FEWEST_FOLDED_ROWS)


def _fold(rows: list[Row], asked: list[int], first: int, after: int) -> Fold:
    hidden = rows[first:after]
    return Fold(
        first_row=first,
        after_row=after,
        steps_a=sum(len(row.a) for row in hidden),
        steps_b=sum(len(row.b) for row in hidden),
        user_messages=sum(first <= place < after for place in asked),
    )


def _exchange_begins(lines: tuple[AlignedUnits, ...], asked: list[int]) -> int:
    """The row that the last exchange stays open from: the user's message before, or the reply to it where it is the opening one."""
    if len(asked) > 2:
        return asked[-2]
    reply = asked[-1]
    while _is_message(lines[reply - 1], "assistant"):
        reply -= 1
    return reply


def _reply_ends(lines: tuple[AlignedUnits, ...], asked: int, split: int) -> int:
    """The row after a user's message and what the agent replied to it before it did anything."""
    after = asked + 1
    while after < split and _is_message(lines[after], "assistant"):
        after += 1
    return after


def _is_message(line: AlignedUnits, role: str) -> bool:
    return line.a is not None and line.a.token[:2] == ("message", role)
