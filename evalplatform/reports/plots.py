"""The plots of an arms report as SVG text, drawn by Altair and vl-convert: no browser, no request, the same bytes every time.

Both plots have one band an arm: its name and numbers on a line, the marks below. So names of any length fit a page of any width, and each
plot is drawn twice, wide and narrow, instead of shrinking its text. The colours below are stand-ins that the page's style sheet replaces
for light and dark; a plot on its own is readable on white.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from evalplatform.kernel.values import Value
from evalplatform.reports.arms_view import DeltaPlotRow, ScorePlotRow
from evalplatform.reports.visible import one_line

INK, MUTED, GRID, ACCENT, BETTER, WORSE, PAPER = "#1d2127", "#5b636e", "#dfe3e8", "#2f5fc4", "#0f766e", "#c2410c", "#fffffe"
FONT = "Helvetica, Arial, sans-serif"  # Liberation Sans has their widths where neither exists
WIDE_PX, NARROW_PX = 880, 330
HEADING_PX, SCORE_BAND_PX, STRIP_LIMIT_PX, DOT_PX = 18, 46, 60, 7.0
DOTS_LIMIT = 300  # above, a histogram: single questions could not be told apart
BIN_WIDTHS = (0.5, 1.0, 2.0, 2.5, 5.0, 10.0)


class Plot(Value):
    """A plot in two widths, with its text alternative."""

    wide_svg: str
    narrow_svg: str
    alt: str


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
    marks = []
    for top, row in zip(bands, rows, strict=False):
        if row.mean is not None:
            # Without an interval (one question) the rule has no length.
            lo, hi = (row.mean if end is None else end for end in (row.lo, row.hi))
            colour = INK if row.baseline else ACCENT
            marks.append({"x": row.mean, "lo": max(lo, axis.lo), "hi": min(hi, axis.hi), "y": top + 31, "colour": colour})
    rules = [row.mean for row in rows if row.baseline and row.mean is not None]
    layers = [layer for mean in rules for layer in _rule_at(mean, bands, axis, dashed=True)]
    headings = [(row.arm, row.label) for row in rows]
    return _svg([*layers, *_intervals(marks, axis, bands[-1]), *_headings(headings, bands, axis)], axis, bands[-1])


def _delta_svg(rows: Sequence[DeltaPlotRow], width_px: int) -> str:
    ends = [end for row in rows for end in (row.lo, row.hi) if end is not None]
    axis = _axis([0.0, *ends, *(delta for row in rows for delta in row.deltas)], width_px, -100.0, 100.0)
    strips = [_strip(row.deltas, axis) for row in rows]
    bands = [0.0]
    for strip in strips:
        bands.append(bands[-1] + HEADING_PX + 8 + strip.height_px + 28)
    dots, bars, marks = [], [], []
    for top, row, strip in zip(bands, rows, strips, strict=False):
        floor = top + HEADING_PX + 8 + strip.height_px
        if strip.as_bars:
            bars += _bar_marks(strip, floor, axis)
        else:
            dots += _dot_marks(strip, floor)
        if row.mean is not None and row.lo is not None and row.hi is not None:
            lo, hi = max(row.lo, axis.lo), min(row.hi, axis.hi)
            marks.append({"x": row.mean, "lo": lo, "hi": hi, "y": floor + 10, "colour": INK})
    layers = [*_rule_at(0.0, bands, axis, dashed=False), *_dots(dots, axis, bands[-1]), *_bars(bars, axis, bands[-1])]
    headings = [(row.arm, row.label) for row in rows]
    return _svg([*layers, *_intervals(marks, axis, bands[-1]), *_headings(headings, bands, axis)], axis, bands[-1])


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


def _dot_marks(strip: Strip, floor_px: float) -> list[dict[str, Any]]:
    area = 0.66 * strip.step_px**2
    return [
        {"x": index * strip.width, "y": floor_px - strip.step_px * (level + 0.5), "colour": _side_colour(index), "size": area}
        for index, number in strip.counts.items()
        for level in range(number)
    ]


def _bar_marks(strip: Strip, floor_px: float, axis: Axis) -> list[dict[str, Any]]:
    return [
        {
            "x": max((index - 0.44) * strip.width, axis.lo),
            "x2": min((index + 0.44) * strip.width, axis.hi),
            "y": floor_px - max(1.0, strip.step_px * number),
            "y2": floor_px,
            "colour": _side_colour(index),
        }
        for index, number in strip.counts.items()
    ]


def _x(axis: Axis, field: str = "x") -> Any:
    import altair as alt

    ticks = 5 if axis.width_px < 500 else 10
    look = alt.Axis(
        title=None, tickCount=ticks, ticks=False, domain=False, gridColor=GRID, labelColor=MUTED, labelFontSize=11, labelFlush=False
    )
    return alt.X(field, type="quantitative", scale=alt.Scale(domain=[axis.lo, axis.hi], nice=False, zero=False), axis=look)


def _y(height_px: float, field: str = "y") -> Any:
    import altair as alt

    # Bands are laid out in pixels, from the top.
    return alt.Y(field, type="quantitative", scale=alt.Scale(domain=[0, height_px], range=[0, height_px], nice=False), axis=None)


def _colour() -> Any:
    import altair as alt

    return alt.Color("colour", type="nominal", scale=None, legend=None)


def _layer(rows: Sequence[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Chart(alt.InlineData(values=list(rows)))


def _rule_at(points: float, bands: Sequence[float], axis: Axis, *, dashed: bool) -> list[Any]:
    """Return a vertical rule in every band, under its heading: a rule through a name would be hard to read."""
    pieces = [{"x": points, "y": top + HEADING_PX + 2, "y2": bottom - 4} for top, bottom in pairwise(bands)]
    rule = _layer(pieces).mark_rule(color=MUTED, strokeWidth=1, strokeDash=[3, 3] if dashed else [1, 0])
    return [rule.encode(x=_x(axis), y=_y(bands[-1]), y2="y2:Q")]


def _intervals(marks: Sequence[dict[str, Any]], axis: Axis, height_px: float) -> list[Any]:
    rules = (
        _layer(marks).mark_rule(strokeWidth=2.5, strokeCap="round").encode(x=_x(axis, "lo"), x2="hi:Q", y=_y(height_px), color=_colour())
    )
    points = _layer(marks).mark_point(filled=True, size=70, opacity=1, stroke=PAPER, strokeWidth=1.5)
    return [rules, points.encode(x=_x(axis), y=_y(height_px), fill=_colour())]


def _dots(dots: Sequence[dict[str, Any]], axis: Axis, height_px: float) -> list[Any]:
    import altair as alt

    if not dots:
        return []
    size = alt.Size("size", type="quantitative", scale=None, legend=None)
    return [_layer(dots).mark_point(filled=True, opacity=1).encode(x=_x(axis), y=_y(height_px), color=_colour(), size=size)]


def _bars(bars: Sequence[dict[str, Any]], axis: Axis, height_px: float) -> list[Any]:
    if not bars:
        return []
    return [_layer(bars).mark_rect().encode(x=_x(axis), x2="x2:Q", y=_y(height_px), y2="y2:Q", color=_colour())]


def _headings(rows: Sequence[tuple[str, str]], bands: Sequence[float], axis: Axis) -> list[Any]:
    import altair as alt

    texts = [{"name": one_line(name), "label": label, "y": top + 12} for top, (name, label) in zip(bands, rows, strict=False)]
    name = _layer(texts).mark_text(align="left", fontWeight="bold", fontSize=12.5, color=INK, limit=axis.width_px - 145)
    label = _layer(texts).mark_text(align="right", fontSize=12, color=MUTED)
    return [
        name.encode(x=alt.value(0), y=_y(bands[-1]), text="name:N"),
        label.encode(x=alt.value(axis.width_px), y=_y(bands[-1]), text="label:N"),
    ]


def _svg(layers: Sequence[Any], axis: Axis, height_px: float) -> str:
    import altair as alt
    import vl_convert

    chart = alt.layer(*layers).properties(width=axis.width_px, height=height_px, padding={"left": 12, "right": 12, "top": 2, "bottom": 2})
    spec = chart.configure(font=FONT, aria=False, background="transparent").configure_view(stroke=None).to_dict()
    return _embedded(str(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])))


def _embedded(svg: str) -> str:
    """Return an SVG that fills its container's width and says nothing of its own to a screen reader: the page names it."""
    svg = re.sub(r'<svg [^>]*width="([\d.]+)" height="([\d.]+)" viewBox="([^"]*)">', _opening, svg, count=1)
    return re.sub(r' (?:role|aria-roledescription|aria-hidden|pointer-events)="[^"]*"', "", svg).replace(
        "<svg ", '<svg aria-hidden="true" ', 1
    )


def _opening(match: re.Match[str]) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="marks" viewBox="{match[3]}" preserveAspectRatio="xMinYMin meet">'
