"""The ledger under kill -9, under several processes, and over a database that goes away."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evalplatform.adapters.ledger.open import open_ledger
from evalplatform.kernel.errors import StorageUnavailableError
from evalplatform.ports.ledger import LedgerRow
from tests.support.ledger_rows import a_row
from tests.support.servers import PostgresServer

pytestmark = pytest.mark.system

REPOSITORY = Path(__file__).parents[2]

# Records calls q<start>... and prints the number of each one whose `record` has returned, and who answered it.
RECORDER = """
import asyncio, sys
from evalplatform.adapters.ledger.open import open_ledger
from tests.support.ledger_rows import a_row

async def main(url, writer, count):
    ledger = open_ledger(url, project="demo")
    async def record(number):
        row = await ledger.record(a_row(f"q{number}", text=writer, run_id=writer, cost_usd=1.0))
        print(number, row.reply.text, flush=True)
    for start in range(0, count, 16):
        await asyncio.gather(*[record(number) for number in range(start, start + 16)])
    await ledger.aclose()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/calls.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def recorder(url: str, writer: str, count: int) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", RECORDER, url, writer, str(count)], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)


async def rows_in(url: str) -> list[LedgerRow]:
    ledger = open_ledger(url, project="demo")
    rows = [row async for row in ledger.rows()]
    await ledger.aclose()
    return rows


def test_every_call_whose_record_returned_is_there_after_kill_9(url: str) -> None:
    process = recorder(url, "writer", 1_000_000)
    assert process.stdout is not None
    finished = [process.stdout.readline() for _ in range(500)]
    process.send_signal(signal.SIGKILL)
    finished += process.stdout.readlines()
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    recorded = {row.key for row in asyncio.run(rows_in(url))}
    claimed = {a_row(f"q{line.split()[0]}").key for line in finished if line.endswith("\n")}
    assert len(claimed) >= 500
    assert claimed <= recorded


def test_what_a_killed_run_paid_is_what_its_rows_say(url: str) -> None:
    process = recorder(url, "writer", 1_000_000)
    assert process.stdout is not None
    for _ in range(100):
        process.stdout.readline()
    process.kill()
    process.communicate()

    async def run() -> None:
        ledger = open_ledger(url, project="demo")
        rows = [row async for row in ledger.rows()]
        spend = await ledger.spend("writer")
        assert (spend.calls, spend.known_usd) == (len(rows), float(len(rows)))
        await ledger.aclose()

    asyncio.run(run())


def test_two_processes_that_record_the_same_calls_agree_on_every_one_and_both_have_paid(url: str) -> None:
    count = 800
    processes = [recorder(url, writer, count) for writer in ("a", "b")]
    answers = [dict(line.split() for line in process.communicate()[0].splitlines()) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert answers[0] == answers[1]
    assert len(answers[0]) == count

    async def run() -> tuple[int, int]:
        ledger = open_ledger(url, project="demo")
        spends = [await ledger.spend(writer) for writer in ("a", "b")]
        await ledger.aclose()
        return spends[0].calls, spends[1].calls

    assert set(answers[0].values()) <= {"a", "b"}
    assert asyncio.run(run()) == (count, count)  # both asked, so both paid, whoever was first to record


def test_a_database_that_goes_away_is_unavailable_to_everyone_who_waits_and_works_again_once_it_is_back(
    postgres: PostgresServer, postgres_url: str
) -> None:
    async def run() -> None:
        ledger = open_ledger(postgres_url, project="demo")
        before = await ledger.record(a_row("before"))
        await asyncio.to_thread(postgres.stop_at_once)
        try:
            outcomes = await asyncio.gather(*[ledger.record(a_row(f"q{number}")) for number in range(50)], return_exceptions=True)
        finally:
            await asyncio.to_thread(postgres.start)
        assert all(isinstance(outcome, StorageUnavailableError) for outcome in outcomes)
        assert await ledger.find(before.key) == before
        assert await ledger.record(a_row("after")) == a_row("after")
        assert (await ledger.spend("run-1")).calls == 2
        await ledger.aclose()

    asyncio.run(run())
