"""What every lock between processes promises."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalplatform.adapters.locks.open import open_locks
from evalplatform.kernel.errors import StorageUnavailableError
from evalplatform.ports.locks import Locks
from tests.support.command_line import started_process
from tests.support.servers import PostgresServer

REPOSITORY = Path(__file__).parents[2]

# Takes the lock named first and keeps it until it is killed; prints "waits" and "held".
HOLDER = """
import asyncio, sys
from evalplatform.adapters.locks.open import open_locks

async def main(url, name):
    async with open_locks(url).held(name, on_wait=lambda: print("waits", flush=True)):
        print("held", flush=True)
        await asyncio.sleep(3600)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/calls.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def says(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def holder(url: str, name: str = "cell") -> "Iterator[subprocess.Popen[str]]":
    """Another process that is at the lock; what it says first is left to be read."""
    with started_process([sys.executable, "-c", HOLDER, url, name], folder=REPOSITORY) as process:
        yield process


def waits_of(locks: Locks, name: str, *, limit_seconds: float = 60) -> int:
    """Take the lock and give it back; return how often waiting was told of."""
    waits: list[str] = []

    async def take() -> None:
        async with asyncio.timeout(limit_seconds), locks.held(name, on_wait=lambda: waits.append("told")):
            pass

    asyncio.run(take())
    return len(waits)


def test_a_free_lock_is_taken_again_and_again_without_a_wait(url: str) -> None:
    locks = open_locks(url)
    assert [waits_of(locks, name) for name in ("cell", "cell", "other")] == [0, 0, 0]


def test_a_held_lock_is_refused_to_other_processes_and_other_names_stay_free(url: str) -> None:
    locks = open_locks(url)
    with holder(url) as process:
        assert says(process) == "held"
        with pytest.raises(TimeoutError):
            waits_of(locks, "cell", limit_seconds=0.6)
        assert waits_of(locks, "another cell") == 0


def test_a_killed_holder_gives_the_lock_to_whoever_waits(url: str) -> None:
    with holder(url) as first:
        assert says(first) == "held"
        with holder(url) as second:
            assert says(second) == "waits"
            first.send_signal(signal.SIGKILL)
            assert says(second) == "held"


def test_a_killed_holder_leaves_nothing_in_the_way_of_those_who_come_later(url: str) -> None:
    with holder(url) as process:
        assert says(process) == "held"
    assert waits_of(open_locks(url), "cell") == 0


def test_an_exception_in_the_body_gives_the_lock_back(url: str) -> None:
    locks = open_locks(url)

    async def fail() -> None:
        async with locks.held("cell", on_wait=lambda: None):
            raise KeyError("cell")

    with pytest.raises(KeyError):
        asyncio.run(fail())
    assert waits_of(locks, "cell") == 0


def test_a_cancelled_wait_ends_and_takes_nothing(url: str) -> None:
    locks = open_locks(url)

    async def wait_and_cancel() -> None:
        told = asyncio.Event()

        async def wait() -> None:
            async with locks.held("cell", on_wait=told.set):
                raise AssertionError("it was held twice")

        async with locks.held("cell", on_wait=lambda: None):
            waiting = asyncio.create_task(wait())
            await told.wait()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert waiting.cancelled()

    asyncio.run(wait_and_cancel())
    assert waits_of(locks, "cell") == 0


def test_of_many_who_want_a_lock_one_at_a_time_has_it_and_all_get_it(url: str) -> None:
    inside, most_inside, times = 0, 0, 0

    async def work(locks: Locks) -> None:
        nonlocal inside, most_inside, times
        for _ in range(2):
            async with locks.held("cell", on_wait=lambda: None):
                inside += 1
                most_inside, times = max(most_inside, inside), times + 1
                await asyncio.sleep(0.005)
                inside -= 1

    async def all_work() -> None:
        await asyncio.gather(*[work(open_locks(url)) for _ in range(6)])

    asyncio.run(all_work())
    assert (most_inside, times) == (1, 12)


def test_lock_files_go_when_they_are_given_back(tmp_path: Path) -> None:
    locks = open_locks(f"sqlite:///{tmp_path}/calls.db")
    held: list[str] = []

    async def look() -> None:
        async with locks.held("cell/judge of any length " * 100, on_wait=lambda: None):
            held.extend(path.name for path in (tmp_path / "calls.db-locks").iterdir())

    asyncio.run(look())
    assert len(held) == 1
    assert list((tmp_path / "calls.db-locks").iterdir()) == []


def test_a_folder_that_takes_no_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / "calls.db-locks").write_text("in the way")
    with pytest.raises(StorageUnavailableError, match=r"calls\.db-locks.*cannot be made: File exists"):
        waits_of(open_locks(f"sqlite:///{tmp_path}/calls.db"), "cell")


def test_a_holder_whose_connection_is_cut_works_on_and_the_next_may_begin(postgres: PostgresServer, postgres_url: str) -> None:
    locks = open_locks(postgres_url)

    async def work() -> str:
        async with locks.held("cell", on_wait=lambda: None):
            await asyncio.to_thread(postgres.stop_at_once)
            await asyncio.to_thread(postgres.start)
            async with locks.held("cell", on_wait=lambda: None):
                return "both went on"

    assert asyncio.run(work()) == "both went on"


def test_a_database_that_does_not_answer_gives_no_lock() -> None:
    with pytest.raises(StorageUnavailableError, match="does not answer"):
        waits_of(open_locks("postgresql://postgres@127.0.0.1:1/none"), "cell")
