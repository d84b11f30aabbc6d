import asyncio
import threading
from collections.abc import Sequence

import pytest

from evalplatform.adapters.ledger.group_commit import MAX_BATCH, GroupCommit
from evalplatform.kernel.errors import StorageError, StorageUnavailableError


class Doubler:
    """Doubles numbers; refuses 13, and everything while it is down. It keeps the batches it was given."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.down = False
        self.free = threading.Event()
        self.free.set()

    def __call__(self, numbers: Sequence[int]) -> list[object]:
        self.free.wait()
        self.batches.append(list(numbers))
        if self.down:
            raise StorageUnavailableError("the database does not answer")
        if 13 in numbers:
            raise ValueError("13 brings bad luck")
        return [2 * number for number in numbers]


async def submit_all(group: GroupCommit[int], numbers: Sequence[int]) -> list[object]:
    return list(await asyncio.gather(*[group.submit(number) for number in numbers], return_exceptions=True))


def test_what_waits_while_a_batch_commits_goes_into_the_next_one() -> None:
    work = Doubler()
    group: GroupCommit[int] = GroupCommit(work, name="test")

    async def run() -> list[object]:
        work.free.clear()
        waiting = asyncio.ensure_future(submit_all(group, range(1_000, 3_000)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        work.free.set()
        return await waiting

    assert asyncio.run(run()) == [2 * number for number in range(1_000, 3_000)]
    group.close()
    assert len(work.batches) <= 2 + 2_000 // MAX_BATCH
    assert max(len(batch) for batch in work.batches) == MAX_BATCH


def test_an_operation_that_is_refused_fails_alone() -> None:
    work = Doubler()
    group: GroupCommit[int] = GroupCommit(work, name="test")
    results = asyncio.run(submit_all(group, [1, 13, 2]))
    group.close()
    assert [results[0], results[2]] == [2, 4]
    assert isinstance(results[1], StorageError)
    assert "13 brings bad luck" in str(results[1])


def test_when_the_database_fails_everyone_is_told_and_the_next_batch_is_tried_again() -> None:
    work = Doubler()
    group: GroupCommit[int] = GroupCommit(work, name="test")
    work.down = True
    failed = asyncio.run(submit_all(group, range(50)))
    work.down = False
    assert all(isinstance(result, StorageUnavailableError) for result in failed)
    assert asyncio.run(submit_all(group, [4])) == [8]
    group.close()


def test_closing_finishes_what_is_queued_and_refuses_what_comes_after() -> None:
    work = Doubler()
    group: GroupCommit[int] = GroupCommit(work, name="test")

    async def run() -> list[object]:
        work.free.clear()
        waiting = asyncio.ensure_future(submit_all(group, range(5)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(asyncio.to_thread(group.close))
        await asyncio.sleep(0)
        work.free.set()
        await closing
        with pytest.raises(StorageUnavailableError, match="closed"):
            await group.submit(1)
        return await waiting

    assert asyncio.run(run()) == [0, 2, 4, 6, 8]
    group.close()


def test_callers_that_gave_up_and_loops_that_ended_do_no_harm() -> None:
    work = Doubler()
    group: GroupCommit[int] = GroupCommit(work, name="test")

    async def give_up() -> None:
        work.free.clear()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(group.submit(1), timeout=0.01)

    asyncio.run(give_up())
    work.free.set()
    assert asyncio.run(submit_all(group, [2])) == [4]
    group.close()


def test_several_event_loops_share_one_ledger_thread() -> None:
    work = Doubler()
    group: GroupCommit[int] = GroupCommit(work, name="test")
    results: dict[int, list[object]] = {}

    def loop(start: int) -> None:
        results[start] = asyncio.run(submit_all(group, range(start, start + 100)))

    threads = [threading.Thread(target=loop, args=(start,)) for start in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    group.close()
    assert results == {start: [2 * number for number in range(start, start + 100)] for start in (100, 200, 300)}
