"""Doubles for tests of the pure rooms: a clock moved by hand, a ledger in memory, one price for every token."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from evalplatform.kernel.usage import Usage
from evalplatform.ports.ledger import CallKey, LedgerRow, Spend


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

    async def rows(self, *, scope: str | None = None) -> AsyncIterator[LedgerRow]:
        for row in self.by_key.values():
            if scope is None or row.key.scope == scope:
                yield row

    async def aclose(self) -> None: ...


class UnitPrices:
    """One price for every token, or no price at all."""

    version = "unit"

    def __init__(self, *, usd_per_token: float | None) -> None:
        self.usd_per_token = usd_per_token

    def cost_usd(self, provider: str, model: str, usage: Usage) -> float | None:
        if self.usd_per_token is None or usage.total_tokens is None:
            return None
        return usage.total_tokens * self.usd_per_token
