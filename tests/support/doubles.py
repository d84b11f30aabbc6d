"""Doubles for tests of the pure rooms: a clock moved by hand, a ledger in memory, one price for every token."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from evalplatform.kernel.usage import Usage, known_sum
from evalplatform.ports.ledger import EVERY_CALL, CallGroup, CallKey, CallSelection, CallSums, LedgerRow, Spend


class HandClock:
    """A clock that only sleeping moves; sleepers wake in the order of their times."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic_seconds(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        wake_at = self.seconds + seconds
        await asyncio.sleep(0)
        self.seconds = max(self.seconds, wake_at)


class MemoryLedger:
    """A ledger that forgets when the test ends."""

    def __init__(self) -> None:
        self.by_key: dict[CallKey, LedgerRow] = {}
        self.paid: list[LedgerRow] = []

    async def find(self, key: CallKey) -> LedgerRow | None:
        return self.by_key.get(key)

    async def record(self, row: LedgerRow) -> LedgerRow:
        await asyncio.sleep(0)
        kept = self.by_key.setdefault(row.key, row)
        if kept is row or kept.run_id != row.run_id:
            self.paid.append(row)
        return kept

    async def spend(self, run_id: str) -> Spend:
        rows = [row for row in self.paid if row.run_id == run_id]
        return Spend(
            known_usd=sum(row.cost_usd or 0.0 for row in rows), calls=len(rows), unpriced_calls=sum(row.cost_usd is None for row in rows)
        )

    async def rows(self, selection: CallSelection = EVERY_CALL) -> AsyncIterator[LedgerRow]:
        for row in self.by_key.values():
            if _fits(row, selection):
                yield row

    async def groups(self, selection: CallSelection = EVERY_CALL) -> tuple[CallGroup, ...]:
        names = ("day", "scope", "purpose", "provider", "model")
        by_name: dict[tuple[Any, ...], list[LedgerRow]] = {}
        async for row in self.rows(selection):
            day = row.finished_at.astimezone(UTC).date()
            by_name.setdefault((day, row.key.scope, row.purpose, row.provider, row.model), []).append(row)
        return tuple(CallGroup(**dict(zip(names, group, strict=True)), sums=_sums(by_name[group])) for group in sorted(by_name))

    async def remove(self, keys: Sequence[CallKey]) -> int:
        return sum(self.by_key.pop(key, None) is not None for key in set(keys))

    async def aclose(self) -> None: ...


def _fits(row: LedgerRow, selection: CallSelection) -> bool:
    return (
        selection.scope in (None, row.key.scope)
        and selection.purpose in (None, row.purpose)
        and (selection.since is None or row.finished_at >= selection.since)
        and (selection.before is None or row.finished_at < selection.before)
        and row.key.request_digest.startswith(selection.digest_start or "")
    )


def _sums(rows: Sequence[LedgerRow]) -> CallSums:
    prompt = [row.reply.usage.prompt_tokens for row in rows]
    completion = [row.reply.usage.completion_tokens for row in rows]
    moments = [row.finished_at for row in rows]
    return CallSums(
        calls=len(rows),
        cost_usd=known_sum(row.cost_usd for row in rows),
        unpriced_calls=sum(row.cost_usd is None for row in rows),
        prompt_tokens=_known(prompt),
        completion_tokens=_known(completion),
        uncounted_calls=sum(None in both for both in zip(prompt, completion, strict=True)),
        first_finished_at=min(moments),
        last_finished_at=max(moments),
    )


def _known(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


class UnitPrices:
    """One price for every token, or no price at all."""

    version = "unit"

    def __init__(self, *, usd_per_token: float | None) -> None:
        self.usd_per_token = usd_per_token

    def cost_usd(self, provider: str, model: str, usage: Usage) -> float | None:
        if self.usd_per_token is None or usage.total_tokens is None:
            return None
        return usage.total_tokens * self.usd_per_token
