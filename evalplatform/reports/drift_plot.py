"""The nights of each scenario as a row of tiles, oldest first: what was quiet is pale, drift is filled, and what was not seen is hatched.

A letter stands in every tile that is not quiet, so that nobody has to read it from a colour.
"""

from collections.abc import Sequence
from itertools import pairwise

from evalplatform.monitoring.trend import Mark, ScenarioTrend, TrendMark
from evalplatform.reports.bands import ACCENT, INK, LABEL_SIZE_PX, MUTED, NAME_SIZE_PX, NARROW_PX, WIDE_PX
from evalplatform.reports.svg import drawing, fitting, line, rectangle, text
from evalplatform.reports.view import Plot
from evalplatform.reports.visible import one_line

TILE_PX, GAP_PX, NAME_LINE_PX, ROW_GAP_PX, KEY_LINE_PX = 16, 2, 20, 8, 18
MARGIN_PX = 2
DATES_PX = 190
"""What two dates take at the end of a line, with the space before them."""
QUIET_DEPTH, DRIFT_DEPTH = 0.08, 0.55
LETTERS: dict[Mark, str] = {"quiet": "", "verdict": "V", "path": "P", "both": "B", "unseen": "U", "dead": "D", "failed": "F"}
MARK_WORDS: dict[Mark, str] = {
    "quiet": "quiet",
    "verdict": "drift by verdict",
    "path": "drift by tool path",
    "both": "drift by both",
    "unseen": "no graded live run",
    "dead": "dead sensor",
    "failed": "check failed",
}
DRIFTS: frozenset[Mark] = frozenset({"verdict", "path", "both"})
NOT_SEEN: frozenset[Mark] = frozenset({"unseen", "dead", "failed"})


def drift_plot(trends: Sequence[ScenarioTrend]) -> Plot | None:
    """Return the plot, wide and narrow: as many of the newest nights as fit; None where there is no trend."""
    if not trends:
        return None
    wide, narrow = (_svg(trends, width) for width in (WIDE_PX, NARROW_PX))
    told = "; ".join(f"{one_line(trend.scenario_id)} of {trend.stream}: {_counts(trend)}" for trend in trends)
    return Plot(wide_svg=wide, narrow_svg=narrow, alt=f"Nights of each scenario, oldest first. {told}.")


def _counts(trend: ScenarioTrend) -> str:
    marks = [mark.mark for mark in trend.marks]
    return ", ".join(f"{marks.count(mark)} {words}" for mark, words in MARK_WORDS.items() if mark in marks)


def _dates(shown: Sequence[TrendMark]) -> str:
    first, last = (mark.slot.local_date.isoformat() for mark in (shown[0], shown[-1]))
    return first if first == last else f"{first} to {last}"


def _svg(trends: Sequence[ScenarioTrend], width_px: int) -> str:
    step = TILE_PX + GAP_PX
    fits = max(1, (width_px - 2 * MARGIN_PX) // step)
    row_px = NAME_LINE_PX + TILE_PX + ROW_GAP_PX
    shapes: list[str] = []
    for place, trend in enumerate(trends):
        top = place * row_px
        right = width_px - 2 * MARGIN_PX
        name = fitting(f"{one_line(trend.scenario_id)} ({trend.stream})", size_px=NAME_SIZE_PX, limit_px=right - DATES_PX)
        shapes.append(text(0, top + 14, name, anchor="start", size_px=NAME_SIZE_PX, fill=INK, bold=True))
        shapes.append(text(right, top + 14, _dates(trend.marks[-fits:]), anchor="end", size_px=LABEL_SIZE_PX, fill=MUTED))
        for column, mark in enumerate(trend.marks[-fits:]):
            shapes += _tile(mark.mark, column * step, top + NAME_LINE_PX)
    bottom = len(trends) * row_px
    used = {mark.mark for trend in trends for mark in trend.marks[-fits:]}
    keys = [f"{letter}  {MARK_WORDS[mark]}" for mark, letter in LETTERS.items() if letter and mark in used]
    for place, key in enumerate(keys):
        shapes.append(text(0, bottom + KEY_LINE_PX * (place + 1), key, anchor="start", size_px=LABEL_SIZE_PX, fill=MUTED))
    height = bottom + KEY_LINE_PX * len(keys) + 6
    return drawing(shapes, width_px=width_px, height_px=height, left_px=MARGIN_PX, top_px=0)


def _tile(mark: Mark, x: float, y: float) -> list[str]:
    if mark in NOT_SEEN:
        ends = ((x, y + TILE_PX), (x + TILE_PX, y))
        shapes = [line(*ends, stroke=MUTED, width_px=1), *_frame(x, y)]
    else:
        shapes = [rectangle(x, y, TILE_PX, TILE_PX, fill=ACCENT, opacity=DRIFT_DEPTH if mark in DRIFTS else QUIET_DEPTH)]
    letter = LETTERS[mark]
    if letter:
        shapes.append(text(x + TILE_PX / 2, y + 12, letter, anchor="middle", size_px=LABEL_SIZE_PX - 1, fill=INK, bold=True))
    return shapes


def _frame(x: float, y: float) -> list[str]:
    corners = ((x, y), (x + TILE_PX, y), (x + TILE_PX, y + TILE_PX), (x, y + TILE_PX), (x, y))
    return [line(a, b, stroke=MUTED, width_px=1) for a, b in pairwise(corners)]
