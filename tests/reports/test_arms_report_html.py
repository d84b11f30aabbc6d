"""The arms report as a page that opens offline."""

import re
from html.parser import HTMLParser

import pytest

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import InputError
from evalplatform.reports.arms_view import DeltaPlotRow, ScorePlotRow
from evalplatform.reports.html import PAGE_TEXT_LIMIT_CHARS, Download, arms_html, long_text, visible_text
from evalplatform.reports.plots import delta_plot, score_plot
from tests.support.arms_fixture import arms_run

PITFALLS = "\u202eabc\u2066\u0645\u0631\u062d\u0628\u0627\u2069 a\x00b <script>alert(1)</script> \" ' & |"


class Tags(HTMLParser):
    """Collects start tags with their attributes, and the visible text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    return tags


@pytest.fixture(scope="module")
def page() -> str:
    report = arms_run(questions=6, texts={"q0001": PITFALLS, "q0002": "y" * 1048576}).report()
    return arms_html(report, downloads=[Download(label="arms.v1", file_name="arms.json")])


def test_the_page_names_no_other_address_and_runs_nothing(page: str) -> None:
    tags = parsed(page)
    assert {tag for tag, _ in tags.tags} & {"script", "link", "img", "iframe", "object", "form"} == set()
    for tag, attributes in tags.tags:
        assert not any(name.startswith("on") or name in {"src", "style", "xlink:href"} for name in attributes), (tag, attributes)
        assert (attributes.get("href") or "#").startswith(("#", "arms.json"))
    assert "default-src 'none'" in page


def test_anchors_are_unique_and_every_link_inside_the_page_leads_somewhere(page: str) -> None:
    tags = parsed(page).tags
    anchors = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(anchors) == len(set(anchors))
    links = {(attributes["href"] or "")[1:] for tag, attributes in tags if tag == "a" and (attributes.get("href") or "").startswith("#")}
    assert links <= set(anchors)


def test_tables_have_captions_and_scopes_and_plots_have_text(page: str) -> None:
    tags = parsed(page).tags
    assert sum(tag == "caption" for tag, _ in tags) == sum(tag == "table" for tag, _ in tags)
    assert all(attributes.get("scope") in {"row", "col"} for tag, attributes in tags if tag == "th")
    images = [attributes["aria-label"] or "" for _, attributes in tags if attributes.get("role") == "img"]
    assert len(images) == 4
    assert all("95% interval" in text or "higher" in text for text in images)


def test_text_that_users_wrote_is_shown_and_never_followed(page: str) -> None:
    assert "<script" not in page
    assert "<script>alert(1)</script>" in parsed(page).text
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00]", page)
    assert '<span class="control" title="hidden character">U+202E</span>abc' in page


def test_a_mebibyte_answer_is_cut_with_its_length_and_the_digest_of_the_whole(page: str) -> None:
    assert "Show all 1,048,576 characters of the answer" in page
    assert text_digest("y" * 1048576) in page
    assert len(page) < 5 * 2 * PAGE_TEXT_LIMIT_CHARS


def test_cut_texts_lose_nothing() -> None:
    text = "word " * 1000
    shown = long_text(text)
    assert shown.head + shown.rest == text
    assert shown.head.endswith(" ")
    assert long_text("short") == ("short", "", 0)
    assert long_text("z" * (PAGE_TEXT_LIMIT_CHARS + 5)).beyond_chars == 5


def test_a_download_must_be_a_plain_file_name() -> None:
    report = arms_run(questions=1, arms=("baseline",)).report()
    for name in ("../secret", "javascript:alert(1)", "https://example.org/x", ""):
        with pytest.raises(InputError, match="plain name"):
            arms_html(report, downloads=[Download(label="x", file_name=name)])


def test_visible_text_escapes_markup_around_tokens() -> None:
    assert str(visible_text("<a>\x00&")) == '&lt;a&gt;<span class="control" title="hidden character">U+0000</span>&amp;'


def test_the_same_report_gives_the_same_page() -> None:
    report = arms_run(questions=3, arms=("baseline", "docs")).report()
    assert arms_html(report) == arms_html(report)


def test_a_large_run_stays_a_small_page() -> None:
    report = arms_run(questions=1200, arms=("baseline", "docs")).report()
    assert len(arms_html(report)) < 3_000_000


def test_plots_are_absent_where_there_is_nothing_to_plot() -> None:
    empty = ScorePlotRow(arm="a", baseline=True, mean=None, lo=None, hi=None, label="—")
    assert score_plot([empty]) is None
    assert delta_plot([]) is None


def test_a_plot_of_many_questions_has_bars_and_of_few_has_dots() -> None:
    def row(count: int) -> DeltaPlotRow:
        deltas = tuple(float(number % 41 - 20) for number in range(count))
        return DeltaPlotRow(arm="a<b>\x00", deltas=deltas, mean=0.0, lo=-1.0, hi=1.0, significant=False, label="0.0 [-1.0, 1.0]")

    few, many = delta_plot([row(40)]), delta_plot([row(10_000)])
    assert few is not None
    assert many is not None
    assert len(many.wide_svg) < len(few.wide_svg) * 2
    assert "a&lt;b&gt;⟨U+0000⟩" in few.wide_svg
    assert many.alt.endswith("over 10,000 questions, 4,876 higher, 4,880 lower.")


def test_a_plot_of_one_arm_that_scores_full_points_every_time_stays_in_its_range() -> None:
    row = ScorePlotRow(arm="a", baseline=True, mean=100.0, lo=100.0, hi=100.0, label="100.0 [100.0, 100.0]")
    drawn = score_plot([row])
    assert drawn is not None
    assert "NaN" not in drawn.wide_svg
