"""What band plots share: one band a row, its name and numbers on a line, the marks below, a scale under all.

Names of any length so fit a page of any width, and a plot is drawn twice, wide and narrow, instead of shrinking its text. The colours are
stand-ins that the page's style sheet replaces for light and dark; a plot on its own is readable on white.

Every place is laid out in pixels here, so the shapes are written as they are. A plotting library would have to be told each of them and
would add 1.3 s and 100 MB to every run (Altair with vl-convert, measured).
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from evalplatform.reports.svg import circle, drawing, fitting, line, text
from evalplatform.reports.visible import one_line

INK, MUTED, GRID, ACCENT, BETTER, WORSE, PAPER = "#1d2127", "#5b636e", "#dfe3e8", "#2f5fc4", "#0f766e", "#c2410c", "#fffffe"
WIDE_PX, NARROW_PX = 880, 330
HEADING_PX = 18
NAME_SIZE_PX, LABEL_SIZE_PX, LABEL_PX, POINT_RADIUS_PX = 12.5, 12, 145, 4.2
MARGIN_PX, TOP_PX, SCALE_PX = 20, 2, 20


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


def axis_over(values: Sequence[float], width_px: int, floor: float, ceiling: float) -> Axis:
    """Return a range of round ends that holds all values with some room, and goes beyond neither `floor` nor `ceiling`."""
    step = 10.0 if max(values) - min(values) > 20 else 5.0
    lo = max(floor, math.floor((min(values) - 1) / step) * step)
    hi = min(ceiling, math.ceil((max(values) + 1) / step) * step)
    return Axis(lo, hi, width_px)


def rules_at(points: float, bands: Sequence[float], axis: Axis, *, dashed: bool) -> list[str]:
    """Return a vertical rule in every band, under its heading: a rule through a name would be hard to read."""
    x = axis.x(points)
    return [line((x, top + HEADING_PX + 2), (x, bottom - 4), stroke=MUTED, width_px=1, dashed=dashed) for top, bottom in pairwise(bands)]


def interval_shapes(mark: Mark, axis: Axis) -> list[str]:
    """Return a mean as a dot on its interval; an interval without length is the dot alone."""
    rule = line((axis.x(mark.lo), mark.y_px), (axis.x(mark.hi), mark.y_px), stroke=mark.colour, width_px=2.5)
    return [rule, circle(axis.x(mark.mean), mark.y_px, POINT_RADIUS_PX, fill=mark.colour, outline=PAPER)]


def heading_shapes(rows: Sequence[tuple[str, str]], bands: Sequence[float], axis: Axis) -> list[str]:
    """Return each band's name, cut where it would run into its label, and the label at the right."""
    shapes = []
    for (name, label), top in zip(rows, bands, strict=False):
        shown = fitting(one_line(name), size_px=NAME_SIZE_PX, limit_px=axis.width_px - LABEL_PX)
        shapes += [
            text(0, top + 16, shown, anchor="start", size_px=NAME_SIZE_PX, fill=INK, bold=True),
            text(axis.width_px, top + 16, label, anchor="end", size_px=LABEL_SIZE_PX, fill=MUTED),
        ]
    return shapes


def _scale(axis: Axis, height_px: float) -> list[str]:
    shapes = []
    for tick in ticks(axis.lo, axis.hi, 5 if axis.width_px < 500 else 10):
        x = axis.x(tick)
        shapes += [
            line((x, 0), (x, height_px), stroke=GRID, width_px=1),
            text(x, height_px + 14, f"{tick:g}".replace("-", "\u2212"), anchor="middle", size_px=11, fill=MUTED),
        ]
    return shapes


def ticks(lo: float, hi: float, about: int) -> list[float]:
    """Return about so many round numbers from `lo` to `hi`: multiples of 1, 2 or 5 times a power of ten."""
    rough = (hi - lo) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor, most in ((1, 2**0.5), (2, 10**0.5), (5, 50**0.5), (10, math.inf)) if rough / power < most)
    return [index * step for index in range(math.ceil(lo / step), math.floor(hi / step) + 1)]


def framed(shapes: Iterable[str], axis: Axis, height_px: float) -> str:
    """Return the drawing: the shapes over their scale."""
    width_px = axis.width_px + 2 * MARGIN_PX
    return drawing(
        [*_scale(axis, height_px), *shapes], width_px=width_px, height_px=height_px + TOP_PX + SCALE_PX, left_px=MARGIN_PX, top_px=TOP_PX
    )
