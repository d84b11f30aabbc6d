"""`evalplatform demo` on a real Postgres and a real S3 endpoint, and its reports fetched through the web app."""

import hashlib
import re
import shlex
from pathlib import Path

import pytest

from evalplatform.artifacts.download_paths import FileAddress
from evalplatform.cli.starter import EXAMPLE
from evalplatform.project.load import PROJECT_FILE_NAME, load_project
from evalplatform.wiring import OpenedProject
from tests.support.command_line import run
from tests.support.servers import S3Server
from tests.support.web_server import fetch, running_web_server

pytestmark = pytest.mark.system

NOTHING_ASKED = "cost: 0 model calls; nothing changed since the last run"


def test_the_demo_runs_on_servers_asks_nothing_twice_and_its_reports_are_downloaded_from_there(
    tmp_path: Path, postgres_url: str, s3_server: S3Server
) -> None:
    environment = {"EVALPLATFORM_STORAGE": s3_server.new_url(), "EVALPLATFORM_DATABASE": postgres_url}
    first, second = (run("demo", "demo", folder=tmp_path, environment=environment, within_seconds=300) for _ in range(2))
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert NOTHING_ASKED not in first.out
    assert NOTHING_ASKED in second.out
    shown = re.findall("^report: evalplatform (.+)$", first.out, re.MULTILINE)
    assert run(*shlex.split(shown[0]), folder=tmp_path, environment=environment).code == 0
    folder = tmp_path / "demo" / EXAMPLE
    assert [path.name for path in (folder / ".evalplatform").iterdir()] == ["dagster"]

    with (
        OpenedProject(load_project(folder / PROJECT_FILE_NAME, environ=environment)) as opened,
        running_web_server(folder, environment=environment) as server,
    ):
        reports = [opened.catalog.current(artifact) for artifact in opened.catalog.list(asset="arms_report")]
        assert len(reports) == len(shown)
        for report in reports:
            assert report is not None
            for name, file in report.files.items():
                answer = server.get(FileAddress(artifact=report.artifact, file=name, version=report.data_version).path)
                if not name.endswith((".html", ".md")):
                    assert answer.status == 307
                    assert answer.headers["Location"].startswith(s3_server.endpoint_url)
                    answer = fetch(answer.headers["Location"])
                assert answer.status == 200
                assert f"sha256:{hashlib.sha256(answer.body).hexdigest()}" == file.digest
