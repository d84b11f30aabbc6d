"""The plots of an arms report as SVG text: one band an arm."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from evalplatform.reports.arms_view import DeltaPlotRow, ScorePlotRow
from evalplatform.reports.bands import (
    ACCENT,
    BETTER,
    HEADING_PX,
    INK,
    MUTED,
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
from evalplatform.reports.svg import circle, rectangle
from evalplatform.reports.view import Plot
from evalplatform.reports.visible import one_line

SCORE_BAND_PX, STRIP_LIMIT_PX, DOT_PX = 46, 60, 7.0
DOTS_LIMIT = 300  # above, a histogram: single questions could not be told apart
BIN_WIDTHS = (0.5, 1.0, 2.0, 2.5, 5.0, 10.0)


def score_plot(rows: Sequence[ScorePlotRow]) -> Plot | None:
    """Return each arm's mean points with its 95% interval; the baseline's mean is the dashed line. None without any score."""
    if all(row.mean is None for row in rows):
        return None
    alt = "; ".join(f"{one_line(row.arm)} {row.label}" for row in rows)
    wide, narrow = (_score_svg(rows, width) for width in (WIDE_PX, NARROW_PX))
    return Plot(wide_svg=wide, narrow_svg=narrow, alt=f"Mean points with 95% interval by arm: {alt}.")


def delta_plot(rows: Sequence[DeltaPlotRow]) -> Plot | None:
    """Return every question's delta from the baseline arm, with mean and 95% interval, one band an arm. None without any pair."""
    if not any(row.deltas for row in rows):
        return None
    alt = "; ".join(f"{one_line(row.arm)} {row.label} over {len(row.deltas):,} questions, {_signs(row.deltas)}" for row in rows)
    wide, narrow = (_delta_svg(rows, width) for width in (WIDE_PX, NARROW_PX))
    return Plot(wide_svg=wide, narrow_svg=narrow, alt=f"Paired differences in points, question by question: {alt}.")


def _signs(deltas: Sequence[float]) -> str:
    return f"{sum(delta > 0 for delta in deltas):,} higher, {sum(delta < 0 for delta in deltas):,} lower"


class Strip(NamedTuple):
    """One arm's deltas in bins of `width` points: how many lie in each, and how high they are drawn."""

    counts: dict[int, int]
    width: float
    step_px: float
    height_px: float
    as_bars: bool


def _score_svg(rows: Sequence[ScorePlotRow], width_px: int) -> str:
    axis = axis_over([number for row in rows for number in (row.mean, row.lo, row.hi) if number is not None], width_px, 0.0, 100.0)
    bands = [position * SCORE_BAND_PX for position in range(len(rows) + 1)]
    marks: list[str] = []
    for top, row in zip(bands, rows, strict=False):
        if row.mean is not None:
            # Without an interval (one question) the rule has no length.
            lo, hi = (row.mean if end is None else end for end in (row.lo, row.hi))
            colour = INK if row.baseline else ACCENT
            marks += interval_shapes(Mark(row.mean, max(lo, axis.lo), min(hi, axis.hi), top + 31, colour), axis)
    rules = [row.mean for row in rows if row.baseline and row.mean is not None]
    dashes = [shape for mean in rules for shape in rules_at(mean, bands, axis, dashed=True)]
    headings = [(row.arm, row.label) for row in rows]
    return framed([*dashes, *marks, *heading_shapes(headings, bands, axis)], axis, bands[-1])


def _delta_svg(rows: Sequence[DeltaPlotRow], width_px: int) -> str:
    ends = [end for row in rows for end in (row.lo, row.hi) if end is not None]
    axis = axis_over([0.0, *ends, *(delta for row in rows for delta in row.deltas)], width_px, -100.0, 100.0)
    strips = [_strip(row.deltas, axis) for row in rows]
    bands = [0.0]
    for strip in strips:
        bands.append(bands[-1] + HEADING_PX + 8 + strip.height_px + 28)
    shapes = rules_at(0.0, bands, axis, dashed=False)
    for top, row, strip in zip(bands, rows, strips, strict=False):
        floor = top + HEADING_PX + 8 + strip.height_px
        shapes += _bars(strip, floor, axis) if strip.as_bars else _dots(strip, floor, axis)
        if row.mean is not None and row.lo is not None and row.hi is not None:
            lo, hi = max(row.lo, axis.lo), min(row.hi, axis.hi)
            shapes += interval_shapes(Mark(row.mean, lo, hi, floor + 10, INK), axis)
    return framed([*shapes, *heading_shapes([(row.arm, row.label) for row in rows], bands, axis)], axis, bands[-1])


def _strip(deltas: Sequence[float], axis: Axis) -> Strip:
    """Return deltas in the narrowest bins that are as wide as a dot; bars above 300 questions, or where dots would not fit."""
    px_per_point = axis.width_px / (axis.hi - axis.lo)
    width = next((width for width in BIN_WIDTHS if width * px_per_point >= DOT_PX), BIN_WIDTHS[-1])
    counts = dict(sorted(Counter(math.floor(delta / width + 0.5) for delta in deltas).items()))
    tallest = max(counts.values(), default=1)
    step = min(DOT_PX, STRIP_LIMIT_PX / tallest)
    if len(deltas) > DOTS_LIMIT or step < DOT_PX / 2:
        return Strip(counts, width, STRIP_LIMIT_PX / tallest, STRIP_LIMIT_PX, as_bars=True)
    return Strip(counts, width, step, step * tallest, as_bars=False)


def _side_colour(index: int) -> str:
    return BETTER if index > 0 else WORSE if index < 0 else MUTED


def _dots(strip: Strip, floor_px: float, axis: Axis) -> list[str]:
    radius = 0.46 * strip.step_px
    return [
        circle(axis.x(index * strip.width), floor_px - strip.step_px * (level + 0.5), radius, fill=_side_colour(index))
        for index, number in strip.counts.items()
        for level in range(number)
    ]


def _bars(strip: Strip, floor_px: float, axis: Axis) -> list[str]:
    bars = []
    for index, number in strip.counts.items():
        left = axis.x(max((index - 0.44) * strip.width, axis.lo))
        right = axis.x(min((index + 0.44) * strip.width, axis.hi))
        height = max(1.0, strip.step_px * number)
        bars.append(rectangle(left, floor_px - height, right - left, height, fill=_side_colour(index)))
    return bars
