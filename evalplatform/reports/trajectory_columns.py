"""Two runs side by side as plain text, a line a step, opened where they part: the terminal's form of the page."""

import unicodedata
from collections.abc import Iterator
from itertools import zip_longest

from evalplatform.kernel.text import plural
from evalplatform.reports.trajectory_diff_text import fold_words
from evalplatform.reports.visible import one_line
from evalplatform.runs.folding import Row, diff_view
from evalplatform.runs.trajectory import FileChangeStep, MessageStep, Step, ToolCallStep, Trajectory
from evalplatform.runs.trajectory_diff import TrajectoryDiff

FEWEST_COLUMN_CHARS = 24
DIVERGES, DIFFERS, ALIKE = ">>", " >", "  "
_WHO = {"system": "system", "user": "user", "assistant": "agent"}


def trajectory_columns(a: Trajectory, b: Trajectory, diff: TrajectoryDiff, *, width_chars: int) -> tuple[str, ...]:
    """Return both runs side by side, a line a step; `>>` marks where they part and ` >` every other step that differs.

    Args:
        a, b: the two trajectories.
        diff: `diff_trajectories` of them.
        width_chars: how wide a line may be; a column is never narrower than 24 characters.
    """
    view = diff_view(a, b, diff)
    column_chars = max(FEWEST_COLUMN_CHARS, (width_chars - len(DIVERGES) - 3) // 2)
    lines = [_line(ALIKE, "A", "B", column_chars)]
    fold_at = {place: fold for fold in view.folds for place in range(fold.first_row, fold.after_row)}
    for place, row in enumerate(view.rows):
        fold = fold_at.get(place)
        if fold is not None:
            lines += [f"{ALIKE} … {' · '.join(fold_words(fold))}"] if place == fold.first_row else []
            continue
        mark = DIVERGES if row.diverges else ALIKE if row.change is None else DIFFERS
        lines += _row_lines(row, a, b, mark, column_chars)
    return tuple(lines)


def _row_lines(row: Row, a: Trajectory, b: Trajectory, mark: str, column_chars: int) -> Iterator[str]:
    """The lines of one row. A message beside a call stands over it and has no mark; both calls stand on one line."""
    for left, right in zip_longest(_padded(row.beside_a, row.beside_b), _padded(row.beside_b, row.beside_a)):
        yield _line(ALIKE, _step_words(a, left), _step_words(b, right), column_chars)
    compared_a, compared_b = row.a[len(row.beside_a) :], row.b[len(row.beside_b) :]
    for left, right in zip_longest(compared_a, compared_b):
        yield _line(mark, _step_words(a, left, absent=not row.a), _step_words(b, right, absent=not row.b), column_chars)


def _padded(steps: tuple[int, ...], others: tuple[int, ...]) -> tuple[int | None, ...]:
    """The steps, moved down so that the last stands beside the last of the others."""
    return (*(None for _ in range(len(others) - len(steps))), *steps)


def _step_words(trajectory: Trajectory, number: int | None, *, absent: bool = False) -> str:
    if number is None:
        return "   —" if absent else ""
    return f"{number:>4} {_words(trajectory.steps[number - 1])}"


def _words(step: Step) -> str:
    match step:
        case MessageStep():
            return f"{_WHO[step.role]}: {step.text}"
        case ToolCallStep():
            return f"{step.tool} {step.arguments_text}"
        case FileChangeStep():
            return ", ".join([f"{plural(len(step.files), 'changed file')}", *(file.path for file in step.files)])
        case _:
            return f"= {step.text}"


def _line(mark: str, left: str, right: str, column_chars: int) -> str:
    return f"{mark} {_fitted(left, column_chars)}  {_fitted(right, column_chars)}".rstrip()


def _fitted(text: str, column_chars: int) -> str:
    """One line of exactly the column's width on a terminal, where some characters take two places and some none."""
    indent = len(text) - len(text.lstrip(" "))
    line = " " * indent + one_line(text[indent:], column_chars * 2)
    if _width(line) <= column_chars:
        return line + " " * (column_chars - _width(line))
    while _width(line) >= column_chars:
        line = line[:-1]
    return line + "…" + " " * (column_chars - _width(line) - 1)


def _width(text: str) -> int:
    return sum(0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
