"""The platform as a person sees it: a suite backfilled from its graph, its checks, and the report behind a link of its metadata.

The pictures go to the folder that SCREENS names, else to the test's own.
"""

import json
import os
import re
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.support.browser import running_chromium
from tests.support.dev_server import DevServer, running_dev_server
from tests.support.starter_project import StarterProject

pytestmark = [pytest.mark.browser, pytest.mark.system, pytest.mark.timeout(900)]

BACKFILL_SECONDS = 400
UI_MILLISECONDS = 60_000
GROUP = "/locations/evalplatform.definitions/asset-groups/kettle"
BACKFILLS = "{partitionBackfillsOrError(limit: 1) {... on PartitionBackfills {results {id status}}}}"
BY_CELL = ("arm_answers", "judged_scores", "arm_summary", "arms_report")
BY_JUDGE = ("matrix_rollup", "model_comparison")


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("SCREENS") or tmp_path_factory.mktemp("screens"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> StarterProject:
    """Two cells, so that partitions are more than one."""
    starter = StarterProject.written_to(tmp_path_factory.mktemp("screens") / "project")
    brief = {"model": "extractive", "endpoint": "here", "sampling": {"max_tokens": 40}}
    starter.edit({"cells.brief": brief, "suites.kettle.cells": ["reader", "brief"]})
    return starter


@pytest.fixture(scope="module")
def server(browser: Browser, starter: StarterProject, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    apart = tmp_path_factory.mktemp("dev")
    (apart / "home").mkdir()
    with running_dev_server(starter.folder, log=apart / "log", home=apart / "home") as server:
        yield server


@pytest.fixture(scope="module")
def backfill(browser: Browser, server: DevServer) -> str:
    """The id of a backfill of the whole suite, launched from its graph and finished by the daemon."""
    page = _new_page(browser, server)
    page.goto(GROUP)
    page.get_by_text("arms_report", exact=True).first.wait_for()
    page.get_by_role("button", name="Materialize all").click()
    page.get_by_role("button", name="Launch backfill").click()
    give_up_at = time.monotonic() + BACKFILL_SECONDS
    while not (found := _backfills(page)) or found[0]["status"] == "REQUESTED":
        assert time.monotonic() < give_up_at, f"{found}: {server.log.read_text(errors='replace')[-3000:]}"
        page.wait_for_timeout(500)
    page.close()
    assert found[0]["status"] == "COMPLETED_SUCCESS"
    return found[0]["id"]


@pytest.fixture
def page(browser: Browser, server: DevServer, backfill: str) -> Iterator[Page]:
    page = _new_page(browser, server)
    yield page
    page.close()


def test_a_finished_backfill_shows_every_asset_and_partition(page: Page, backfill: str, starter: StarterProject, screens: Path) -> None:
    page.goto(f"/runs/b/{backfill}")
    page.get_by_text("Succeeded").first.wait_for()
    for asset in ("question_set", "corpus", *BY_CELL, *BY_JUDGE):
        page.get_by_role("link", name=re.compile(rf"\b{asset}$")).wait_for()
    text = page.locator("body").inner_text()
    assert len(re.findall("100% completed", text)) >= 2 + len(BY_CELL) + len(BY_JUDGE)
    for cell in starter.project.cells_of("kettle"):
        assert cell.key in text
    _picture(page, screens / "dagster-backfill.png")


def test_the_graph_shows_the_suite_filled_with_its_checks(page: Page, screens: Path) -> None:
    page.goto(GROUP)
    for asset in ("question_set", "corpus", *BY_CELL, *BY_JUDGE):
        page.get_by_text(asset, exact=True).first.wait_for()
    page.get_by_text("100% filled").nth(len(BY_CELL) - 1).wait_for()
    for passed in ("4 / 4 Passed", "4 / 5 Passed"):
        page.get_by_text(passed, exact=True).wait_for()
    shown = re.findall(r"^(\w+)\nLatest event\n.+\nAsset checks\n(.+)$", page.locator("body").inner_text(), re.MULTILINE)
    checks = {asset: found for asset, found in shown if "Passed" in found}
    # The starter's judge makes no call, so that the fifth check of its scores, of their prices, is not made.
    assert checks == {"arm_answers": "4 / 4 Passed", "judged_scores": "4 / 5 Passed", **dict.fromkeys(BY_JUDGE, "1 / 1 Passed")}
    _picture(page, screens / "dagster-assets.png")


def test_a_partitioned_asset_shows_what_its_checks_found(page: Page, starter: StarterProject, screens: Path) -> None:
    page.goto("/assets/suites/kettle/judged_scores?view=checks&checkDetail=coverage")
    page.get_by_text("Latest execution").wait_for()
    text = page.locator("body").inner_text()
    assert "Passed" in text
    assert "suites.kettle.checks.coverage" in text
    assert any(f"{cell.key}" in text for cell in starter.project.cells_of("kettle"))
    _picture(page, screens / "dagster-checks.png")


def test_the_link_of_a_report_leads_to_the_page_and_its_files(page: Page, server: DevServer, screens: Path) -> None:
    page.goto("/assets/suites/kettle/arms_report")
    link = page.get_by_role("link", name=re.compile(r"^http.+report\.html$"))
    link.wait_for()
    assert link.inner_text().startswith(server.web_url)
    with page.context.expect_page() as opened:
        link.click()
    report = opened.value
    report.set_default_timeout(UI_MILLISECONDS)
    report.get_by_role("heading", name=re.compile("kettle: 4 arms against baseline")).wait_for()
    assert report.locator(".plot svg:visible").count() == 2
    _picture(report, screens / "served-report.png")
    for name in ("arms.json", "scores.csv"):
        with report.expect_download() as saved:
            report.locator(f'a[href="{name}"]').click()
        assert saved.value.suggested_filename == name
        assert Path(saved.value.path()).stat().st_size > 1000
    report.close()


def test_the_bundle_behind_its_link_opens_offline(page: Page, browser: Browser, tmp_path: Path) -> None:
    page.goto("/assets/suites/kettle/arms_report")
    link = page.get_by_role("link", name=re.compile(r"^http.+reports\.zip$"))
    with page.expect_download() as saved:
        page.evaluate("address => { location.href = address }", link.inner_text())
    with zipfile.ZipFile(saved.value.path()) as archive:
        archive.extractall(tmp_path)
    context = browser.new_context(offline=True)
    _reads_offline(context, tmp_path)
    context.close()


def _reads_offline(context: BrowserContext, folder: Path) -> None:
    report = context.new_page()
    messages: list[str] = []
    report.on("console", lambda message: messages.append(message.text))
    report.on("pageerror", lambda error: messages.append(str(error)))
    report.goto((folder / "report.html").as_uri())
    assert "kettle" in report.title()
    assert report.locator(".plot svg:visible").count() == 2
    beside = report.evaluate("[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href')).filter(h => !h.startsWith('#'))")
    assert set(beside) == {"arms.json", "report.md", "scores.csv"}
    assert all((folder / name).is_file() for name in beside)
    assert messages == []


def _new_page(browser: Browser, server: DevServer) -> Page:
    page = browser.new_page(base_url=server.url, viewport={"width": 1660, "height": 940})
    page.set_default_timeout(UI_MILLISECONDS)
    return page


def _backfills(page: Page) -> list[dict[str, str]]:
    answer = page.request.post("/graphql", data={"query": BACKFILLS}, timeout=UI_MILLISECONDS)
    found: list[dict[str, str]] = json.loads(answer.text())["data"]["partitionBackfillsOrError"]["results"]
    return found


def _picture(page: Page, file: Path) -> None:
    page.wait_for_timeout(1500)  # the UI fades its spinners out
    page.screenshot(path=file)
    assert file.stat().st_size > 10_000
