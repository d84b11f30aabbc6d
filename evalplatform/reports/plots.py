"""The plots of an arms report as SVG text.

Both plots have one band an arm: its name and numbers on a line, the marks below. So names of any length fit a page of any width, and each
plot is drawn twice, wide and narrow, instead of shrinking its text. The colours below are stand-ins that the page's style sheet replaces
for light and dark; a plot on its own is readable on white.

Every place is laid out in pixels here, so the shapes are written as they are. A plotting library would have to be told each of them and
would add 1.3 s and 100 MB to every run (Altair with vl-convert, measured).
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from evalplatform.reports.arms_view import DeltaPlotRow, ScorePlotRow
from evalplatform.reports.svg import circle, drawing, fitting, line, rectangle, text
from evalplatform.reports.view import Plot
from evalplatform.reports.visible import one_line

INK, MUTED, GRID, ACCENT, BETTER, WORSE, PAPER = "#1d2127", "#5b636e", "#dfe3e8", "#2f5fc4", "#0f766e", "#c2410c", "#fffffe"
WIDE_PX, NARROW_PX = 880, 330
HEADING_PX, SCORE_BAND_PX, STRIP_LIMIT_PX, DOT_PX = 18, 46, 60, 7.0
NAME_SIZE_PX, LABEL_PX, POINT_RADIUS_PX = 12.5, 145, 4.2
MARGIN_PX, TOP_PX, SCALE_PX = 20, 2, 20
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


class Axis(NamedTuple):
    """A plot's range of points and its width."""

    lo: float
    hi: float
    width_px: int

    def x(self, points: float) -> float:
        """Return where a number of points lies, in pixels from the left."""
        return (points - self.lo) / (self.hi - self.lo) * self.width_px


class Mark(NamedTuple):
    """A mean with its interval, in points, and where and how it is drawn."""

    mean: float
    lo: float
    hi: float
    y_px: float
    colour: str


class Strip(NamedTuple):
    """One arm's deltas in bins of `width` points: how many lie in each, and how high they are drawn."""

    counts: dict[int, int]
    width: float
    step_px: float
    height_px: float
    as_bars: bool


def _axis(values: Sequence[float], width_px: int, floor: float, ceiling: float) -> Axis:
    step = 10.0 if max(values) - min(values) > 20 else 5.0
    lo = max(floor, math.floor((min(values) - 1) / step) * step)
    hi = min(ceiling, math.ceil((max(values) + 1) / step) * step)
    return Axis(lo, hi, width_px)


def _score_svg(rows: Sequence[ScorePlotRow], width_px: int) -> str:
    axis = _axis([number for row in rows for number in (row.mean, row.lo, row.hi) if number is not None], width_px, 0.0, 100.0)
    bands = [position * SCORE_BAND_PX for position in range(len(rows) + 1)]
    marks: list[str] = []
    for top, row in zip(bands, rows, strict=False):
        if row.mean is not None:
            # Without an interval (one question) the rule has no length.
            lo, hi = (row.mean if end is None else end for end in (row.lo, row.hi))
            colour = INK if row.baseline else ACCENT
            marks += _interval(Mark(row.mean, max(lo, axis.lo), min(hi, axis.hi), top + 31, colour), axis)
    rules = [row.mean for row in rows if row.baseline and row.mean is not None]
    dashes = [shape for mean in rules for shape in _rule_at(mean, bands, axis, dashed=True)]
    headings = [(row.arm, row.label) for row in rows]
    return _svg([*dashes, *marks, *_headings(headings, bands, axis)], axis, bands[-1])


def _delta_svg(rows: Sequence[DeltaPlotRow], width_px: int) -> str:
    ends = [end for row in rows for end in (row.lo, row.hi) if end is not None]
    axis = _axis([0.0, *ends, *(delta for row in rows for delta in row.deltas)], width_px, -100.0, 100.0)
    strips = [_strip(row.deltas, axis) for row in rows]
    bands = [0.0]
    for strip in strips:
        bands.append(bands[-1] + HEADING_PX + 8 + strip.height_px + 28)
    shapes = _rule_at(0.0, bands, axis, dashed=False)
    for top, row, strip in zip(bands, rows, strips, strict=False):
        floor = top + HEADING_PX + 8 + strip.height_px
        shapes += _bars(strip, floor, axis) if strip.as_bars else _dots(strip, floor, axis)
        if row.mean is not None and row.lo is not None and row.hi is not None:
            lo, hi = max(row.lo, axis.lo), min(row.hi, axis.hi)
            shapes += _interval(Mark(row.mean, lo, hi, floor + 10, INK), axis)
    return _svg([*shapes, *_headings([(row.arm, row.label) for row in rows], bands, axis)], axis, bands[-1])


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


def _rule_at(points: float, bands: Sequence[float], axis: Axis, *, dashed: bool) -> list[str]:
    """Return a vertical rule in every band, under its heading: a rule through a name would be hard to read."""
    x = axis.x(points)
    return [line((x, top + HEADING_PX + 2), (x, bottom - 4), stroke=MUTED, width_px=1, dashed=dashed) for top, bottom in pairwise(bands)]


def _interval(mark: Mark, axis: Axis) -> list[str]:
    rule = line((axis.x(mark.lo), mark.y_px), (axis.x(mark.hi), mark.y_px), stroke=mark.colour, width_px=2.5)
    return [rule, circle(axis.x(mark.mean), mark.y_px, POINT_RADIUS_PX, fill=mark.colour, outline=PAPER)]


def _headings(rows: Sequence[tuple[str, str]], bands: Sequence[float], axis: Axis) -> list[str]:
    shapes = []
    for (name, label), top in zip(rows, bands, strict=False):
        shown = fitting(one_line(name), size_px=NAME_SIZE_PX, limit_px=axis.width_px - LABEL_PX)
        shapes += [
            text(0, top + 16, shown, anchor="start", size_px=NAME_SIZE_PX, fill=INK, bold=True),
            text(axis.width_px, top + 16, label, anchor="end", size_px=12, fill=MUTED),
        ]
    return shapes


def _scale(axis: Axis, height_px: float) -> list[str]:
    shapes = []
    for tick in _ticks(axis.lo, axis.hi, 5 if axis.width_px < 500 else 10):
        x = axis.x(tick)
        shapes += [
            line((x, 0), (x, height_px), stroke=GRID, width_px=1),
            text(x, height_px + 14, f"{tick:g}".replace("-", "\u2212"), anchor="middle", size_px=11, fill=MUTED),
        ]
    return shapes


def _ticks(lo: float, hi: float, about: int) -> list[float]:
    """Return about so many round numbers from `lo` to `hi`: multiples of 1, 2 or 5 times a power of ten."""
    rough = (hi - lo) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor, most in ((1, 2**0.5), (2, 10**0.5), (5, 50**0.5), (10, math.inf)) if rough / power < most)
    return [index * step for index in range(math.ceil(lo / step), math.floor(hi / step) + 1)]


def _svg(shapes: Iterable[str], axis: Axis, height_px: float) -> str:
    width_px = axis.width_px + 2 * MARGIN_PX
    return drawing(
        [*_scale(axis, height_px), *shapes], width_px=width_px, height_px=height_px + TOP_PX + SCALE_PX, left_px=MARGIN_PX, top_px=TOP_PX
    )
