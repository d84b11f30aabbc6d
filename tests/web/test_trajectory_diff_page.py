"""The page of two runs in a real browser, from a file: it opens at the split, and everything can be reached with the keyboard."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from evalplatform.reports.trajectory_diff_page import ComparedRun, trajectory_diff_html
from evalplatform.reports.view import Fact
from evalplatform.runs.trajectory_diff import diff_trajectories
from tests.support.browser import running_chromium
from tests.support.trajectories import trajectory_of

pytestmark = pytest.mark.browser

START = 'user lookup{"id":1} agent user lookup agent user agent user ' + "lookup " * 60
LONG = "a_tool_with_a_name_that_no_phone_can_show_on_one_line_" * 2
END = f'{LONG}{{"some_long_key_without_a_break_{"x" * 90}":"{"y" * 400}"}} agent'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    a, b = trajectory_of(f"{START}escalate {END}", prose="one " * 400), trajectory_of(f"{START}refund user {END}", prose="x" * 900)
    runs = [ComparedRun(name=f"trial {n}", facts=(Fact(label="Batch", value="b-" + "f" * 60),), trajectory=t) for n, t in enumerate((a, b))]
    file: Path = tmp_path_factory.mktemp("diff") / "diff.html"
    html = trajectory_diff_html(scenario_id="refund-1", a=runs[0], b=runs[1], diff=diff_trajectories(a, b))
    file.write_text(html, encoding="utf-8")
    return file.as_uri()


def opened(browser: Browser, address: str, *, width_px: int = 1280) -> tuple[Page, list[str]]:
    page = browser.new_page(viewport={"width": width_px, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: complaints.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(address)
    return page, complaints


@pytest.mark.parametrize("width_px", [1280, 390])
def test_nothing_is_wider_than_the_screen_even_with_everything_open(browser: Browser, address: str, width_px: int) -> None:
    page, complaints = opened(browser, address, width_px=width_px)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width_px
    assert complaints == []


def test_the_page_opens_at_the_split_and_a_key_press_shows_what_is_folded(browser: Browser, address: str) -> None:
    page, _ = opened(browser, address)
    hidden = page.locator("#row-3")
    assert not hidden.is_visible()
    assert page.locator(".pair.diverged").is_visible()
    page.locator(".fold > summary").first.focus()
    page.keyboard.press("Enter")
    assert hidden.is_visible()


def test_a_mark_of_the_strip_inside_the_fold_opens_it(browser: Browser, address: str) -> None:
    page, _ = opened(browser, address)
    for row, fold in (("row-3", page.locator(".fold").first), ("row-40", page.locator(".fold").last)):
        page.locator(f'.strip a[href="#{row}"]').click()
        page.locator(f"#{row}").wait_for(state="visible")
        assert fold.get_attribute("open") is not None


def test_between_the_message_that_led_to_the_split_and_the_split_one_line_stands(browser: Browser, address: str) -> None:
    page, _ = opened(browser, address)
    seen = [row.get_attribute("id") for row in page.locator(".pair").all() if row.is_visible()]
    assert seen[:5] == ["row-1", "row-7", "row-8", "row-9", "row-70"]
    fold = page.locator(".fold").last
    assert fold.inner_text().split("\n")[0].strip() == "Show 120 earlier steps"
    box = fold.bounding_box()
    assert box is not None
    assert box["height"] < 80


def test_both_columns_stand_side_by_side_and_on_a_phone_one_under_the_other(browser: Browser, address: str) -> None:
    places = {}
    for width_px in (1280, 390):
        page, _ = opened(browser, address, width_px=width_px)
        places[width_px] = [page.locator(f".pair.diverged .side-{side}").bounding_box() for side in "ab"]
    wide, narrow = places[1280], places[390]
    assert wide[0] and wide[1] and narrow[0] and narrow[1]  # noqa: PT018 - told apart by the next two lines
    assert wide[0]["y"] == wide[1]["y"]
    assert narrow[0]["x"] == narrow[1]["x"]
