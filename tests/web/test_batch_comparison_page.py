"""The page of a batch comparison in a real browser, from files: its address filters it, and its rows open the diffs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from evalplatform.cli.main import exit_code
from tests.support.browser import running_chromium
from tests.support.compared_batches import a_regression, write_bundle

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("diff")
    bundles = [write_bundle(folder / f"{name}.jsonl", batch) for name, batch in zip(("a", "b"), a_regression(), strict=True)]
    assert exit_code(["diff", *map(str, bundles), "--out-html", str(folder / "report.html")]) == 1
    return (folder / "report.html").as_uri()


def opened(browser: Browser, address: str, *, width_px: int = 1280) -> tuple[Page, list[str]]:
    page = browser.new_page(viewport={"width": width_px, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: complaints.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(address)
    return page, complaints


def shown_rows(page: Page) -> list[str]:
    return page.locator("#changes tbody tr:visible th").all_inner_texts()


@pytest.mark.parametrize("width_px", [1280, 390])
def test_nothing_is_wider_than_the_screen(browser: Browser, address: str, width_px: int) -> None:
    page, complaints = opened(browser, address, width_px=width_px)
    assert page.evaluate("document.documentElement.scrollWidth") <= width_px
    assert complaints == []


def test_on_a_phone_no_column_hides_behind_a_scroll_and_the_filters_still_work(browser: Browser, address: str) -> None:
    page, _ = opened(browser, address, width_px=390)
    box = page.locator("#changes .scroll")
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") == 0
    row = page.get_by_role("row", name="collapse")
    counts = row.get_by_role("cell", name="Runs passed 4/4 → 0/4").bounding_box()
    assert counts is not None
    assert counts["x"] + counts["width"] <= 390
    page.goto(f"{address}#show-newly_failing")
    assert shown_rows(page) == ["collapse", "offline", "stopped"]


def test_a_count_filters_the_table_and_a_copied_address_restores_the_view(browser: Browser, address: str) -> None:
    page, _ = opened(browser, address)
    assert len(shown_rows(page)) == 13
    page.get_by_role("link", name="3 newly failing").click()
    assert shown_rows(page) == ["collapse", "offline", "stopped"]
    copied, complaints = opened(browser, page.url)
    assert copied.url.endswith("#show-newly_failing")
    assert shown_rows(copied) == ["collapse", "offline", "stopped"]
    assert complaints == []
    copied.get_by_role("link", name="all 13 rows").click()
    assert len(shown_rows(copied)) == 13


def test_a_row_opens_the_diff_of_its_runs_and_the_diff_leads_back(browser: Browser, address: str) -> None:
    page, complaints = opened(browser, address)
    page.locator("#changes").get_by_role("link", name="collapse").click()
    page.locator(".pair.diverged").wait_for()
    assert page.url.endswith("/report-diffs/collapse.html")
    page.get_by_role("link", name="Back to the comparison").click()
    page.locator("#changes").wait_for()
    assert page.url == address
    assert complaints == []
