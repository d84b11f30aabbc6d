"""The Dagster UI on the starter project, as a person uses it: look at the graph, launch one partition, read what came out."""

import json
import signal
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.support.browser import running_chromium
from tests.support.dev_server import DevServer, running_dev_server
from tests.support.starter_project import StarterProject

pytestmark = [pytest.mark.browser, pytest.mark.system, pytest.mark.timeout(600)]

RUN_SECONDS = 150
UI_MILLISECONDS = 60_000
GROUP = "/locations/evalplatform.definitions/asset-groups/kettle"
JOBS = "/locations/evalplatform.definitions/jobs"
RUNS = "{runsOrError{... on Runs{results{id status}}}}"
ASSETS = ("question_set", "corpus", "arm_answers", "judged_scores", "arm_summary", "arms_report")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> StarterProject:
    starter = StarterProject.written_to(tmp_path_factory.mktemp("ui") / "project")
    package = starter.folder / "assets"  # a name that a project may well use; it must not hide the platform's own package
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('the assets package of the project was imported')")
    return starter


@pytest.fixture(scope="module")
def files_before(starter: StarterProject) -> list[str]:
    return _files_outside_state(starter)


@pytest.fixture(scope="module")
def server(
    browser: Browser, starter: StarterProject, files_before: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevServer]:
    """Runs from a folder below the project; asks for the browser first, so that nothing starts without one."""
    apart = tmp_path_factory.mktemp("dev")
    (apart / "home").mkdir()
    with running_dev_server(starter.folder / "docs", log=apart / "log", home=apart / "home") as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: DevServer) -> Iterator[Page]:
    page = browser.new_page(base_url=server.url, viewport={"width": 1900, "height": 900})
    page.set_default_timeout(UI_MILLISECONDS)
    yield page
    page.close()


def test_a_person_takes_one_partition_from_questions_to_the_report(page: Page, starter: StarterProject) -> None:
    page.goto(GROUP)
    for name in ASSETS:
        page.get_by_text(name, exact=True).first.wait_for()

    _launch_job(page, "kettle__evaluate_cell", [starter.cell_key])
    _launch_job(page, "kettle__judge_cells", list(starter.score_key.keys_by_dimension.values()))

    page.goto("/assets/suites/kettle/arm_answers?view=partitions")
    page.get_by_text(starter.cell_key).first.click()
    page.get_by_text("Materialized", exact=True).wait_for()
    assert "states" in page.locator("body").inner_text()
    page.get_by_role("cell", name="profile:plain-speaker").first.wait_for()  # the preview, as a table

    page.goto("/assets/suites/kettle/arms_report")
    page.get_by_role("columnheader", name="Delta [95% CI]").wait_for()
    row = page.get_by_role("row").filter(has=page.get_by_role("cell", name="docs+skill:use-kettle", exact=True)).last
    assert "100.0 [100.0, 100.0]" in row.inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "docs scores higher than baseline" in page.locator("body").inner_text()


def test_a_retired_partition_fails_in_the_ui_with_its_sentence(page: Page, starter: StarterProject) -> None:
    retired = starter.cell_key
    starter.edit({"cells.reader.sampling.max_tokens": 30})
    run = _launch_job(page, "kettle__evaluate_cell", [retired], status="FAILURE")
    page.goto(f"/runs/{run}")
    page.get_by_text("No cell of the project file has the key").first.wait_for()


def test_sigterm_ends_it_also_in_the_background_of_a_script(server: DevServer) -> None:
    assert server.end(signal.SIGTERM) == "exit 0"
    assert "Dagster services shut down." in server.log.read_text()


def test_nothing_was_written_outside_the_projects_state(server: DevServer, starter: StarterProject, files_before: list[str]) -> None:
    assert _files_outside_state(starter) == files_before
    assert list((server.log.parent / "home").iterdir()) == []


def _files_outside_state(starter: StarterProject) -> list[str]:
    paths = (path.relative_to(starter.folder) for path in starter.folder.rglob("*"))
    return sorted(path.as_posix() for path in paths if path.parts[0] != starter.project.state_folder.name)


def _launch_job(page: Page, job: str, keys: list[str], *, status: str = "SUCCESS") -> str:
    """Choose one partition in the job's launch dialog, launch it, wait for its end, and return the run's id."""
    before = len(_runs(page))
    page.goto(f"{JOBS}/{job}")
    page.get_by_role("button", name="Materialize all").click()
    for key in keys:
        page.get_by_text("Select a partition or create one").first.click()
        page.locator("li").filter(has_text=key).last.click()
        page.keyboard.press("Escape")
        page.get_by_text("Select all").wait_for(state="hidden")
    page.get_by_role("button", name="Launch 1 run").click()
    give_up_at = time.monotonic() + RUN_SECONDS
    while len(runs := _runs(page)) == before or runs[0]["status"] not in ("SUCCESS", "FAILURE", "CANCELED"):
        assert time.monotonic() < give_up_at, runs
        page.wait_for_timeout(500)
    assert runs[0]["status"] == status
    return runs[0]["id"]


def _runs(page: Page) -> list[dict[str, str]]:
    """Return all runs, the newest first."""
    answer = page.request.post("/graphql", data={"query": RUNS}, timeout=UI_MILLISECONDS)
    runs: list[dict[str, str]] = json.loads(answer.text())["data"]["runsOrError"]["results"]
    return runs
