"""The matrix's plots: everything told in the text alternative, nothing drawn outside, no number where there is none."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.reports.cost_plot import CostDot, cost_plot
from evalplatform.reports.heat_map import HeatRow, HeatTile, heat_map
from evalplatform.reports.view import Plot

SVG = "{http://www.w3.org/2000/svg}"


def tiles(*points: float | None, why: str = "none scored") -> tuple[HeatTile, ...]:
    return tuple(HeatTile(points=value, why_missing=None if value is not None else why) for value in points)


def plotted(plot: Plot | None) -> Plot:
    assert plot is not None
    return plot


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_every_number_of_a_heat_map_is_in_its_tile_and_in_its_text() -> None:
    plot = plotted(
        heat_map(["baseline", "docs"], [HeatRow(label="small", tiles=tiles(41.25, 60)), HeatRow(label="large", tiles=tiles(70, None))])
    )
    assert plot.alt == "Mean points by cell and arm. small: baseline 41.2, docs 60.0; large: baseline 70.0, docs none (none scored)."
    for svg in (plot.wide_svg, plot.narrow_svg):
        assert {"baseline", "docs", "small", "large", "41.2", "60.0", "70.0"} <= set(texts(svg))


def test_a_tile_without_points_is_hatched_and_says_why_where_there_is_room() -> None:
    whole, gap = (plotted(heat_map(["a", "b"], [HeatRow(label="x", tiles=tiles(50, value))])) for value in (50, None))
    assert (whole.wide_svg.count("<line"), whole.wide_svg.count("<rect")) == (0, 2)
    assert gap.wide_svg.count("<line") > 5
    assert gap.wide_svg.count("<rect") == 1
    assert "none scored" in texts(gap.wide_svg)
    crowded = plotted(heat_map(list("abcdefgh"), [HeatRow(label="x", tiles=tiles(50, *[None] * 7))]))
    assert texts(crowded.narrow_svg).count("—") == 7


def test_the_more_points_the_deeper_the_colour() -> None:
    plot = plotted(heat_map(["a", "b", "c"], [HeatRow(label="x", tiles=tiles(10, 90, 50))]))
    low, high, middle = (float(depth) for depth in re.findall(r'fill-opacity="([\d.]+)"', plot.wide_svg))
    assert low < middle < high <= 0.5


def test_equal_points_have_one_colour() -> None:
    plot = plotted(heat_map(["a", "b"], [HeatRow(label="x", tiles=tiles(50, 50))]))
    assert len(set(re.findall(r'fill-opacity="([\d.]+)"', plot.wide_svg))) == 1


def test_names_that_do_not_fit_over_their_tiles_are_numbered_and_stand_below() -> None:
    names = ["baseline", "skill:a-skill-with-a-very-long-name", "docs"]
    plot = plotted(heat_map(names, [HeatRow(label="x", tiles=tiles(1, 2, 3))]))
    assert {"1", "2", "3", *(f"{place}  {name}" for place, name in enumerate(names, start=1))} <= set(texts(plot.narrow_svg))


def test_there_is_no_plot_of_nothing() -> None:
    assert heat_map(["a"], [HeatRow(label="x", tiles=tiles(None))]) is None
    assert cost_plot([]) is None
    assert cost_plot([CostDot(cell="x", arm="a", cost_usd=0.1, points=5), CostDot(cell="y", arm="a", cost_usd=0.1, points=9)]) is None


DOTS = [
    CostDot(cell=cell, arm=arm, cost_usd=cost, points=points)
    for cell, arm, cost, points in (
        ("small", "baseline", 0.0001, 40.0),
        ("small", "docs", 0.0002, 55.0),
        ("large", "baseline", 0.0011, 60.0),
        ("large", "docs", 0.0012, 75.5),
    )
]


def test_cost_against_score_names_each_dot_by_a_code_and_tells_all_in_its_text() -> None:
    plot = plotted(cost_plot(DOTS))
    assert plot.alt.startswith(
        "Cost of an answer in US dollars and mean points. small, baseline: $0.0001, 40.0; small, docs: $0.0002, 55.0;"
    )
    for svg in (plot.wide_svg, plot.narrow_svg):
        assert {"A1", "A2", "B1", "B2", "A", "B", "1", "2", "small", "large", "baseline", "docs"} <= set(texts(svg))
        assert svg.count("<circle") == 4


def test_with_one_arm_a_letter_is_enough() -> None:
    assert {"A", "B"} <= set(texts(plotted(cost_plot([dot for dot in DOTS if dot.arm == "docs"])).wide_svg))
    assert "A1" not in plotted(cost_plot([dot for dot in DOTS if dot.arm == "docs"])).wide_svg


@pytest.mark.parametrize(("dearest", "is_log"), [(0.0015, False), (0.5, True)])
def test_costs_far_apart_are_on_a_logarithmic_axis_that_says_so(dearest: float, is_log: bool) -> None:
    plot = plotted(cost_plot([*DOTS, CostDot(cell="huge", arm="docs", cost_usd=dearest, points=80)]))
    assert ("US dollars a thousand answers, each step a multiple" in texts(plot.wide_svg)) is is_log


@given(
    st.lists(
        st.builds(
            CostDot,
            cell=st.sampled_from(["a", "b", "a cell with a very long name indeed"]),
            arm=st.sampled_from(["baseline", "docs"]),
            cost_usd=st.floats(0, 1),
            points=st.floats(0, 100),
        ),
        min_size=2,
        max_size=12,
    )
)
def test_every_dot_and_every_code_lies_within_the_drawing(dots: list[CostDot]) -> None:
    plot = cost_plot(dots)
    for svg in () if plot is None else (plot.wide_svg, plot.narrow_svg):
        root = ElementTree.fromstring(svg)
        width, height = (float(size) for size in root.attrib["viewBox"].split()[2:])
        left, top = (float(size) for size in re.findall(r"[\d.]+", root[0].attrib["transform"]))
        for dot in root.iter(f"{SVG}circle"):
            assert 0 <= left + float(dot.attrib["cx"]) <= width
            assert 0 <= top + float(dot.attrib["cy"]) <= height
        for text in root.iter(f"{SVG}text"):
            assert 0 <= left + float(text.attrib["x"]) <= width
            assert 0 <= top + float(text.attrib["y"]) <= height
