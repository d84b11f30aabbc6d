"""`evalplatform doctor` in front of a real Postgres and a real S3 endpoint."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from evalplatform.adapters.clock import ManualClock, SystemClock
from evalplatform.cli.checkup.checks import CHECKS
from evalplatform.cli.checkup.examination import examination
from evalplatform.cli.checkup.findings import Finding, Patient
from evalplatform.project.load import Project, load_project
from evalplatform.wiring import OpenedProject
from tests.support.deployment import deployed
from tests.support.servers import PostgresServer
from tests.support.starter import starter

pytestmark = pytest.mark.system


@pytest.fixture
def project(tmp_path: Path, s3_url: str, postgres_url: str) -> Project:
    return load_project(starter(tmp_path / "project"), environ={"EVALPLATFORM_STORAGE": s3_url, "EVALPLATFORM_DATABASE": postgres_url})


def looked_at(opened: OpenedProject, *names: str) -> list[Finding]:
    checks = [check for check in CHECKS if check.name in names]
    return examination(checks, Patient(opened=opened, environ=dict(os.environ)), timeout_seconds=60)


def test_store_links_and_database_are_well_before_and_after_the_schema_is_made(project: Project) -> None:
    with OpenedProject(project) as opened:
        fresh = looked_at(opened, "storage", "download links", "database")
        assert [finding.state for finding in fresh] == ["ok", "ok", "ok"], fresh
        assert "it has no schema yet" in fresh[2].found
        opened.ledger  # noqa: B018  # makes the schema
        (made,) = looked_at(opened, "database")
        assert "takes writes; schema" in made.found
        assert list(opened.store.list("")) == []


def test_a_store_whose_clock_is_two_hours_ahead_is_warned_of(project: Project) -> None:
    behind = ManualClock(SystemClock().now() - timedelta(hours=2))
    with OpenedProject(project, clock=behind) as opened:
        (finding,) = looked_at(opened, "download links")
    assert finding.state == "warning"
    assert "s ahead of ours" in finding.found


def test_keys_that_the_store_refuses_are_a_problem_of_store_and_links(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret-of-no-value")
    with OpenedProject(project) as opened:
        found = looked_at(opened, "storage", "download links")
    assert [finding.state for finding in found] == ["problem", "problem"]
    assert "another-secret" not in str(found)


def test_an_instance_on_postgres_is_well_and_one_of_the_wrong_scheme_is_a_problem_with_its_fix(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer
) -> None:
    deployment = deployed("production/dagster.yaml", tmp_path, monkeypatch, postgres=postgres, project=project.root)
    with OpenedProject(project) as opened:
        opens, settings, partitions = looked_at(opened, "dagster")
        assert (opens.state, settings.state, partitions.state) == ("ok", "ok", "warning")
        assert opens.found.endswith("runs and events are in Postgres.")
        file = deployment.home / "dagster.yaml"
        file.write_text(file.read_text().replace("scheme: postgresql+psycopg2", "scheme: postgresql"))
        (wrong,) = looked_at(opened, "dagster")
    assert wrong.state == "problem"
    assert "scheme: postgresql+psycopg2" in (wrong.fix or "")
