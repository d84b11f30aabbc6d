"""Cost against score: a dot for every arm of every cell, the better the higher, the cheaper the further left.

Dots are named by a letter for the cell and a number for the arm, and the names stand under the plot: sixteen whole names would cover what
they name.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from evalplatform.kernel.values import Value
from evalplatform.reports import words
from evalplatform.reports.bands import ACCENT, GRID, INK, LABEL_SIZE_PX, MUTED, NARROW_PX, PAPER, POINT_RADIUS_PX, WIDE_PX, ticks
from evalplatform.reports.svg import circle, drawing, fitting, line, text, text_width_px
from evalplatform.reports.view import Plot
from evalplatform.reports.visible import one_line

HEIGHT_PX, LEFT_PX, TOP_PX, RIGHT_PX, AXIS_PX, KEY_LINE_PX = 300, 38, 26, 14, 40, 18
LABEL_HEIGHT_PX, LABEL_GAP_PX = 12, 6
LOG_RATIO = 20.0  # above, the cheap ones would all lie at the left edge
USD_PER_SHOWN = 1_000
MOST_NAMED = 6


class CostDot(Value):
    """One arm of one cell. `cost_usd` is per answer, of the answers with a known price."""

    cell: str
    arm: str
    cost_usd: float
    points: float


class _Scale(NamedTuple):
    """One axis: what its ends stand for, how long it is, and whether equal distances are equal ratios."""

    lo: float
    hi: float
    length_px: float
    is_log: bool = False

    def at(self, number: float) -> float:
        if self.is_log:
            return (math.log(number) - math.log(self.lo)) / (math.log(self.hi) - math.log(self.lo)) * self.length_px
        return (number - self.lo) / (self.hi - self.lo) * self.length_px


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom


def cost_plot(dots: Sequence[CostDot]) -> Plot | None:
    """Return the plot, wide and narrow, or None where fewer than two dots, or only one cost, is known: there is nothing to weigh.

    The axis of cost is logarithmic where the dearest costs over 20 times the cheapest.
    """
    if len({dot.cost_usd for dot in dots}) < 2:
        return None
    wide, narrow = (_svg(dots, width) for width in (WIDE_PX, NARROW_PX))
    told = "; ".join(f"{one_line(dot.cell)}, {one_line(dot.arm)}: ${words.usd(dot.cost_usd)}, {words.points(dot.points)}" for dot in dots)
    return Plot(wide_svg=wide, narrow_svg=narrow, alt=f"Cost of an answer in US dollars and mean points. {told}.")


def left_out_sentence(wanted: Sequence[tuple[str, str]], dots: Sequence[CostDot]) -> str:
    """Return, with a space before it, which arms of which cells have no dot; empty where all have one."""
    drawn = {(dot.cell, dot.arm) for dot in dots}
    missing = [f"{cell}, {arm}" for cell, arm in wanted if (cell, arm) not in drawn]
    more = len(missing) - MOST_NAMED
    named = [*missing[:MOST_NAMED], f"{more:,} more"] if more > 0 else missing
    return f" Without points or a known price, and so not drawn: {'; '.join(named)}." if named else ""


def _svg(dots: Sequence[CostDot], width_px: int) -> str:
    across, up = _cost_scale(dots, width_px - LEFT_PX - RIGHT_PX), _points_scale(dots)
    placed = [(dot, across.at(dot.cost_usd * USD_PER_SHOWN), HEIGHT_PX - up.at(dot.points)) for dot in dots]
    cells, arms = list(dict.fromkeys(dot.cell for dot in dots)), list(dict.fromkeys(dot.arm for dot in dots))
    codes = [_letters(cells.index(dot.cell)) + (str(arms.index(dot.arm) + 1) if len(arms) > 1 else "") for dot in dots]
    shapes = [*_grid(across, up), *(circle(x, y, POINT_RADIUS_PX, fill=ACCENT, outline=PAPER) for _, x, y in placed)]
    shapes += _labels([(x, y) for _, x, y in placed], codes, across.length_px)
    key = [(_letters(place), one_line(cell)) for place, cell in enumerate(cells)]
    key += [(str(place + 1), one_line(arm)) for place, arm in enumerate(arms)] if len(arms) > 1 else []
    key_shapes, key_lines = _key(key, width_px)
    height = TOP_PX + HEIGHT_PX + AXIS_PX + key_lines * KEY_LINE_PX + 8
    return drawing([*shapes, *key_shapes], width_px=width_px, height_px=height, left_px=LEFT_PX, top_px=TOP_PX)


def _cost_scale(dots: Sequence[CostDot], length_px: float) -> _Scale:
    costs = [dot.cost_usd * USD_PER_SHOWN for dot in dots]
    cheapest, dearest = min(costs), max(costs)
    if cheapest > 0 and dearest / cheapest > LOG_RATIO:
        return _Scale(cheapest / 1.4, dearest * 1.4, length_px, is_log=True)
    return _Scale(0.0, dearest * 1.08, length_px)


def _points_scale(dots: Sequence[CostDot]) -> _Scale:
    points = [dot.points for dot in dots]
    room = max(1.0, (max(points) - min(points)) * 0.1)
    return _Scale(max(0.0, min(points) - room), min(100.0, max(points) + room), HEIGHT_PX)


def _grid(across: _Scale, up: _Scale) -> list[str]:
    shapes = []
    for tick in ticks(up.lo, up.hi, 5):
        y = HEIGHT_PX - up.at(tick)
        shapes += [
            line((0, y), (across.length_px, y), stroke=GRID, width_px=1),
            text(-8, y + 4, f"{tick:g}", anchor="end", size_px=11, fill=MUTED),
        ]
    about = 4 if across.length_px < 500 else 8
    for tick in _powers(across) if across.is_log else ticks(across.lo, across.hi, about):
        x = across.at(tick)
        shapes += [
            line((x, 0), (x, HEIGHT_PX), stroke=GRID, width_px=1),
            text(x, HEIGHT_PX + 15, f"{tick:g}", anchor="middle", size_px=11, fill=MUTED),
        ]
    spacing = ", each step a multiple" if across.is_log else ""
    return [
        *shapes,
        text(-LEFT_PX + 2, -12, "Mean points", anchor="start", size_px=LABEL_SIZE_PX, fill=MUTED),
        text(
            across.length_px,
            HEIGHT_PX + 32,
            f"US dollars a thousand answers{spacing}",
            anchor="end",
            size_px=LABEL_SIZE_PX,
            fill=MUTED,
        ),
    ]


def _powers(scale: _Scale) -> list[float]:
    """Return the 1, 2 and 5 times powers of ten within a scale, or the powers alone where those would be many."""
    exponents = range(math.floor(math.log10(scale.lo)), math.ceil(math.log10(scale.hi)) + 1)
    factors = (1, 2, 5) if len(exponents) <= 3 else (1,)
    found = (factor * 10.0**exponent for exponent in exponents for factor in factors)
    return [number for number in found if scale.lo <= number <= scale.hi]


def _labels(places: Sequence[tuple[float, float]], codes: Sequence[str], width_px: float) -> list[str]:
    """Return each dot's code beside it: to the right, else to the left, above or below, wherever it covers nothing; else nowhere."""
    taken = [_Box(x - POINT_RADIUS_PX, y - POINT_RADIUS_PX, x + POINT_RADIUS_PX, y + POINT_RADIUS_PX) for x, y in places]
    shapes = []
    for (x, y), code in zip(places, codes, strict=True):
        wide = text_width_px(code, size_px=LABEL_SIZE_PX)
        around = ((x + LABEL_GAP_PX, y + 4), (x - LABEL_GAP_PX - wide, y + 4), (x - wide / 2, y - 8), (x - wide / 2, y + 17))
        for left, base in around:
            box = _Box(left, base - LABEL_HEIGHT_PX + 2, left + wide, base + 2)
            inside = box.left > -LEFT_PX and box.right < width_px + RIGHT_PX
            if inside and not any(box.meets(other) for other in taken):
                taken.append(box)
                shapes.append(text(left, base, code, anchor="start", size_px=LABEL_SIZE_PX, fill=INK))
                break
    return shapes


def _key(entries: Sequence[tuple[str, str]], width_px: int) -> tuple[list[str], int]:
    """Return what the codes stand for, in as many columns as fit, and how many lines that takes."""
    columns = 3 if width_px == WIDE_PX else 1
    lines = math.ceil(len(entries) / columns)
    column_px = width_px / columns
    shapes = []
    for place, (code, name) in enumerate(entries):
        x, y = -LEFT_PX + (place // lines) * column_px + 2, HEIGHT_PX + AXIS_PX + (place % lines + 1) * KEY_LINE_PX
        shapes += [
            text(x, y, code, anchor="start", size_px=LABEL_SIZE_PX, fill=INK, bold=True),
            text(
                x + 26,
                y,
                fitting(name, size_px=LABEL_SIZE_PX, limit_px=column_px - 34),
                anchor="start",
                size_px=LABEL_SIZE_PX,
                fill=MUTED,
            ),
        ]
    return shapes, lines


def _letters(place: int) -> str:
    """Return A to Z, then AA, AB and so on."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
