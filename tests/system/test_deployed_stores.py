"""A project on Postgres and S3, as it is deployed: the same results, nothing asked twice, and servers that go away in the middle."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.command_line import Ended, ended, run, run_process, started, wait_until
from tests.support.model_stub import ModelStub, running_stub
from tests.support.servers import PostgresServer, S3Server
from tests.support.stub_project import (
    CONCURRENCY,
    RUN,
    calls_of_a_run,
    calls_seen,
    committed_calls,
    ledger_rows,
    stored_content,
    write_stub_project,
)

pytestmark = pytest.mark.system

REPOSITORY = Path(__file__).parents[2]
QUESTIONS = 20
CALLS = calls_of_a_run(QUESTIONS)
LATENCY_SECONDS = 0.03
SLOW_SECONDS = 0.3  # where a test has to act before the run is through
KEY = {"STUB_KEY": "key-of-no-value"}


@dataclass(frozen=True)
class LocalRun:
    """A stub that has served one run in a folder of this machine, and the results of that run."""

    stub: ModelStub
    content: dict[str, bytes]


@pytest.fixture(scope="module")
def local_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRun]:
    with running_stub(latency_seconds=LATENCY_SECONDS) as stub:
        folder = write_stub_project(tmp_path_factory.mktemp("local") / "project", stub.url, questions=QUESTIONS)
        assert run(*RUN, folder=folder, environment=KEY).code == 0
        assert stub.requests == CALLS
        yield LocalRun(stub=stub, content=stored_content(folder))


@dataclass(frozen=True)
class Deployed:
    """A project on Postgres and S3, the stub that its models are, and the results that it should have."""

    folder: Path
    stub: ModelStub
    expected: dict[str, bytes]

    def run(self, *more: str) -> Ended:
        return run(*RUN, *more, folder=self.folder, environment=KEY)

    def started(self, *more: str) -> "AbstractContextManager[subprocess.Popen[str]]":
        return started(*RUN, *more, folder=self.folder, environment=KEY)

    def files(self) -> set[str]:
        """What `assets list` lists, as `<asset>/<file>`."""
        listed = run("assets", "list", "--json", folder=self.folder)
        assert listed.code == 0, listed.err
        return {f"{found['artifact']['asset']}/{name}" for found in json.loads(listed.out) for name in found["files"]}


@pytest.fixture
def deployed(local_run: LocalRun, tmp_path: Path, postgres_url: str, s3_url: str) -> Deployed:
    local_run.stub.seen = {}
    local_run.stub.latency_seconds = LATENCY_SECONDS
    folder = write_stub_project(tmp_path / "deployed", local_run.stub.url, questions=QUESTIONS, storage=s3_url, database=postgres_url)
    return Deployed(folder=folder, stub=local_run.stub, expected=local_run.content)


def test_a_run_on_postgres_and_s3_stores_the_bytes_of_a_local_one_and_a_second_one_asks_nothing(deployed: Deployed) -> None:
    first = deployed.run()
    assert first.code == 0, first.err
    assert deployed.stub.requests == CALLS
    second = deployed.run()
    assert second.code == 0
    assert "nothing changed since the last run: 0 model calls" in second.err
    assert deployed.stub.requests == CALLS
    assert not (deployed.folder / ".evalplatform").exists(), "state was left on this machine"
    assert stored_content(deployed.folder) == deployed.expected


def test_every_kind_of_file_can_be_listed_and_downloaded_from_s3(deployed: Deployed) -> None:
    assert deployed.run().code == 0
    assert deployed.files() == {
        "question_set/questions.json",
        "corpus/treatments.json",
        "arm_answers/answers.parquet",
        "arm_answers/texts.parquet",
        "arm_answers/timings.parquet",
        "judged_scores/scores.parquet",
        "arm_summary/summary.json",
        "score_moves/score_moves.json",
        "score_moves/score_moves.md",
        "score_moves/score_moves.parquet",
        "arms_report/arms.json",
        "arms_report/report.md",
        "arms_report/report.html",
        "arms_report/scores.csv",
    }
    begins = {"json": b"{", "md": b"# ", "html": b"<!doctype html>", "csv": b"", "parquet": b"PAR1"}
    for kind, first_bytes in begins.items():
        fetched = run("assets", "download", "--format", kind, "--out", "fetched", folder=deployed.folder)
        assert fetched.code == 0, fetched.err
        for name in fetched.out.splitlines():
            data = (deployed.folder / name).read_bytes()
            assert data
            assert data.lower().startswith(first_bytes.lower())
    assert len([path for path in (deployed.folder / "fetched").rglob("*") if path.is_file()]) == len(deployed.files())


def test_two_processes_that_run_one_cell_at_once_ask_each_call_once_and_agree(deployed: Deployed) -> None:
    flags = [("--json", "--out-json", f"{number}.json", "--out-md", f"{number}.md") for number in (1, 2)]
    with deployed.started(*flags[0]) as one, deployed.started(*flags[1]) as other:
        both = [ended(one), ended(other)]
    assert [done.code for done in both] == [0, 0], [done.err for done in both]
    rows = ledger_rows(deployed.folder)
    assert len(rows) == len({row.key for row in rows}) == CALLS
    assert committed_calls(deployed.folder) == set(calls_seen(deployed.stub))
    assert set(calls_seen(deployed.stub).values()) == {1}
    results = [json.loads(done.out) for done in both]
    assert sum(result["calls"]["paid"] for result in results) == CALLS
    assert results[0]["data_version"] == results[1]["data_version"]
    assert results[0]["result"] == results[1]["result"]
    assert (deployed.folder / "1.json").read_bytes() == (deployed.folder / "2.json").read_bytes()
    assert stored_content(deployed.folder) == deployed.expected


MATERIALIZE = """
import os
from pathlib import Path
from evalplatform.cli.orchestration.demo import materialize_project
from evalplatform.project.load import load_project
from evalplatform.wiring import no_progress

home = Path(os.environ["DAGSTER_HOME"])
counts = materialize_project(load_project(Path("evalplatform.yaml")), home, on_progress=no_progress)
print(counts.paid, counts.replayed, counts.failed)
"""


def test_dagster_materializes_the_deployed_project_and_asks_nothing_that_the_command_line_has_asked(
    deployed: Deployed, tmp_path: Path
) -> None:
    home = tmp_path / "dagster-home"
    home.mkdir()
    assert dagster_counts(deployed, home)[::2] == (CALLS, 0)
    assert dagster_counts(deployed, home) == (0, 0, 0)
    by_hand = deployed.run("--json")
    assert by_hand.code == 0
    assert json.loads(by_hand.out)["calls"]["paid"] == 0
    assert deployed.stub.requests == CALLS


def dagster_counts(deployed: Deployed, home: Path) -> tuple[int, ...]:
    environment = KEY | {"DAGSTER_HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
    done = run_process([sys.executable, "-c", MATERIALIZE], folder=deployed.folder, environment=environment)
    assert done.code == 0, done.err
    return tuple(int(count) for count in done.out.split())


def test_an_object_store_that_goes_away_costs_no_finished_call(deployed: Deployed, s3_server: S3Server) -> None:
    deployed.stub.latency_seconds = SLOW_SECONDS
    with deployed.started() as process:
        wait_until(lambda: deployed.stub.requests >= 20, "20 calls")
        s3_server.stop_at_once()
        try:
            gone = ended(process)
            again = deployed.run()
        finally:
            s3_server.start()
    for stopped in (gone, again):
        assert stopped.code == 2
        assert "error: s3://" in stopped.err
        assert "does not answer" in stopped.err
        assert "Traceback" not in stopped.err
    back = deployed.run()
    assert back.code == 0, back.err
    assert set(calls_seen(deployed.stub).values()) == {1}
    assert deployed.stub.requests == CALLS
    assert stored_content(deployed.folder) == deployed.expected


def test_a_database_that_restarts_midway_costs_at_most_what_was_in_flight(deployed: Deployed, postgres: PostgresServer) -> None:
    deployed.stub.latency_seconds = SLOW_SECONDS
    with deployed.started() as process:
        wait_until(lambda: deployed.stub.requests >= 20, "20 calls")
        postgres.stop_at_once()
        try:
            gone = ended(process)
            again = deployed.run()
        finally:
            postgres.start()
    for stopped in (gone, again):
        assert stopped.code == 2
        assert "error: the database does not answer" in stopped.err
        assert "Traceback" not in stopped.err
    committed, seen = committed_calls(deployed.folder), calls_seen(deployed.stub)
    assert 0 < len(committed) < CALLS
    assert seen.total() - len(committed) <= CONCURRENCY
    back = deployed.run()
    assert back.code == 0, back.err
    after = calls_seen(deployed.stub)
    assert sum(after[call] - seen[call] for call in committed) == 0
    assert after.total() == CALLS + seen.total() - len(committed)
    assert stored_content(deployed.folder) == deployed.expected
