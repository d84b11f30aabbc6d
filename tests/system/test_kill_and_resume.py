"""A run that is killed, stopped or interrupted anywhere: nothing finished is asked again, and the results are those of an unbroken run.

CI kills 4 runs of 60 questions, and 4 of the writes of a run. 20 runs of 200 questions, and every single write, are

    EVALPLATFORM_SOAK=1 pytest tests/system/test_kill_and_resume.py -m slow -rP

which takes a quarter of an hour on two idle cores and prints what each kill found.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.command_line import EVALPLATFORM, Ended, ended, run, run_process, started, started_process, wait_until
from tests.support.model_stub import ModelStub, running_stub
from tests.support.stub_project import (
    CONCURRENCY,
    RUN,
    CallOfDraw,
    calls_of_a_run,
    calls_seen,
    committed_calls,
    ledger_rows,
    stored_content,
    stored_files_are_whole,
    write_stub_project,
)

pytestmark = pytest.mark.system

REPOSITORY = Path(__file__).parents[2]
SOAK = os.environ.get("EVALPLATFORM_SOAK") == "1"
TRIALS, QUESTIONS, DRAWS = (20, 200, 2) if SOAK else (4, 60, 2)
WRITES_KILLED = 1_000 if SOAK else 4
FEW_QUESTIONS = 20
LATENCY_SECONDS = 0.03
SLOW_SECONDS = 0.3  # where a test has to act before the run is through
KEY = {"STUB_KEY": "key-of-no-value"}


@dataclass(frozen=True)
class Unbroken:
    """A stub that has served one unbroken run, and the results of that run."""

    stub: ModelStub
    questions: int
    draws: int
    content: dict[str, bytes]

    def project(self, folder: Path) -> Path:
        """A new project of the same questions at the same stub, which forgets what it has seen."""
        self.stub.seen = {}
        self.stub.latency_seconds = LATENCY_SECONDS
        self.stub.fail_after = None
        return write_stub_project(folder / "project", self.stub.url, questions=self.questions, draws=self.draws)

    @property
    def calls(self) -> int:
        return calls_of_a_run(self.questions, self.draws)


def unbroken_run(folder: Path, *, questions: int, draws: int) -> Iterator[Unbroken]:
    with running_stub(latency_seconds=LATENCY_SECONDS) as stub:
        project = write_stub_project(folder, stub.url, questions=questions, draws=draws)
        assert run(*RUN, folder=project, environment=KEY).code == 0
        assert stub.requests == calls_of_a_run(questions, draws)
        yield Unbroken(stub=stub, questions=questions, draws=draws, content=stored_content(project))


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Unbroken]:
    yield from unbroken_run(tmp_path_factory.mktemp("unbroken") / "long", questions=QUESTIONS, draws=DRAWS)


@pytest.fixture(scope="module")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Unbroken]:
    yield from unbroken_run(tmp_path_factory.mktemp("unbroken") / "short", questions=FEW_QUESTIONS, draws=1)


@dataclass(frozen=True)
class Kill:
    """What was known when a run was killed: what the ledger held, what the stub had been asked since the test began, and what was lost.

    A lost call is one that this run had asked and whose reply was not in the ledger yet.
    """

    committed: frozenset[CallOfDraw]
    seen: Counter[CallOfDraw]
    lost: Counter[CallOfDraw]


@pytest.mark.slow
@pytest.mark.parametrize("trial", range(TRIALS))
def test_a_run_killed_at_any_point_asks_nothing_finished_again_and_ends_in_the_same_bytes(
    long_run: Unbroken, tmp_path: Path, trial: int
) -> None:
    chance = random.Random(f"kill -9, trial {trial}")
    points = sorted(chance.sample(range(1, long_run.calls), k=chance.choice((1, 2, 3))))
    project = long_run.project(tmp_path)
    kills = [
        killed_run(project, long_run.stub, after_calls=point, pause_seconds=chance.uniform(0, 2 * LATENCY_SECONDS)) for point in points
    ]

    assert run(*RUN, folder=project, environment=KEY).code == 0

    seen = calls_seen(long_run.stub)
    again = [sum(seen[call] - kill.seen[call] for call in kill.committed) for kill in kills]
    for kill, repeated in zip(kills, again, strict=True):
        print(
            f"trial {trial}: killed at {kill.seen.total()} calls, {len(kill.committed)} committed, {repeated} of these asked again; "
            f"{kill.lost.total()} in flight"
        )
    assert again == [0] * len(kills)
    assert all(kill.lost.total() <= CONCURRENCY for kill in kills)
    assert seen.total() == long_run.calls + sum(kill.lost.total() for kill in kills)
    assert committed_calls(project) == set(seen)
    assert len(seen) == long_run.calls
    assert stored_content(project) == long_run.content


def killed_run(project: Path, stub: ModelStub, *, after_calls: int, pause_seconds: float) -> Kill:
    """Start the run, kill it once the stub has seen so many calls, and say what the ledger and the stub then knew."""
    before = calls_seen(stub)
    with started(*RUN, folder=project, environment=KEY) as process:
        wait_until(lambda: stub.requests >= after_calls or process.poll() is not None, f"{after_calls} calls")
        time.sleep(pause_seconds)
        process.send_signal(signal.SIGKILL)
        assert ended(process).code == -signal.SIGKILL
    wait_until(lambda: stub.in_flight == 0, "the stub to notice")
    committed, seen = frozenset(committed_calls(project)), calls_seen(stub)
    asked = seen - before
    return Kill(committed=committed, seen=seen, lost=Counter({call: times for call, times in asked.items() if call not in committed}))


# Runs the command line and kills it before the n-th time it opens, links or renames a file of the store; n = 0 prints how often it did.
DIES_AT_A_WRITE = """
import os, signal, sys

store, nth, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
touched = 0

def count(event, parameters):
    global touched
    writes = event in ("os.rename", "os.link") or (event == "open" and isinstance(parameters[1], str) and parameters[1].strip("rbt"))
    if writes and os.fspath(parameters[0]).startswith(store):
        touched += 1
        if touched == nth:
            os.kill(os.getpid(), signal.SIGKILL)

from evalplatform.cli.main import exit_code
sys.addaudithook(count)
code = exit_code(arguments)
print(touched)
sys.exit(code)
"""


def run_that_dies_at_write(project: Path, nth: int) -> Ended:
    command = [sys.executable, "-c", DIES_AT_A_WRITE, str(project / ".evalplatform" / "store"), str(nth), *RUN]
    return run_process(command, folder=project, environment=KEY | {"PYTHONPATH": str(REPOSITORY)})


@pytest.mark.slow
@pytest.mark.timeout(1_800 if SOAK else 300)
def test_a_kill_while_artifacts_are_written_leaves_none_that_is_half_there(short_run: Unbroken, tmp_path: Path) -> None:
    counted = run_that_dies_at_write(short_run.project(tmp_path / "counted"), 0)
    assert counted.code == 0, counted.err
    writes = int(counted.out.split()[-1])
    nths = range(1, writes + 1)
    seen_parts = set()
    for nth in sorted(random.Random("kill at a write").sample(nths, k=min(WRITES_KILLED, writes))):
        project = short_run.project(tmp_path / f"write-{nth}")
        assert run_that_dies_at_write(project, nth).code == -signal.SIGKILL
        seen_parts.add(stored_files_are_whole(project))
        assert run(*RUN, folder=project, environment=KEY).code == 0
        assert stored_content(project) == short_run.content
    assert len(seen_parts) > 1, "the kills all fell into one place"


def test_a_spend_cap_stops_before_the_call_that_could_pass_it_and_a_higher_cap_asks_only_the_rest(
    short_run: Unbroken, tmp_path: Path
) -> None:
    project = short_run.project(tmp_path)
    whole_usd = 1.25
    capped = run(*RUN, "--max-cost-usd", str(whole_usd / 2), folder=project, environment=KEY)
    assert capped.code == 2
    assert "error: the run is truncated." in capped.err
    assert "a rerun asks only what is missing, and may pay up to the cap anew" in capped.err
    report = (project / "results" / "arms" / "kettle.md").read_text()
    assert re.search("truncated", report, re.IGNORECASE)
    first = committed_calls(project)
    assert 0 < len(first) < short_run.calls
    assert sum(row.cost_usd or 0.0 for row in ledger_rows(project)) <= whole_usd / 2
    assert set(calls_seen(short_run.stub)) == first

    raised = run(*RUN, "--max-cost-usd", "1000", folder=project, environment=KEY)
    assert raised.code == 0, raised.err
    assert not re.search("truncated", (project / "results" / "arms" / "kettle.md").read_text(), re.IGNORECASE)
    assert_nothing_asked_twice(short_run)
    assert stored_content(project) == short_run.content


def assert_nothing_asked_twice(unbroken: Unbroken) -> None:
    seen = calls_seen(unbroken.stub)
    assert set(seen.values()) == {1}
    assert len(seen) == unbroken.calls


# What was in flight when the breaker opened or the wait came; an overload is asked four times, and eight calls must fail.
MOST_REFUSED = {429: CONCURRENCY, 401: 3 + CONCURRENCY, 503: 4 * (8 + CONCURRENCY)}


@pytest.mark.parametrize(
    ("status", "retry_after", "calls_before", "message"),
    [
        pytest.param(429, "3600", 30, r"asks to wait 3,600 s.*run the same command again later", id="a wait beyond the cap, for answers"),
        pytest.param(429, "3600", 55, r"asks to wait 3,600 s.*run the same command again later", id="a wait beyond the cap, for scores"),
        pytest.param(401, None, 0, r"^error: grader at 127.0.0.1:\d+ answered HTTP 401: scripted failure$", id="a wrong key"),
        pytest.param(401, None, 30, r"Stopped after 3 identical failures.*401", id="a key that is withdrawn"),
        pytest.param(503, None, 30, r"Stopped after 8 identical failures.*503", id="an overload that lasts"),
    ],
)
def test_an_endpoint_that_refuses_ends_the_run_soon_and_the_next_one_goes_on(
    short_run: Unbroken, tmp_path: Path, status: int, retry_after: str | None, calls_before: int, message: str
) -> None:
    project, stub = short_run.project(tmp_path), short_run.stub
    stub.fail_status, stub.retry_after, stub.fail_after = status, retry_after, calls_before
    stopped = run(*RUN, folder=project, environment=KEY)
    assert stopped.code == 2, stopped.err
    assert re.search(message, stopped.err), stopped.err
    assert KEY["STUB_KEY"] not in stopped.out + stopped.err
    refused = sum(status != 200 for seen in stub.seen.values() for status in seen.statuses)
    assert 0 < refused <= MOST_REFUSED[status], "it went on asking"
    committed = committed_calls(project)
    assert len(committed) >= calls_before - CONCURRENCY
    before = calls_seen(stub)

    stub.fail_after = None
    resumed = run(*RUN, folder=project, environment=KEY)
    assert resumed.code == 0, resumed.err
    after = calls_seen(stub)
    assert sum(after[call] - before[call] for call in committed) == 0
    assert after.total() - before.total() == short_run.calls - len(committed)
    assert stored_content(project) == short_run.content


def test_a_server_that_goes_away_loses_nothing(tmp_path: Path) -> None:
    with stub_process() as (server, port):
        project = write_stub_project(tmp_path / "project", f"http://127.0.0.1:{port}/v1", questions=FEW_QUESTIONS)
        with started(*RUN, folder=project, environment=KEY) as process:
            wait_until(lambda: (project / ".evalplatform" / "evalplatform.db").exists() and len(ledger_rows(project)) > 5, "some calls")
            server.kill()
            gone = ended(process)
    assert gone.code == 2
    assert "Stopped after 8 identical failures" in gone.err
    assert f"127.0.0.1:{port}" in gone.err
    still_gone = run(*RUN, folder=project, environment=KEY)
    assert still_gone.code == 2
    kept = committed_calls(project)
    assert kept

    with stub_process(port):
        back = run(*RUN, "--json", folder=project, environment=KEY)
    assert back.code == 0, back.err
    assert json.loads(back.out)["calls"]["paid"] == calls_of_a_run(FEW_QUESTIONS) - len(kept)


@contextmanager
def stub_process(port: int = 0) -> "Iterator[tuple[subprocess.Popen[str], int]]":
    """A stub that can be killed, and its port."""
    command = [sys.executable, "-m", "tests.support.model_stub", "--port", str(port), "--latency-seconds", str(SLOW_SECONDS)]
    with started_process(command, folder=REPOSITORY) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())


def test_ctrl_c_ends_the_run_at_once_with_130_and_the_next_one_goes_on(short_run: Unbroken, tmp_path: Path) -> None:
    project, stub = short_run.project(tmp_path), short_run.stub
    stub.latency_seconds = SLOW_SECONDS
    with started(*RUN, folder=project, environment=KEY) as process:
        wait_until(lambda: stub.requests >= 50, "50 calls")
        process.send_signal(signal.SIGINT)
        interrupted = ended(process, within_seconds=20)
    assert interrupted.code == 130, interrupted.err
    assert "Traceback" not in interrupted.err
    assert "interrupted" in interrupted.err
    assert not list((project / ".evalplatform").glob("*.db-wal")), "the ledger was not closed"
    committed, before = committed_calls(project), calls_seen(stub)
    assert run(*RUN, folder=project, environment=KEY).code == 0
    after = calls_seen(stub)
    assert sum(after[call] - before[call] for call in committed) == 0
    assert stored_content(project) == short_run.content


def test_ctrl_c_on_a_terminal_gives_the_cursor_back(short_run: Unbroken, tmp_path: Path) -> None:
    project, stub = short_run.project(tmp_path), short_run.stub
    stub.latency_seconds = SLOW_SECONDS
    terminal, theirs = os.openpty()
    takes_the_terminal = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", takes_the_terminal, str(EVALPLATFORM), *RUN]
    process = subprocess.Popen(command, cwd=project, env=os.environ | KEY | {"TERM": "xterm"}, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    typed = False
    while piece := read_terminal(terminal):
        shown += piece
        if not typed and stub.requests >= 50:
            os.write(terminal, b"\x03")
            typed = True
    os.close(terminal)
    assert process.wait(20) == 130
    assert b" paid" in shown, "no progress was shown"
    assert shown.rstrip().endswith(b"goes on from there.")
    assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h") > 0, "the cursor stayed hidden"


def read_terminal(terminal: int) -> bytes:
    """What a terminal shows next; nothing once all who wrote to it have ended (Linux then says EIO)."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
