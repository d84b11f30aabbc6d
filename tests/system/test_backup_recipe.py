"""docs/backup.md, command by command: what is restored elsewhere asks nothing, and gives the same files."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest

from tests.support.command_line import Ended, run, run_process
from tests.support.model_stub import ModelStub, running_stub
from tests.support.requirements import need
from tests.support.servers import S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, PostgresServer, S3Server
from tests.support.stub_project import RUN, ledger_rows, write_stub_project

pytestmark = pytest.mark.system

DOCS = Path(__file__).parents[2] / "docs" / "backup.md"
KEY = {"STUB_KEY": "key-of-no-value"}
QUESTIONS = 3


def block(name: str) -> str:
    """The commands of one block of the page."""
    (commands,) = re.findall(rf"^```sh {name}\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return f"set -eu\n{commands}"


def follow(name: str, folder: Path, variables: Mapping[str, str]) -> Ended:
    """Run the commands of a block; each has to succeed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), variables.get("PATH", os.environ["PATH"])])
    done = run_process(["sh", "-c", block(name)], folder=folder, environment=KEY | dict(variables) | {"PATH": path})
    assert done.code == 0, done.err
    return done


@dataclass(frozen=True)
class Original:
    """A project that has run, the stub that its models are, and the files that it gives."""

    folder: Path
    stub: ModelStub

    def downloads(self, to: str) -> dict[str, bytes]:
        assert run("assets", "download", "--out", to, folder=self.folder).code == 0
        return files_below(self.folder / to)


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with running_stub() as running:
        yield running


def checked_out(original: Path, to: Path) -> Path:
    """The project's own files, as version control would bring them."""
    shutil.copytree(original, to, ignore=shutil.ignore_patterns(".evalplatform", "results", "downloads", "original"))
    return to


def assert_same_and_free(original: Original, restored: Path, variables: Mapping[str, str]) -> None:
    """The restored project runs without a call, while its models do not even answer, and gives the very same files."""
    expected = original.downloads("original")
    asked = original.stub.requests
    original.stub.fail_after = 0
    verified = follow("verify", restored, {**variables, "SUITE": "kettle", "DOWNLOADS": "downloads"})
    assert "0 model calls" in verified.err
    assert original.stub.requests == asked
    assert files_below(restored / "downloads") == expected
    assert len(expected) > 10


def test_a_project_on_sqlite_and_a_folder_is_restored_elsewhere(stub: ModelStub, tmp_path: Path) -> None:
    need(shutil.which("sqlite3") is not None, "sqlite3")
    folder = write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS)
    assert run(*RUN, folder=folder, environment=KEY).code == 0
    (folder / ".evalplatform" / "dagster").mkdir()
    (folder / ".evalplatform" / "dagster" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    variables = {"PROJECT": str(folder), "BACKUP": str(tmp_path / "backup"), "RESTORED": str(tmp_path / "restored")}
    with rows_in_the_write_ahead_log(folder):
        backed_up = follow("backup-local", tmp_path, variables)
    assert backed_up.out.strip() == "ok"
    restored = checked_out(folder, tmp_path / "restored")
    follow("restore-local", tmp_path, variables)
    assert (restored / ".evalplatform" / "dagster" / "dagster.yaml").is_file()
    assert ledger_rows(restored) == ledger_rows(folder)
    assert_same_and_free(Original(folder, stub), restored, {})


@contextmanager
def rows_in_the_write_ahead_log(folder: Path) -> Iterator[None]:
    """Keep the database open after a change, so that its newest rows are in the write-ahead log and not in the file."""
    database = folder / ".evalplatform" / "evalplatform.db"
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("UPDATE calls SET latency_seconds = latency_seconds + 1")
    assert database.with_name(f"{database.name}-wal").stat().st_size > 0
    yield
    connection.close()


@pytest.mark.parametrize("shared", [False, True], ids=["databases of their own", "one shared database"])
def test_a_project_on_postgres_and_a_bucket_is_restored_elsewhere(
    stub: ModelStub, tmp_path: Path, postgres: PostgresServer, s3_server: S3Server, shared: bool
) -> None:
    need(shutil.which("aws") is not None, "the aws command line")
    first, second = [(*_databases(postgres, shared=shared), s3_server.new_url()) for _ in range(2)]
    _run_rows(first[1], "CREATE TABLE runs (id integer)", "INSERT INTO runs VALUES (7)")  # stands for Dagster's own tables
    postgres_tools = f"{postgres.binaries}{os.pathsep}{os.environ['PATH']}"

    def variables(database: str, dagster_database: str, store: str) -> dict[str, str]:
        return {
            "PATH": postgres_tools,
            "BACKUP": str(tmp_path / "backup"),
            "DATABASE": database,
            "DAGSTER_DATABASE": dagster_database,
            "STORE": store.partition("?")[0],
            "AWS_ENDPOINT_URL": s3_server.endpoint_url,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": S3_ACCESS_KEY_ID,
            "AWS_SECRET_ACCESS_KEY": S3_SECRET_ACCESS_KEY,
        }

    folder = write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS, database=first[0], storage=first[2])
    assert run(*RUN, folder=folder, environment=KEY).code == 0
    follow("backup-deployed", tmp_path, variables(*first))
    restored = checked_out(folder, tmp_path / "restored")
    follow("restore-deployed", tmp_path, variables(*second))
    assert _run_rows(second[1], "SELECT id FROM runs") == [(7,)]
    moved = {"EVALPLATFORM_DATABASE": second[0], "EVALPLATFORM_STORAGE": second[2]}
    assert_same_and_free(Original(folder, stub), restored, moved)


def _databases(postgres: PostgresServer, *, shared: bool) -> tuple[str, str]:
    own = postgres.new_database()
    return own, own if shared else postgres.new_database()


def _run_rows(database: str, *statements: LiteralString) -> list[tuple[Any, ...]]:
    """Run statements in a database, and return the rows of the last."""
    with psycopg.connect(database) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def test_a_database_newer_than_the_store_rebuilds_the_rest_and_pays_nothing(stub: ModelStub, tmp_path: Path) -> None:
    """The order of the page: the store is copied before the last run, the database after it."""
    need(shutil.which("sqlite3") is not None, "sqlite3")
    folder = write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS)
    assert run(*RUN, folder=folder, environment=KEY).code == 0
    variables = {"PROJECT": str(folder), "BACKUP": str(tmp_path / "backup"), "RESTORED": str(tmp_path / "restored")}
    *_, database, _check = block("backup-local").splitlines()
    follow("backup-local", tmp_path, variables)
    assert run(*RUN, "--draws", "2", folder=folder, environment=KEY).code == 0
    subprocess.run(["sh", "-c", database], env=os.environ | variables, check=True)
    restored = checked_out(folder, tmp_path / "restored")
    follow("restore-local", tmp_path, variables)
    stub.fail_after = 0
    rebuilt = run(*RUN, "--draws", "2", folder=restored, environment=KEY)
    assert rebuilt.code == 0, rebuilt.err
    assert "0 model calls" in rebuilt.err
