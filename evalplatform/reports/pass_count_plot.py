"""Pass rates of both batches, scenario by scenario: a hollow dot for the baseline, a full one for the candidate, a rule between them."""

from collections.abc import Sequence
from typing import NamedTuple

from evalplatform.comparisons.batches.records import RunSetCount, ScenarioChange
from evalplatform.kernel.text import plural
from evalplatform.reports.bands import BETTER, NARROW_PX, PAPER, POINT_RADIUS_PX, WIDE_PX, WORSE, Axis, framed, heading_shapes
from evalplatform.reports.svg import circle, line
from evalplatform.reports.view import Figure, Plot
from evalplatform.reports.visible import one_line, with_visible_spaces

ROWS_LIMIT = 40
BAND_PX, MARK_PX, HOLE_PX = 40, 28, 2.2


class _Row(NamedTuple):
    """One scenario: both pass rates in percent, and what stands at its right."""

    name: str
    baseline_percent: float
    candidate_percent: float
    label: str

    @property
    def change_points(self) -> float:
        return self.candidate_percent - self.baseline_percent


def pass_count_figure(changes: Sequence[ScenarioChange]) -> Figure | None:
    """Return the figure of the scenarios whose pass rate differs, the largest drop first; None where none does, or none has run sets.

    It shows at most 40 of them, and says so.
    """
    rows = sorted((row for row in map(_row, changes) if row is not None), key=lambda row: (row.change_points, row.name))
    if not rows:
        return None
    shown = rows[:ROWS_LIMIT]
    more = f" {plural(len(rows) - len(shown), 'further scenario')} differ by less." if len(rows) > len(shown) else ""
    caption = f"Percent of graded runs that passed: hollow in the baseline, full in the candidate.{more}"
    alt = "; ".join(f"{one_line(row.name)} {row.label}" for row in shown)
    wide, narrow = (_svg(shown, width) for width in (WIDE_PX, NARROW_PX))
    plot = Plot(wide_svg=wide, narrow_svg=narrow, alt=f"Passed of graded runs by scenario, baseline then candidate: {alt}.")
    return Figure(title="Pass rates that differ", caption=caption, plot=plot)


def _row(change: ScenarioChange) -> _Row | None:
    baseline, candidate = change.baseline_runs, change.candidate_runs
    if baseline is None or candidate is None or not change.is_run_set_tested:
        return None
    row = _Row(
        with_visible_spaces(change.scenario_id), _percent(baseline), _percent(candidate), f"{_k_of_n(baseline)} → {_k_of_n(candidate)}"
    )
    return None if row.change_points == 0 else row


def _percent(count: RunSetCount) -> float:
    return float(count.passes.pass_rate * 100)


def _k_of_n(count: RunSetCount) -> str:
    return f"{count.passes.passed}/{count.passes.graded}"


def _svg(rows: Sequence[_Row], width_px: int) -> str:
    axis = Axis(0.0, 100.0, width_px)
    bands = [float(position * BAND_PX) for position in range(len(rows) + 1)]
    shapes = [shape for top, row in zip(bands, rows, strict=False) for shape in _marks(row, top + MARK_PX, axis)]
    return framed([*shapes, *heading_shapes([(row.name, row.label) for row in rows], bands, axis)], axis, bands[-1])


def _marks(row: _Row, y_px: float, axis: Axis) -> list[str]:
    colour = WORSE if row.change_points < 0 else BETTER
    start, end = axis.x(row.baseline_percent), axis.x(row.candidate_percent)
    return [
        line((start, y_px), (end, y_px), stroke=colour, width_px=2.5),
        circle(start, y_px, POINT_RADIUS_PX, fill=colour, outline=PAPER),
        circle(start, y_px, HOLE_PX, fill=PAPER),
        circle(end, y_px, POINT_RADIUS_PX, fill=colour, outline=PAPER),
    ]
