"""A trajectory diff as one page: both transcripts side by side, opened where they part. It opens offline, runs no script, asks nothing."""

import base64
import hashlib
from collections.abc import Iterator, Sequence

from jinja2 import PackageLoader
from markupsafe import Markup

from evalplatform.kernel.values import Value
from evalplatform.reports.html import Download, check_downloads, page_environment, page_style
from evalplatform.reports.trajectory_diff_cards import CardRow, card_rows
from evalplatform.reports.trajectory_diff_text import (
    COMPARED_WORDS,
    differing_steps_words,
    first_divergence_words,
    fold_words,
    other_texts_words,
    unchecked_files_words,
)
from evalplatform.reports.view import Fact
from evalplatform.runs.folding import Fold, diff_view
from evalplatform.runs.records import Violation
from evalplatform.runs.trajectory import Trajectory
from evalplatform.runs.trajectory_diff import TrajectoryDiff

LISTED_CHANGES = 12
STRIP_LIMIT_ROWS = 400
"""A strip of more marks than this is no overview any more: it then has the first of the rows that differ."""


class ComparedRun(Value):
    """One of the two runs of a page: what it is called, what is known of it, what it alone breaches, and what it did."""

    name: str
    facts: tuple[Fact, ...] = ()
    violations: tuple[Violation, ...] = ()
    trajectory: Trajectory


def trajectory_diff_html(
    *,
    scenario_id: str,
    a: ComparedRun,
    b: ComparedRun,
    diff: TrajectoryDiff,
    comparison_file: str | None = None,
    downloads: Sequence[Download] = (),
) -> str:
    """Return the page of two runs of one scenario.

    Args:
        scenario_id: the scenario that both ran.
        a, b: the two runs, left and right.
        diff: `diff_trajectories` of their trajectories.
        comparison_file: the page that compares the two batches, or None: a file's name beside this page or, after `../`, one folder up.
        downloads: files beside the page.

    Raises:
        InputError: a file name that is not a plain name of a file beside the page.
    """
    check_downloads([*downloads, *([] if comparison_file is None else [Download(label="", file_name=comparison_file.removeprefix("../"))])])
    view = diff_view(a.trajectory, b.trajectory, diff)
    rows = tuple(_told_apart(row, a, b) for row in card_rows(a.trajectory, b.trajectory, diff, view))
    style = page_style() + _own_style()
    changed = [row for row in rows if row.change is not None]
    return (
        page_environment()
        .get_template("trajectory_diff.html.j2")
        .render(
            scenario_id=scenario_id,
            sides=(("A", a), ("B", b)),
            summary=differing_steps_words(diff),
            divergence=first_divergence_words(diff),
            compared_words=COMPARED_WORDS,
            other_texts=other_texts_words(a.trajectory, b.trajectory, diff),
            breaches={"A": _breaches(a), "B": _breaches(b)},
            unchecked_files=unchecked_files_words(diff),
            listed=changed[:LISTED_CHANGES],
            unlisted=changed[LISTED_CHANGES:],
            strip=rows if len(rows) <= STRIP_LIMIT_ROWS else changed[:STRIP_LIMIT_ROWS],
            strip_label="Every row, from first to last" if len(rows) <= STRIP_LIMIT_ROWS else "The rows that differ",
            parts=tuple(_parts(rows, view.folds)),
            split_row=None if view.split_row is None else view.split_row + 1,
            comparison_file=comparison_file,
            downloads=downloads,
            style=Markup(style),  # our own files, no user text
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        )
    )


def _breaches(run: ComparedRun) -> dict[int, list[str]]:
    """The policies that this run alone breaches, by step."""
    by_step: dict[int, list[str]] = {}
    for found in run.violations:
        by_step.setdefault(found.step, []).append(found.policy)
    return by_step


def _told_apart(row: CardRow, a: ComparedRun, b: ComparedRun) -> CardRow:
    """The row, no longer `same` where one run alone breaches a policy in it: a narrow page shows only one side of what is the same."""
    breaching = (_breaches(a).keys() & {card.step for card in row.a}) | (_breaches(b).keys() & {card.step for card in row.b})
    return row._replace(same=False) if breaching else row


def _parts(rows: Sequence[CardRow], folds: Sequence[Fold]) -> Iterator[tuple[tuple[str, str] | None, Sequence[CardRow]]]:
    """All rows in order, cut at the folds: the words of a fold with its rows, None with those between."""
    shown_from = 0
    for fold in folds:
        yield None, rows[shown_from : fold.first_row]
        yield fold_words(fold), rows[fold.first_row : fold.after_row]
        shown_from = fold.after_row
    yield None, rows[shown_from:]


def _own_style() -> str:
    source, _, _ = PackageLoader("evalplatform.reports").get_source(page_environment(), "trajectory_diff.css")
    return source
