"""A forest plot: paired deltas with their intervals about a line at zero, one band a row."""

from collections.abc import Sequence

from evalplatform.kernel.values import Value
from evalplatform.reports.bands import (
    BETTER,
    INK,
    NARROW_PX,
    WIDE_PX,
    WORSE,
    Axis,
    Mark,
    axis_over,
    framed,
    heading_shapes,
    interval_shapes,
    rules_at,
)
from evalplatform.reports.view import Plot, Tone
from evalplatform.reports.visible import one_line

BAND_PX = 42
MARK_PX = 29
COLOURS: dict[Tone, str] = {"better": BETTER, "worse": WORSE}


class ForestRow(Value):
    """One delta: its mean and interval, and what stands at the right, worded.

    Without `lo` and `hi` the mean is a dot; without a mean the row has its name and label alone. `tone` gives the colour: `better` and
    `worse` are for what is significant.
    """

    label: str
    mean: float | None
    lo: float | None = None
    hi: float | None = None
    tone: Tone = "plain"
    right_label: str


def forest_plot(rows: Sequence[ForestRow], *, lowest: float = -100.0, highest: float = 100.0) -> Plot | None:
    """Return the plot, wide and narrow, or None where no row has a mean.

    Args:
        rows: from top to bottom.
        lowest: the axis goes no lower, and an interval that does is cut there; deltas of points lie between -100 and 100.
        highest: the same at the other end.
    """
    if all(row.mean is None for row in rows):
        return None
    alt = "; ".join(f"{one_line(row.label)} {one_line(row.right_label)}" for row in rows)
    wide, narrow = (_svg(rows, width, lowest, highest) for width in (WIDE_PX, NARROW_PX))
    return Plot(wide_svg=wide, narrow_svg=narrow, alt=f"Differences with 95% interval: {alt}.")


def _svg(rows: Sequence[ForestRow], width_px: int, lowest: float, highest: float) -> str:
    numbers = [number for row in rows for number in (row.mean, row.lo, row.hi) if number is not None]
    axis = axis_over([0.0, *numbers], width_px, lowest, highest)
    bands = [float(position * BAND_PX) for position in range(len(rows) + 1)]
    shapes = rules_at(0.0, bands, axis, dashed=False)
    for top, row in zip(bands, rows, strict=False):
        if row.mean is not None:
            shapes += interval_shapes(_mark(row, row.mean, top, axis), axis)
    return framed([*shapes, *heading_shapes([(row.label, row.right_label) for row in rows], bands, axis)], axis, bands[-1])


def _mark(row: ForestRow, mean: float, top_px: float, axis: Axis) -> Mark:
    lo, hi = (mean if end is None else end for end in (row.lo, row.hi))
    return Mark(mean, max(lo, axis.lo), min(hi, axis.hi), top_px + MARK_PX, COLOURS.get(row.tone, INK))
