"""Removing calls from a ledger, some at a time, so that runs beside it never wait long."""

from collections.abc import AsyncIterable

from evalplatform.ports.ledger import CallKey, Ledger

KEYS_AT_ONCE = 1_000


async def remove_calls(ledger: Ledger, keys: AsyncIterable[CallKey]) -> int:
    """Forget the calls with those keys and return how many there were; ended midway, it has removed some, and can be repeated.

    Raises:
        StorageUnavailableError: the database does not answer.
    """
    removed, waiting = 0, list[CallKey]()
    async for key in keys:
        waiting.append(key)
        if len(waiting) == KEYS_AT_ONCE:
            removed += await ledger.remove(waiting)
            waiting.clear()
    return removed + await ledger.remove(waiting)
