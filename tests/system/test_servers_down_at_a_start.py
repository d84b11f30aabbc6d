"""A server that is down when a process starts: a step of Dagster waits for it as a running one does, the command line says so at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalplatform import wiring
from tests.support.command_line import run
from tests.support.servers import PostgresServer, S3Server
from tests.support.starter_project import SOURCES, StarterProject

pytestmark = pytest.mark.system

DOWN_SECONDS = 4
PATIENCE_SECONDS = 90.0  # of a loaded test machine: its servers take longer than those of a deployment


@pytest.fixture
def starter(tmp_path: Path) -> StarterProject:
    return StarterProject.written_to(tmp_path / "project")


@contextmanager
def down_for_a_while(stop: Callable[[], None], start: Callable[[], None]) -> Iterator[None]:
    """Stop a server for the body's first seconds."""
    stop()
    back = threading.Timer(DOWN_SECONDS, start)
    back.start()
    try:
        yield
    finally:
        back.join()


def test_a_step_that_starts_while_the_store_restarts_waits_for_it(
    starter: StarterProject, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter.edit({"storage": s3_server.new_url()})
    starter.register()
    monkeypatch.setattr(wiring, "RESTART_SECONDS", PATIENCE_SECONDS)
    with down_for_a_while(s3_server.stop_at_once, s3_server.start):
        assert starter.materialize(SOURCES, raise_on_error=False).success


def test_a_step_that_starts_while_the_database_restarts_waits_for_it(
    starter: StarterProject, postgres: PostgresServer, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter.edit({"database": postgres_url})
    starter.register()
    monkeypatch.setattr(wiring, "RESTART_SECONDS", PATIENCE_SECONDS)
    starter.materialize(SOURCES)
    with down_for_a_while(postgres.stop_at_once, postgres.start):
        assert starter.materialize(["arm_answers"], starter.cell_key, raise_on_error=False).success


def test_patience_with_a_database_that_stays_away_ends_in_its_sentence(starter: StarterProject, monkeypatch: pytest.MonkeyPatch) -> None:
    starter.edit({"database": "postgresql://nobody@127.0.0.1:1/none"})
    starter.materialize(SOURCES)
    monkeypatch.setattr(wiring, "RESTART_SECONDS", 1.0)
    failed = starter.materialize(["arm_answers"], starter.cell_key, raise_on_error=False)
    (event,) = failed.get_step_failure_events()
    assert "the database does not answer" in event.step_failure_data.error_display_string


def test_the_command_line_says_that_the_store_does_not_answer(starter: StarterProject) -> None:
    starter.edit({"storage": "s3://bucket/x?endpoint_url=http://127.0.0.1:1&region=us-east-1"})
    keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
    ran = run("assets", "list", folder=starter.folder, environment=keys)
    assert ran.code == 2
    assert "does not answer" in ran.err
