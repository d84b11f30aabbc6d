"""The web app over a local store: every stored file by a stable address, and nothing else."""

import base64
import hashlib
import io
import json
import re
import signal
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from evalplatform.artifacts.download_paths import FileAddress
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.project.load import PROJECT_FILE_NAME, load_project
from evalplatform.wiring import OpenedProject
from tests.support.command_line import run
from tests.support.starter import edited, starter
from tests.support.web_server import WebServer, running_web_server

pytestmark = pytest.mark.system

LINK = re.compile(r'href="(/[^"]+)"')
HTML = "text/html,application/xhtml+xml"


@dataclass(frozen=True)
class Served:
    """A starter project that was run once, and the server on it."""

    folder: Path
    server: WebServer

    def stored(self, asset: str) -> tuple[OpenedProject, ArtifactManifest]:
        opened = OpenedProject(load_project(self.folder / PROJECT_FILE_NAME, environ={}))
        artifact = next(iter(opened.catalog.list(asset=asset)))
        manifest = opened.catalog.current(artifact)
        assert manifest is not None
        return opened, manifest

    def path(self, asset: str, file: str, version: str | None = None) -> str:
        return FileAddress(artifact=self.stored(asset)[1].artifact, file=file, version=version).path


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with _serving(tmp_path_factory.mktemp("served")) as served:
        yield served


@pytest.fixture
def served_apart(tmp_path: Path) -> Iterator[Served]:
    """For tests that change what is stored."""
    with _serving(tmp_path) as served:
        yield served


@contextmanager
def _serving(folder: Path) -> Iterator[Served]:
    project = starter(folder / "project").parent
    ran = run("arms", "run", "--suite", "kettle", "--judge", folder=project)
    assert ran.code == 0, ran.err
    with running_web_server(project) as server:
        yield Served(project, server)


def test_every_link_of_the_pages_leads_to_the_stored_bytes(served: Served) -> None:
    home = served.server.get("/").text
    pages = {link for link in LINK.findall(home) if link.startswith("/suites/")}
    assert {link.rpartition("/")[2] for link in pages} >= {"question_set", "corpus", "arm_answers", "judged_scores", "arms_report"}
    links = {link for text in (home, *(served.server.get(page).text for page in pages)) for link in LINK.findall(text)}
    files = {link for link in links if link.startswith("/download/") and not link.endswith("reports.zip")}
    opened, _ = served.stored("corpus")
    manifests = [manifest for artifact in opened.catalog.list() if (manifest := opened.catalog.current(artifact)) is not None]
    assert files == {FileAddress(artifact=manifest.artifact, file=name).path for manifest in manifests for name in manifest.files}
    for manifest in manifests:
        for name, file in manifest.files.items():
            address = FileAddress(artifact=manifest.artifact, file=name, version=manifest.data_version)
            answer = served.server.get(address.path)
            assert (answer.status, answer.headers["Content-Type"]) == (200, file.media_type)
            assert f"sha256:{hashlib.sha256(answer.body).hexdigest()}" == file.digest
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_page_is_shown_at_the_address_of_its_version_so_that_its_links_stay_with_it(served: Served) -> None:
    _, manifest = served.stored("arms_report")
    answer = served.server.get(served.path("arms_report", "report.html"))
    assert answer.status == 307
    pinned = served.path("arms_report", "report.html", manifest.data_version)
    assert answer.headers["Location"] == pinned
    page = served.server.get(pinned)
    assert page.headers["Content-Disposition"] == 'inline; filename="report.html"'
    assert "immutable" in page.headers["Cache-Control"]
    folder = pinned.removesuffix("report.html")
    beside = re.findall(r'href="([a-z.]+)" download', page.text)
    assert set(beside) == {"arms.json", "report.md", "scores.csv"}
    assert {served.server.get(folder + name).status for name in beside} == {200}


def test_stored_pages_may_run_no_script_and_reach_nothing(served: Served) -> None:
    _, manifest = served.stored("arms_report")
    policy = served.server.get(served.path("arms_report", "report.html", manifest.data_version)).headers["Content-Security-Policy"]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert rules["default-src"] == ["'none'"]
    assert "script-src" not in rules
    assert rules["sandbox"] == ["allow-downloads"]


def test_download_saves_what_a_browser_would_show(served: Served) -> None:
    answer = served.server.get(served.path("arms_report", "report.html") + "?download=1")
    assert (answer.status, answer.headers["Content-Disposition"]) == (200, 'attachment; filename="report.html"')
    assert served.server.get(served.path("arms_report", "report.html") + "?download=perhaps").status == 400


def test_a_client_that_has_the_bytes_gets_none_and_head_tells_without_reading(served: Served) -> None:
    path = served.path("judged_scores", "scores.parquet")
    full = served.server.get(path)
    digest = hashlib.sha256(full.body).digest()
    assert full.headers["ETag"] == f'"sha256:{digest.hex()}"'
    assert full.headers["Repr-Digest"] == f"sha-256=:{base64.b64encode(digest).decode()}:"
    for known in (full.headers["ETag"], f'"other", W/{full.headers["ETag"]}', "*"):
        again = served.server.get(path, if_none_match=known)
        assert (again.status, again.body) == (304, b"")
    assert served.server.get(path, if_none_match='"other"').status == 200
    head = served.server.get(path, method="HEAD")
    assert (head.status, head.body) == (200, b"")
    for name in ("ETag", "Content-Length", "Content-Type", "Content-Disposition"):
        assert head.headers[name] == full.headers[name]


def test_the_bundle_holds_the_reports_and_checks_out(served: Served) -> None:
    _, manifest = served.stored("arms_report")
    path = f"/download/kettle/{manifest.artifact.partition}/reports.zip"
    answer = served.server.get(path)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/zip")
    assert answer.body == served.server.get(path.replace("reports.zip", f"@{manifest.data_version}/reports.zip")).body
    assert re.fullmatch(r'"bundle-[0-9a-f]{64}"', answer.headers["ETag"])  # no digest of the bytes, and not to be taken for one
    assert "Repr-Digest" not in answer.headers
    assert served.server.get(path, if_none_match=answer.headers["ETag"]).status == 304
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        assert {"report.html", "report.md", "arms.json", "scores.csv", "manifest.json", "README.txt", "SHA256SUMS"} <= set(
            archive.namelist()
        )
        for line in archive.read("SHA256SUMS").decode().splitlines():
            digest, _, name = line.partition("  ")
            assert hashlib.sha256(archive.read(name)).hexdigest() == digest
        described = json.loads(archive.read("manifest.json"))["artifacts"][0]
    assert described["data_version"] == manifest.data_version
    assert {upstream["artifact"]["asset"] for upstream in described["lineage"]} >= {"question_set", "arm_answers", "judged_scores"}


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("ketle/{partition}/reports.zip", 404, "kettle"),
        ("ketle/arms_report/{partition}/report.html", 404, "kettle"),
        ("kettle/arms_reprot/{partition}/report.html", 404, "arms_report"),
        ("kettle/arms_report/{partition}x/report.html", 404, "{partition}"),
        ("kettle/arms_report/{partition}/reprot.html", 404, "report.html"),
        ("kettle/arms_report/{partition}/@{version}0/report.html", 404, "{version}"),
        ("kettle/arms_report/{partition}/report.html?version={version}0", 404, "{version}"),
        ("Kettle/arms_report/{partition}/report.html", 404, "kettle"),
        ("kettle/report.html", 404, None),
        ("kettle", 404, None),
        ("", 404, None),
        ("kettle/arms_report/{partition}/manifest.json", 404, None),
    ],
)
def test_an_address_of_nothing_is_told_the_nearest_there_is(served: Served, address: str, status: int, said: str | None) -> None:
    _, manifest = served.stored("arms_report")
    names = {"partition": manifest.artifact.partition, "version": manifest.data_version}
    path = "/download/" + address.format(**names)
    answer = served.server.get(path)
    assert (answer.status, answer.headers["Content-Type"]) == (status, "application/json")
    assert answer.json["nearest"] == (None if said is None else said.format(**names))
    page = served.server.get(path, accept=HTML)
    assert (page.status, page.headers["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert said is None or said.format(**names) in page.text


@pytest.mark.parametrize(("path", "nearest"), [("/suites/ketle/arms_report", "kettle"), ("/suites/kettle/arms_reprot", "arms_report")])
def test_a_listing_of_nothing_is_told_the_nearest_there_is(served: Served, path: str, nearest: str) -> None:
    answer = served.server.get(path)
    assert (answer.status, answer.json["nearest"]) == (404, nearest)


@pytest.mark.parametrize(
    "path",
    [
        "/download/../../evalplatform.yaml",
        "/download/kettle/arms_report/../../../../../evalplatform.yaml",
        "/download/kettle/arms_report/%2e%2e/%2e%2e/%2e%2e/evalplatform.yaml",
        "/download/kettle/arms_report/..%2f..%2f..%2fevalplatform.yaml",
        "/download/kettle/arms_report/x/..%5c..%5cevalplatform.yaml",
        "/download//etc/passwd/x/y",
        "/download/kettle/arms_report/x/@..%2f..%2f/evalplatform.yaml",
        "/download/kettle/arms_report/x/report.html?version=../../..",
        "/download/kettle/arms_report/x/report.html%00",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/suites/..%2f..%2f/x",
        "/suites/kettle/..",
        "/suites/../../evalplatform.yaml",
    ],
)
def test_no_address_leads_out_of_the_store(served: Served, path: str) -> None:
    answer = served.server.get(path)
    assert answer.status == 404
    for secret in (b"version: 1", b"root:", b"build_app", b"Traceback"):
        assert secret not in answer.body


def test_many_readers_at_once_each_get_the_whole_file(served: Served) -> None:
    paths = [served.path("judged_scores", "scores.parquet"), served.path("arm_answers", "answers.parquet"), "/"] * 12
    alone = {path: served.server.get(path).body for path in set(paths)}
    with ThreadPoolExecutor(max_workers=24) as readers:
        bodies = list(readers.map(lambda path: served.server.get(path).body, paths))
    assert bodies == [alone[path] for path in paths]


def test_damaged_bytes_are_never_sent(served_apart: Served) -> None:
    opened, manifest = served_apart.stored("arms_report")
    (stored,) = (served_apart.folder / ".evalplatform/store/artifacts/kettle/arms_report").rglob("scores.csv")
    stored.write_bytes(b"tampered" + stored.read_bytes())
    for path in (served_apart.path("arms_report", "scores.csv"), f"/download/kettle/{manifest.artifact.partition}/reports.zip"):
        answer = served_apart.server.get(path)
        assert (answer.status, answer.headers["Content-Type"]) == (502, "application/json")
        assert "was written as sha256:" in answer.json["error"]
        assert b"tampered" not in answer.body
        assert str(served_apart.folder) not in answer.text
    stored.unlink()
    assert served_apart.server.get(served_apart.path("arms_report", "scores.csv")).status == 502
    assert opened.catalog.current(manifest.artifact) == manifest
    (served_apart.folder / ".evalplatform/store/artifacts").rename(served_apart.folder / "elsewhere")
    home = served_apart.server.get("/")
    assert home.status == 200
    assert "damaged" in home.text
    assert str(served_apart.folder) not in home.text


def test_an_edited_project_shows_old_partitions_as_retired_and_keeps_their_files(served_apart: Served) -> None:
    project_file = served_apart.folder / PROJECT_FILE_NAME
    path = served_apart.path("arms_report", "scores.csv")
    assert ">current<" in served_apart.server.get("/").text
    edited(project_file, ("max_tokens: 120", "max_tokens: 121"))
    home = served_apart.server.get("/").text
    assert ">retired<" in home
    assert ">current<" not in home
    assert served_apart.server.get(path).status == 200
    project_file.write_text("version: [")
    home = served_apart.server.get("/")
    assert home.status == 200
    assert "The project file cannot be read" in home.text


def test_a_hostile_name_in_an_address_is_text_on_the_page(served: Served) -> None:
    page = served.server.get("/%3Cscript%3Ealert(1)%3C/script%3E", accept=HTML)
    assert page.status == 404
    assert "<script>" not in page.text
    assert "&lt;script&gt;" in page.text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_well_when_told_to(tmp_path: Path, number: signal.Signals) -> None:
    project = starter(tmp_path / "project").parent
    with running_web_server(project) as server:
        server.process.send_signal(number)
        _, err = server.process.communicate(timeout=30)
        assert server.process.returncode == 0
        assert "Traceback" not in err
        assert "error" not in err


def test_a_taken_port_is_named(served: Served) -> None:
    port = served.server.url.rpartition(":")[2]
    ran = run("serve", "--port", port, folder=served.folder)
    assert ran.code == 2
    assert f"port {port} of 127.0.0.1 is taken" in ran.err
