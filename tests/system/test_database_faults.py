"""Databases that fail in the middle of a run: it goes on where it can, says why where it cannot, and what was paid is kept."""

import json
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.command_line import Ended, ended, run, started, wait_until
from tests.support.model_stub import ModelStub, running_stub
from tests.support.servers import PostgresServer
from tests.support.stub_project import (
    RUN,
    calls_of_a_run,
    calls_seen,
    committed_calls,
    stored_files_are_whole,
    write_stub_project,
)

pytestmark = pytest.mark.system

QUESTIONS = 20
CALLS = calls_of_a_run(QUESTIONS)
KEY = {"STUB_KEY": "key-of-no-value"}


@dataclass(frozen=True)
class Running:
    """A project whose models answer slowly enough for something to happen in between."""

    folder: Path
    stub: ModelStub

    @property
    def database(self) -> Path:
        return self.folder / ".evalplatform" / "evalplatform.db"

    def started(self) -> "AbstractContextManager[subprocess.Popen[str]]":
        return started(*RUN, folder=self.folder, environment=KEY)

    def run(self, *more: str) -> Ended:
        return run(*RUN, *more, folder=self.folder, environment=KEY)


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with running_stub(latency_seconds=0.3) as running:
        yield running


@pytest.fixture
def on_sqlite(stub: ModelStub, tmp_path: Path) -> Running:
    return Running(write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS), stub)


def test_a_postgres_that_is_restarted_midway_is_waited_for_and_nothing_is_asked_twice(
    stub: ModelStub, tmp_path: Path, postgres: PostgresServer, postgres_url: str
) -> None:
    project = Running(write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS, database=postgres_url), stub)
    with project.started() as process:
        for calls in (20, 60):  # while answers are asked for, and while they are graded
            wait_until(lambda calls=calls: stub.requests >= calls, f"{calls} calls")  # type: ignore[misc]
            postgres.stop_at_once()
            time.sleep(1)
            postgres.start()
        done = ended(process)
    assert done.code == 0, done.err
    assert set(calls_seen(stub).values()) == {1}
    assert stub.requests == CALLS
    assert committed_calls(project.folder) == set(calls_seen(stub))
    assert json.loads(project.run("--json").out)["unchanged"]


def test_a_sqlite_that_another_process_writes_to_is_waited_for(on_sqlite: Running) -> None:
    with on_sqlite.started() as process:
        wait_until(lambda: on_sqlite.stub.requests >= 20, "20 calls")
        other = sqlite3.connect(on_sqlite.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        time.sleep(2)
        other.execute("ROLLBACK")
        other.close()
        done = ended(process)
    assert done.code == 0, done.err
    assert set(calls_seen(on_sqlite.stub).values()) == {1}
    assert on_sqlite.stub.requests == CALLS


def test_a_sqlite_file_that_is_removed_midway_ends_the_run_with_what_to_do(on_sqlite: Running) -> None:
    with on_sqlite.started() as process:
        wait_until(lambda: on_sqlite.stub.requests >= 20, "20 calls")
        kept = on_sqlite.database.with_name("kept.db")
        with sqlite3.connect(on_sqlite.database) as source, sqlite3.connect(kept) as target:
            source.backup(target)
        source.close()
        target.close()
        for file in on_sqlite.database.parent.glob("evalplatform.db*"):
            if file.is_file():
                file.unlink()
        stopped = ended(process)
    assert stopped.code == 2
    assert "evalplatform.db was removed or replaced while it was in use; nothing more is recorded." in stopped.err
    assert "Traceback" not in stopped.err
    asked = on_sqlite.stub.requests
    assert asked < CALLS, "it went on asking"
    kept.rename(on_sqlite.database)
    committed, before = committed_calls(on_sqlite.folder), calls_seen(on_sqlite.stub)
    assert committed
    done = on_sqlite.run()
    assert done.code == 0, done.err
    after = calls_seen(on_sqlite.stub)
    assert sum(after[call] - before[call] for call in committed) == 0
    assert stored_files_are_whole(on_sqlite.folder)
