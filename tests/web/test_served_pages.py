"""Pages of the web app in a real browser: what is stored is shown, and nothing that a model wrote does anything."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from evalplatform.artifacts.records import ArtifactId
from evalplatform.project.load import PROJECT_FILE_NAME, load_project
from evalplatform.wiring import OpenedProject
from tests.support.browser import running_chromium
from tests.support.starter import starter
from tests.support.web_server import WebServer, running_web_server

pytestmark = [pytest.mark.browser, pytest.mark.system]

ARTIFACT = ArtifactId(suite="kettle", asset="arms_report", partition="reader-1/facts-1")
HOSTILE = b"""<!DOCTYPE html><title>shown</title><body onload="document.title='run'"><h1>A page</h1>
<script>document.title = 'run'</script><img src="/healthz?img"><img src=x onerror="document.title='run'">
<form action="/healthz"><button>send</button></form><iframe src="/"></iframe>
<a href="javascript:document.title='run'">link</a>"""
FILES = {
    "page.html": HOSTILE,
    "picture.svg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=1"><script>document.title=1</script></svg>',
    "notes.md": "# Notes\n\n<script>document.title = 'run'</script> ünicode".encode(),
    "data.csv": b"a,b\n",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    folder: Path = starter(tmp_path_factory.mktemp("served") / "project").parent
    opened = OpenedProject(load_project(folder / PROJECT_FILE_NAME, environ={}))
    opened.catalog.write(ARTIFACT, data_version="v1", code_version="1", created_at=datetime(2026, 1, 2, tzinfo=UTC), files=FILES)
    with running_web_server(folder) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, server: WebServer) -> Iterator[Page]:
    page = browser.new_page(base_url=server.url, viewport={"width": 1280, "height": 800})
    yield page
    page.close()


def path_of(file: str) -> str:
    return f"/download/{ARTIFACT.path}/{file}"


def test_a_stored_page_is_shown_and_can_do_nothing(page: Page, server: WebServer) -> None:
    answered: list[str] = []  # what the policy stops is told as a request too, but gets no answer
    page.on("response", lambda response: answered.append(response.url.removeprefix(server.url)))
    page.goto(path_of("page.html"))
    page.get_by_role("heading", name="A page").wait_for()
    page.get_by_role("link", name="link").click()
    page.get_by_role("button", name="send").click()
    page.wait_for_timeout(300)
    assert page.title() == "shown"
    assert answered == [path_of("page.html"), path_of("@v1/page.html")]
    assert page.evaluate("self.origin") == "null"  # of no origin: it could not reach the app in a reader's name


def test_a_stored_picture_runs_no_script(page: Page) -> None:
    page.goto(path_of("picture.svg"))
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.tagName") == "svg"
    assert page.evaluate("document.title") == ""


def test_markdown_is_shown_as_the_text_it_is(page: Page) -> None:
    page.goto(path_of("notes.md"))
    assert page.locator("body").inner_text().startswith("# Notes")
    assert "<script>document.title = 'run'</script> ünicode" in page.locator("body").inner_text()


def test_data_is_saved(page: Page) -> None:
    page.goto("/")
    with page.expect_download() as saved:
        page.get_by_role("link", name="data.csv").click()
    assert Path(saved.value.path()).read_bytes() == FILES["data.csv"]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_listing_is_styled_breaks_no_policy_and_does_not_scroll_sideways(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto("/")
    assert page.get_by_role("heading", level=1).inner_text() == "Reports and downloads"
    assert page.get_by_text("retired", exact=True).is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).overflowX") == "auto"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("link", name="arms_report").click()
    page.get_by_role("heading", name="kettle / arms_report").wait_for()
    page.goto("/nothing/here")
    assert page.get_by_text("Nothing is at /nothing/here.").is_visible()
    assert [text for text in messages if "404" not in text] == []
