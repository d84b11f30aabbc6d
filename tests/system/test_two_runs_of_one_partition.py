"""Two runs of one cell at the same time: the second waits, and then finds nothing to ask."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.command_line import Ended, ended, run, started, wait_until
from tests.support.model_stub import ModelStub, running_stub
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

QUESTIONS = 20
CALLS = calls_of_a_run(QUESTIONS)
KEY = {"STUB_KEY": "key-of-no-value"}
WAITS = "waiting for another run of this partition"
"""Behind the stage: on a busy machine the other run may be at its scores already."""


@dataclass(frozen=True)
class Shared:
    """A project that several processes run at once, and the stub that its models are."""

    folder: Path
    stub: ModelStub

    def started(self, *more: str) -> "AbstractContextManager[subprocess.Popen[str]]":
        return started(*RUN, *more, folder=self.folder, environment=KEY)

    def run(self, *more: str) -> Ended:
        return run(*RUN, *more, folder=self.folder, environment=KEY)


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shared]:
    database = "sqlite:///.evalplatform/evalplatform.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    with running_stub(latency_seconds=0.3) as stub:
        yield Shared(write_stub_project(tmp_path / "project", stub.url, questions=QUESTIONS, database=database), stub)


def said(process: "subprocess.Popen[str]") -> str:
    """The next line that a run writes to standard error."""
    assert process.stderr is not None
    return process.stderr.readline().rstrip("\n")


def files_of(number: int) -> tuple[str, ...]:
    return ("--json", "--out-json", f"{number}.json", "--out-md", f"{number}.md")


def test_two_runs_at_once_ask_each_call_once_and_the_second_says_that_it_waits(shared: Shared) -> None:
    with shared.started(*files_of(1)) as first:
        wait_until(lambda: shared.stub.requests > 1, "the first run to ask")
        with shared.started(*files_of(2)) as second:
            assert said(second).endswith(WAITS)
            both = [ended(first), ended(second)]
    assert [done.code for done in both] == [0, 0], [done.err for done in both]
    assert set(calls_seen(shared.stub).values()) == {1}
    assert shared.stub.requests == CALLS
    results = [json.loads(done.out) for done in both]
    assert [result["calls"]["paid"] for result in results] == [CALLS, 0]
    assert results[0]["data_version"] == results[1]["data_version"]
    assert (shared.folder / "1.json").read_bytes() == (shared.folder / "2.json").read_bytes()


def test_a_run_that_is_killed_hands_over_to_the_one_that_waits_for_it(shared: Shared) -> None:
    with shared.started() as first:
        wait_until(lambda: shared.stub.requests > CONCURRENCY, "the first run to ask")
        with shared.started("--json") as second:
            assert said(second).endswith(WAITS)
            first.send_signal(signal.SIGKILL)
            assert ended(first).code == -signal.SIGKILL
            committed = committed_calls(shared.folder)
            done = ended(second)
    assert done.code == 0, done.err
    seen = calls_seen(shared.stub)
    assert {seen[call] for call in committed} == {1}
    assert CALLS <= seen.total() <= CALLS + CONCURRENCY
    assert json.loads(done.out)["calls"]["replayed"] > 0
    assert stored_files_are_whole(shared.folder)


def test_ctrl_c_ends_a_run_that_waits_and_leaves_the_other_alone(shared: Shared) -> None:
    with shared.started() as first:
        wait_until(lambda: shared.stub.requests > 1, "the first run to ask")
        with shared.started() as second:
            assert said(second).endswith(WAITS)
            second.send_signal(signal.SIGINT)
            assert ended(second, within_seconds=20).code == 130
        assert ended(first).code == 0
    assert set(calls_seen(shared.stub).values()) == {1}


def test_a_run_that_finds_everything_stored_takes_no_lock(tmp_path: Path) -> None:
    with running_stub() as stub:
        folder = write_stub_project(tmp_path / "project", stub.url, questions=2)
        assert run(*RUN, folder=folder, environment=KEY).code == 0
        locks = folder / ".evalplatform" / "evalplatform.db-locks"
        locks.rmdir()
        locks.write_text("no lock can be made here")
        again = run(*RUN, folder=folder, environment=KEY)
    assert again.code == 0, again.err
    assert "0 model calls" in again.err
