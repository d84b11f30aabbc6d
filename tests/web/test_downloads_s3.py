"""The web app over a real S3 store: links signed at the moment of a click, pages from the app, and a store that goes away."""

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from evalplatform.artifacts.download_paths import FileAddress
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.project.load import load_project
from evalplatform.wiring import OpenedProject
from tests.support.command_line import run
from tests.support.servers import S3_SECRET_ACCESS_KEY, S3Server
from tests.support.starter import starter
from tests.support.web_server import WebServer, fetch, running_web_server

pytestmark = pytest.mark.system

LINK_SECONDS = 3


class Served:
    """A starter project whose artifacts lie in S3, and the server on it."""

    def __init__(self, project_file: Path, storage: str, server: WebServer) -> None:
        self.folder = project_file.parent
        self.server = server
        self.opened = OpenedProject(load_project(project_file, environ={"EVALPLATFORM_STORAGE": storage}))

    def manifest(self, asset: str) -> ArtifactManifest:
        found = self.opened.catalog.current(next(iter(self.opened.catalog.list(suite="kettle", asset=asset))))
        assert found is not None
        return found

    def path(self, asset: str, file: str) -> str:
        return FileAddress(artifact=self.manifest(asset).artifact, file=file).path


@pytest.fixture(scope="module")
def served(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    project_file, storage = starter(tmp_path_factory.mktemp("served") / "project"), s3_server.new_url()
    environment = {"EVALPLATFORM_STORAGE": storage, "EVALPLATFORM_DOWNLOAD_LINK_SECONDS": str(LINK_SECONDS)}
    ran = run("arms", "run", "--suite", "kettle", "--judge", folder=project_file.parent, environment=environment)
    assert ran.code == 0, ran.err
    with running_web_server(project_file.parent, environment=environment) as server:
        yield Served(project_file, storage, server)


def test_a_click_gets_a_link_that_any_client_can_follow_until_it_expires(served: Served, s3_server: S3Server) -> None:
    path = served.path("judged_scores", "scores.parquet")
    answer = served.server.get(path)
    clicked_at = time.monotonic()
    assert (answer.status, answer.headers["Cache-Control"]) == (307, "no-store")
    link = answer.headers["Location"]
    assert link.startswith(s3_server.endpoint_url)
    signed = parse_qs(urlsplit(link).query)
    assert signed["X-Amz-Expires"] == [str(LINK_SECONDS)]
    assert S3_SECRET_ACCESS_KEY not in link
    got = fetch(link)
    assert (got.status, got.headers["Content-Disposition"]) == (200, 'attachment; filename="scores.parquet"')
    assert f"sha256:{hashlib.sha256(got.body).hexdigest()}" == served.manifest("judged_scores").files["scores.parquet"].digest
    time.sleep(max(0.0, clicked_at + LINK_SECONDS + 1.5 - time.monotonic()))
    assert fetch(link).status == 403
    assert fetch(served.server.get(path).headers["Location"]).status == 200  # the stable address goes on working


def test_a_link_opens_its_own_file_alone(served: Served) -> None:
    link = served.server.get(served.path("arms_report", "arms.json")).headers["Location"]
    assert fetch(link).status == 200
    assert fetch(link.replace("arms.json", "scores.csv")).status == 403
    assert fetch(link.partition("?")[0]).status == 403


def test_pages_and_bundles_come_from_the_app_with_their_policy(served: Served) -> None:
    manifest = served.manifest("arms_report")
    pinned = FileAddress(artifact=manifest.artifact, file="report.html", version=manifest.data_version).path
    assert served.server.get(served.path("arms_report", "report.html")).headers["Location"] == pinned
    page = served.server.get(pinned)
    assert page.status == 200
    assert page.headers["Content-Security-Policy"].startswith("sandbox")
    assert f"sha256:{hashlib.sha256(page.body).hexdigest()}" == manifest.files["report.html"].digest
    assert served.server.get(f"/download/kettle/{manifest.artifact.partition}/reports.zip").body.startswith(b"PK")


@pytest.mark.parametrize("file", ["report.html", "report.md"])
def test_a_page_that_is_saved_comes_from_the_app_too(served: Served, file: str) -> None:
    saved = served.server.get(served.path("arms_report", file) + "?download=1")
    assert (saved.status, saved.headers["Content-Disposition"]) == (200, f'attachment; filename="{file}"')
    assert saved.headers["Content-Security-Policy"].startswith("sandbox")
    assert f"sha256:{hashlib.sha256(saved.body).hexdigest()}" == served.manifest("arms_report").files[file].digest


def test_head_and_known_bytes_are_answered_without_a_link(served: Served) -> None:
    path = served.path("judged_scores", "scores.parquet")
    head = served.server.get(path, method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["Content-Length"]) == served.manifest("judged_scores").files["scores.parquet"].size_bytes
    assert served.server.get(path, if_none_match=head.headers["ETag"]).status == 304


def test_a_store_that_is_down_is_said_and_the_app_goes_on_once_it_is_back(served: Served, s3_server: S3Server) -> None:
    paths = ("/", served.path("arms_report", "scores.csv"), served.path("arms_report", "report.html"), "/suites/kettle/arms_report")
    address = urlsplit(s3_server.endpoint_url).netloc
    s3_server.stop_at_once()
    try:
        for path in paths:
            answer = served.server.get(path)
            assert (answer.status, answer.headers["Retry-After"]) == (503, "10")
            assert "does not answer" in answer.json["error"]
            assert address not in answer.text  # what is inside the network is in the log alone
        page = served.server.get("/", accept="text/html")
        assert page.status == 503
        assert "does not answer" in page.text
        assert address not in page.text
        assert served.server.get("/healthz").status == 200
    finally:
        s3_server.start()
    assert {served.server.get(path).status for path in paths} <= {200, 307}
