"""A bounded pool of workers over a sequence: results in order, memory in proportion to the concurrency."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


async def map_bounded(work: Callable[[Item], Awaitable[Result]], items: Sequence[Item], *, concurrency: int) -> list[Result]:
    """Return `work(item)` for every item, in the items' order, with at most `concurrency` running.

    The first exception cancels what is running and is raised; `work` therefore turns expected failures into results of its own.
    """
    results: list[Result] = [None] * len(items)  # type: ignore[list-item]  # every slot is filled before the return
    upcoming = iter(enumerate(items))

    async def worker(numbered: Iterable[tuple[int, Item]]) -> None:
        for index, item in numbered:  # all workers draw from one iterator; single-threaded, so no two take the same item
            results[index] = await work(item)

    workers = max(1, min(concurrency, len(items)))
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(worker(upcoming))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return results
