"""A heat map: one row a cell, one column an arm, the deeper the colour the more points. A tile without points is hatched.

The numbers stand in the tiles, so that nobody has to read them from a colour; the colour is the accent, mixed with the page's, and so goes
with light and dark.
"""

from collections.abc import Sequence
from typing import NamedTuple

from evalplatform.kernel.values import Value
from evalplatform.reports import words
from evalplatform.reports.bands import ACCENT, GRID, INK, LABEL_SIZE_PX, MUTED, NAME_SIZE_PX, NARROW_PX, WIDE_PX
from evalplatform.reports.svg import drawing, fitting, line, rectangle, text, text_width_px
from evalplatform.reports.view import Plot
from evalplatform.reports.visible import one_line

TILE_PX, GAP_PX, HEADER_PX, NAME_LINE_PX, KEY_LINE_PX = 34, 3, 24, 20, 18
NAMES_PX, NAME_ROOM_PX = 270, 40  # some fonts draw bold digits a sixth wider than the one that widths are told for
MARGIN_PX = 2
PALEST, DEEPEST = 0.06, 0.5  # the ink stays readable on the deepest, in light and dark
HATCH_STEP_PX = 8


class HeatTile(Value):
    """One arm in one cell: its mean points, or why it has none, in a few words."""

    points: float | None
    why_missing: str | None = None


class HeatRow(Value):
    """One cell with a tile an arm, in the columns' order."""

    label: str
    tiles: tuple[HeatTile, ...]


class _Layout(NamedTuple):
    """Where tiles lie: beside the names on a wide page, under them on a narrow one."""

    width_px: int
    left_px: float
    row_px: float
    tile_left_px: float
    tile_width_px: float

    def x(self, column: int) -> float:
        return self.tile_left_px + column * self.tile_width_px


def heat_map(columns: Sequence[str], rows: Sequence[HeatRow]) -> Plot | None:
    """Return the plot, wide and narrow, or None where no tile has points.

    Columns whose names do not fit over their tiles are numbered, and the names stand under the plot.

    Args:
        columns: the arms, from left to right.
        rows: the cells, from top to bottom.
    """
    known = [tile.points for row in rows for tile in row.tiles if tile.points is not None]
    if not known:
        return None
    wide, narrow = (_svg(columns, rows, (min(known), max(known)), _layout(width, len(columns))) for width in (WIDE_PX, NARROW_PX))
    told = "; ".join(f"{one_line(row.label)}: {', '.join(_tile_words(columns, row))}" for row in rows)
    return Plot(wide_svg=wide, narrow_svg=narrow, alt=f"Mean points by cell and arm. {told}.")


def _tile_words(columns: Sequence[str], row: HeatRow) -> list[str]:
    return [
        f"{one_line(arm)} {words.points(tile.points) if tile.points is not None else f'none ({tile.why_missing})'}"
        for arm, tile in zip(columns, row.tiles, strict=True)
    ]


def _layout(width_px: int, columns: int) -> _Layout:
    is_wide = width_px == WIDE_PX
    left = NAMES_PX if is_wide else 0
    # A few columns need not be as wide as the page.
    tile_width = min((width_px - left) / columns, 180 if is_wide else 165)
    return _Layout(width_px, left, TILE_PX + (0 if is_wide else NAME_LINE_PX), left, tile_width)


def _svg(columns: Sequence[str], rows: Sequence[HeatRow], ends: tuple[float, float], layout: _Layout) -> str:
    names = [one_line(name) for name in columns]
    limit = layout.tile_width_px - 10
    has_key = any(text_width_px(name, size_px=LABEL_SIZE_PX) > limit for name in names)
    heads = [str(place) for place in range(1, len(names) + 1)] if has_key else names
    shapes = [
        text(layout.x(place) + layout.tile_width_px / 2, 14, head, anchor="middle", size_px=LABEL_SIZE_PX, fill=MUTED)
        for place, head in enumerate(heads)
    ]
    for place, row in enumerate(rows):
        shapes += _row(row, HEADER_PX + place * layout.row_px, ends, layout)
    bottom = HEADER_PX + len(rows) * layout.row_px
    keys = [f"{head}  {name}" for head, name in zip(heads, names, strict=True)] if has_key else []
    for place, key in enumerate(keys):
        shown = fitting(key, size_px=LABEL_SIZE_PX, limit_px=layout.width_px - layout.left_px)
        shapes.append(text(layout.left_px, bottom + KEY_LINE_PX * (place + 1), shown, anchor="start", size_px=LABEL_SIZE_PX, fill=MUTED))
    height = bottom + KEY_LINE_PX * len(keys) + (8 if keys else 2)
    return drawing(shapes, width_px=layout.width_px + 2 * MARGIN_PX, height_px=height, left_px=MARGIN_PX, top_px=0)


def _row(row: HeatRow, top_px: float, ends: tuple[float, float], layout: _Layout) -> list[str]:
    is_beside = layout.left_px > 0
    tiles_top = top_px if is_beside else top_px + NAME_LINE_PX
    limit = (layout.left_px if is_beside else layout.width_px) - NAME_ROOM_PX
    name = fitting(one_line(row.label), size_px=NAME_SIZE_PX, limit_px=limit)
    baseline = top_px + TILE_PX / 2 + 3 if is_beside else top_px + 15
    shapes = [text(0, baseline, name, anchor="start", size_px=NAME_SIZE_PX, fill=INK, bold=True)]
    for place, tile in enumerate(row.tiles):
        shapes += _tile(tile, layout.x(place), tiles_top, layout.tile_width_px - GAP_PX, ends)
    return shapes


def _tile(tile: HeatTile, x: float, y: float, width_px: float, ends: tuple[float, float]) -> list[str]:
    height, middle = TILE_PX - GAP_PX, x + width_px / 2
    if tile.points is None:
        why = tile.why_missing or words.MISSING
        if text_width_px(why, size_px=LABEL_SIZE_PX) > width_px - 8:
            why = words.MISSING  # the text alternative says why
        return [*_hatched(x, y, width_px, height), text(middle, y + 20, why, anchor="middle", size_px=LABEL_SIZE_PX, fill=MUTED)]
    lowest, highest = ends
    depth = 0.5 if highest == lowest else (tile.points - lowest) / (highest - lowest)
    return [
        rectangle(x, y, width_px, height, fill=ACCENT, opacity=PALEST + depth * (DEEPEST - PALEST)),
        text(middle, y + 20, words.points(tile.points), anchor="middle", size_px=NAME_SIZE_PX, fill=INK),
    ]


def _hatched(x: float, y: float, width_px: float, height_px: float) -> list[str]:
    """Return lines that rise from left to right across a tile; a pattern would need an id, and a page holds many drawings."""
    shapes = []
    start = HATCH_STEP_PX
    while start < width_px + height_px:
        # The line x + y = start, cut to the tile; y grows downward.
        left, right = max(0.0, start - height_px), min(width_px, float(start))
        shapes.append(line((x + left, y + start - left), (x + right, y + start - right), stroke=GRID, width_px=1))
        start += HATCH_STEP_PX
    return shapes
