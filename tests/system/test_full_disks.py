"""Disks that are full or read-only: the run ends with the reason, nothing is damaged, and what was paid is kept."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import EVALPLATFORM, Ended, run, run_process
from tests.support.model_stub import ModelStub, running_stub
from tests.support.small_disk import grow, make_read_only, small_disk
from tests.support.stub_project import (
    CONCURRENCY,
    RUN,
    calls_of_a_run,
    calls_seen,
    committed_calls,
    stored_files_are_whole,
    write_stub_project,
)

pytestmark = pytest.mark.system

QUESTIONS = 40
CALLS = calls_of_a_run(QUESTIONS)
KEY = {"STUB_KEY": "key-of-no-value"}
GOES_ON = "What is finished is kept: once that is mended, the same command goes on from there."


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with running_stub(latency_seconds=0.01) as running:
        yield running


def assert_nothing_is_lost(stopped: Ended, folder: Path, database: Path, stub: ModelStub) -> None:
    """The run ended with a sentence; the ledger is sound and holds all but what was in flight; the next run asks only the rest."""
    assert stopped.code == 2, stopped.err
    assert "Traceback" not in stopped.err
    assert GOES_ON in stopped.err
    committed, before = committed_calls(folder), calls_seen(stub)
    assert len(committed) > 0
    assert before.total() - len(committed) <= CONCURRENCY
    connection = sqlite3.connect(database)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert stored_files_are_whole(folder)
    done = run(*RUN, folder=folder, environment=KEY)
    assert done.code == 0, done.err
    after = calls_seen(stub)
    assert sum(after[call] - before[call] for call in committed) == 0
    assert set(after) == committed_calls(folder)
    assert len(after) == CALLS


def test_a_database_that_may_grow_no_more_keeps_what_it_has(stub: ModelStub, tmp_path: Path) -> None:
    folder = write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS)
    database = folder / ".evalplatform" / "evalplatform.db"
    command = ["bash", "-c", 'ulimit -f 400; exec "$0" "$@"', EVALPLATFORM, *RUN]  # KiB, of any file that the run writes
    stopped = run_process(command, folder=folder, environment=KEY)
    assert f"error: the database {database} does not answer: " in stopped.err
    assert_nothing_is_lost(stopped, folder, database, stub)


def test_a_full_disk_under_the_database_is_said_and_nothing_is_lost(stub: ModelStub, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, kibibytes=400):
        folder = write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS, database=f"sqlite:///{disk}/calls.db")
        stopped = run(*RUN, folder=folder, environment=KEY)
        assert f"error: the database {disk}/calls.db does not answer: database or disk is full. Free some space on its disk." in stopped.err
        grow(disk, kibibytes=64_000)
        assert_nothing_is_lost(stopped, folder, disk / "calls.db", stub)


def test_a_full_disk_under_the_store_is_found_before_anything_is_paid_for(stub: ModelStub, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, kibibytes=60):
        folder = write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS, storage=str(disk))
        stopped = run(*RUN, folder=folder, environment=KEY)
        assert stopped.code == 2
        assert "No space left on device" in stopped.err
        assert stub.requests == 0


def test_a_store_whose_disk_fills_up_shows_no_half_artifact(stub: ModelStub, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, kibibytes=172):
        folder = write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS, storage=str(disk))
        stopped = run(*RUN, folder=folder, environment=KEY)
        assert "No space left on device" in stopped.err
        assert f"error: {disk.as_uri()} cannot be used" in stopped.err
        assert list((disk / ".unfinished").iterdir()) == []
        grow(disk, kibibytes=64_000)
        assert_nothing_is_lost(stopped, folder, folder / ".evalplatform" / "evalplatform.db", stub)


def test_a_read_only_store_serves_what_it_has_and_is_found_before_anything_new_is_paid_for(stub: ModelStub, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, kibibytes=64_000):
        folder = write_stub_project(tmp_path / "project", stub.url, questions=2, storage=str(disk))
        assert run(*RUN, folder=folder, environment=KEY).code == 0
        asked = stub.requests
        make_read_only(disk)
        assert run(*RUN, folder=folder, environment=KEY).code == 0
        stopped = run(*RUN, "--seed", "8", folder=folder, environment=KEY)
    assert stopped.code == 2
    assert "Read-only file system" in stopped.err
    assert stub.requests == asked


def test_a_read_only_database_is_found_before_anything_is_paid_for(stub: ModelStub, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, kibibytes=64_000):
        folder = write_stub_project(tmp_path / "project", stub.url, questions=2, database=f"sqlite:///{disk}/calls.db")
        assert run(*RUN, folder=folder, environment=KEY).code == 0
        asked = stub.requests
        make_read_only(disk)
        stopped = run(*RUN, "--seed", "8", folder=folder, environment=KEY)
    assert stopped.code == 2
    assert f"{disk}/calls.db" in stopped.err
    assert "Traceback" not in stopped.err
    assert GOES_ON in stopped.err
    assert stub.requests == asked
