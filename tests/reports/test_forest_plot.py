"""The forest plot: each delta on its interval, about a line at zero."""

import re
from xml.etree import ElementTree

import pytest

from evalplatform.reports.bands import BETTER, INK, NARROW_PX, WIDE_PX, WORSE
from evalplatform.reports.forest_plot import ForestRow, forest_plot
from evalplatform.reports.view import Plot

SVG = "{http://www.w3.org/2000/svg}"


def row(label: str = "docs", mean: float | None = -5.0, lo: float | None = -8.0, hi: float | None = -2.0, **changes: object) -> ForestRow:
    return ForestRow(**{"label": label, "mean": mean, "lo": lo, "hi": hi, "right_label": f"{mean}", **changes})  # type: ignore[arg-type]


def drawn(plot: Plot | None, *, narrow: bool = False) -> ElementTree.Element:
    assert plot is not None
    return ElementTree.fromstring(plot.narrow_svg if narrow else plot.wide_svg)


def dots(svg: ElementTree.Element) -> list[tuple[float, str]]:
    return [(float(dot.attrib["cx"]), dot.attrib["fill"]) for dot in svg.iter(f"{SVG}circle")]


def test_a_delta_lies_left_of_zero_and_its_interval_reaches_from_end_to_end() -> None:
    svg = drawn(forest_plot([row(), row("skill", 5.0, 2.0, 8.0)]))
    (left, _), (right, _) = dots(svg)
    lines = [line.attrib for line in svg.iter(f"{SVG}line") if line.attrib["stroke-width"] == "2.5"]
    (zero,) = {line.attrib["x1"] for line in svg.iter(f"{SVG}line") if line.attrib["stroke"] == "#5b636e"}
    assert left < float(zero) < right
    assert float(lines[0]["x1"]) < left < float(lines[0]["x2"]) < float(zero)
    assert left + right == pytest.approx(2 * float(zero), abs=0.05)


def test_colours_follow_the_tone() -> None:
    svg = drawn(forest_plot([row(tone="worse"), row("a", tone="better"), row("b"), row("c", tone="muted")]))
    assert [colour for _, colour in dots(svg)] == [WORSE, BETTER, INK, INK]


def test_a_delta_without_an_interval_is_a_dot_and_a_row_without_a_delta_its_name() -> None:
    plot = forest_plot([row("one pair", 3.0, None, None), row("no pair", None, None, None, right_label="—")])
    svg = drawn(plot)
    assert len(dots(svg)) == 1
    assert {text.text for text in svg.iter(f"{SVG}text")} >= {"one pair", "no pair", "—"}
    assert plot is not None
    assert plot.alt == "Differences with 95% interval: one pair 3.0; no pair —."


def test_without_any_delta_there_is_no_plot() -> None:
    assert forest_plot([row(mean=None, lo=None, hi=None)]) is None
    assert forest_plot([]) is None


def test_an_interval_beyond_the_scale_is_cut_at_its_end() -> None:
    svg = drawn(forest_plot([row(mean=-60.0, lo=-190.0, hi=70.0)]))
    interval = next(line.attrib for line in svg.iter(f"{SVG}line") if line.attrib["stroke-width"] == "2.5")
    assert float(interval["x1"]) == 0.0


@pytest.mark.parametrize(("narrow", "width"), [(False, WIDE_PX), (True, NARROW_PX)])
def test_both_widths_hold_every_mark(narrow: bool, width: int) -> None:
    svg = drawn(forest_plot([row(f"arm {number}", number - 4.0, number - 9.0, number + 1.0) for number in range(9)]), narrow=narrow)
    assert len(dots(svg)) == 9
    assert all(0 <= x <= width for x, _ in dots(svg))
    assert re.match(r"0 0 \d+ \d+", svg.attrib["viewBox"])
