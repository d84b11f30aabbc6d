from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.reports.arms_view import ScorePlotRow
from evalplatform.reports.plots import score_plot
from evalplatform.reports.svg import circle, drawing, fitting, line, pixels, rectangle, text, text_width_px


def test_a_drawing_is_well_formed_and_holds_its_shapes() -> None:
    shapes = [
        line((0, 1), (2.5, 1), stroke="#000001", width_px=2, dashed=True),
        circle(1, 2, 3, fill="#000002", outline="#ffffff"),
        rectangle(1, 2, 3, 4, fill="#000003"),
        text(0, 9, "a < b & c", anchor="start", size_px=11, fill="#000004", bold=True),
    ]
    root = ElementTree.fromstring(drawing(shapes, width_px=100, height_px=50, left_px=10, top_px=2))
    assert root.get("viewBox") == "0 0 100 50"
    drawn = list(root[0])
    assert [element.tag.rpartition("}")[2] for element in drawn] == ["line", "circle", "rect", "text"]
    assert drawn[0].get("x2") == "2.5"
    assert drawn[3].text == "a < b & c"


def test_pixels_have_two_decimals_at_most_and_no_negative_zero() -> None:
    assert [pixels(number) for number in (1.0, 0.126, -0.001, 1234.5, -2.0)] == ["1", "0.13", "0", "1234.5", "-2"]


@given(st.text(min_size=1, max_size=80), st.floats(min_value=30, max_value=400))
def test_a_cut_text_fits_and_is_a_beginning_of_the_whole(content: str, limit_px: float) -> None:
    shown = fitting(content, size_px=12.5, limit_px=limit_px)
    assert text_width_px(shown, size_px=12.5) <= limit_px
    assert shown == content or content.startswith(shown.removesuffix("…"))


def test_the_scale_has_round_numbers() -> None:
    rows = [ScorePlotRow(arm="a", baseline=True, mean=45.0, lo=42.0, hi=48.0, label="45.0 [42.0, 48.0]")]
    drawn = score_plot(rows)
    assert drawn is not None
    labels = [element.text for element in ElementTree.fromstring(drawn.wide_svg).iter("{http://www.w3.org/2000/svg}text")]
    assert labels[:-2] == ["40", "41", "42", "43", "44", "45", "46", "47", "48", "49", "50"]
