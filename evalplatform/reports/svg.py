"""The few SVG shapes that plots are drawn with, as text: no browser, no request, the same bytes every time.

Every function returns one element. Coordinates and sizes are pixels of the drawing; y grows downward. Text is escaped, in one font.
"""

from collections.abc import Iterable
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

FONT = "Helvetica, Arial, sans-serif"  # Liberation Sans has their widths where neither exists
NARROW = frozenset("fijlrtI.,:;!|'()[]{}/\\- ")
ELLIPSIS = "…"


def line(start: tuple[float, float], end: tuple[float, float], *, stroke: str, width_px: float, dashed: bool = False) -> str:
    """Return a line; a solid one ends round, so that a line without length is a dot."""
    look = 'stroke-dasharray="3,3"' if dashed else 'stroke-linecap="round"'
    (x1, y1), (x2, y2) = start, end
    return (
        f'<line x1="{pixels(x1)}" y1="{pixels(y1)}" x2="{pixels(x2)}" y2="{pixels(y2)}" '
        f'stroke="{stroke}" stroke-width="{pixels(width_px)}" {look}/>'
    )


def circle(x: float, y: float, radius_px: float, *, fill: str, outline: str | None = None) -> str:
    """Return a filled circle, with an outline that sets it off from what lies under it."""
    around = "" if outline is None else f' stroke="{outline}" stroke-width="1.5"'
    return f'<circle cx="{pixels(x)}" cy="{pixels(y)}" r="{pixels(radius_px)}" fill="{fill}"{around}/>'


def rectangle(x: float, y: float, width_px: float, height_px: float, *, fill: str, opacity: float = 1.0) -> str:
    """Return a filled rectangle, by its upper left corner; `opacity` mixes its colour with what lies under it."""
    mixed = "" if opacity == 1.0 else f' fill-opacity="{pixels(opacity)}"'
    return f'<rect x="{pixels(x)}" y="{pixels(y)}" width="{pixels(width_px)}" height="{pixels(height_px)}" fill="{fill}"{mixed}/>'


def text(x: float, y: float, content: str, *, anchor: str, size_px: float, fill: str, bold: bool = False) -> str:
    """Return a line of text that starts, is centred or ends at `x` (`anchor` is start, middle or end); `y` is its base line."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{pixels(x)}" y="{pixels(y)}" text-anchor="{anchor}" font-family="{FONT}" font-size="{pixels(size_px)}px"{weight} '
        f'fill="{fill}">{escape(content)}</text>'
    )


def drawing(shapes: Iterable[str], *, width_px: float, height_px: float, left_px: float, top_px: float) -> str:
    """Return a picture that fills its container's width; the shapes' origin lies at (`left_px`, `top_px`).

    It says nothing of its own to a screen reader: the page names it.
    """
    return (
        f'<svg aria-hidden="true" xmlns="http://www.w3.org/2000/svg" class="marks" viewBox="0 0 {pixels(width_px)} {pixels(height_px)}" '
        f'preserveAspectRatio="xMinYMin meet"><g transform="translate({pixels(left_px)},{pixels(top_px)})">{"".join(shapes)}</g></svg>'
    )


def fitting(content: str, *, size_px: float, limit_px: float) -> str:
    """Return text cut with an ellipsis where it would be drawn wider than `limit_px`, by `text_width_px`."""
    if text_width_px(content, size_px=size_px) <= limit_px:
        return content
    kept = content
    while kept and text_width_px(kept + ELLIPSIS, size_px=size_px) > limit_px:
        kept = kept[:-1]
    return kept.rstrip() + ELLIPSIS


def text_width_px(content: str, *, size_px: float) -> float:
    """Return about how wide bold text is drawn; seldom less than it really is, so that what fits by this does fit.

    Helvetica Bold draws most letters 0.56 to 0.61 em wide, capitals up to 0.78, thin ones 0.28 to 0.39, m and w up to 0.94; East Asian wide
    characters take 1 em in every font.
    """
    return size_px * sum(map(_width_em, content))


def _width_em(character: str) -> float:
    if character in NARROW:
        return 0.39
    if character in "mwMW@%" or east_asian_width(character) in "WF":
        return 1.0
    return 0.78 if character.isupper() else 0.61


def pixels(number: float) -> str:
    """Return a number to two decimals, without trailing zeros and without a negative zero."""
    shown = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown
