"""The ledger port: one row per finished model call, durable before its reply is used."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Literal, Protocol

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.ports.model_client import ModelReply

Purpose = Literal["answer", "judge", "probe"]


class CallKey(Value):
    """What makes two calls the same call.

    `scope` is `shared` for suites; only `shared` is replayed. `draw` is the index of a repeated sample of one request (a judge call
    inherits the draw of the answer it grades); `attempt` counts judge redraws that got a reply.
    """

    scope: str
    request_digest: str
    draw: int = Field(default=0, ge=0)
    attempt: int = Field(default=0, ge=0)


class LedgerRow(Value):
    """One finished call. `cost_usd` is None when no price is known; `price_table` names the dated table that priced it."""

    key: CallKey
    project: str
    run_id: str
    purpose: Purpose
    provider: str
    model: str
    reply: ModelReply
    cost_usd: float | None
    price_table: str | None
    finished_at: datetime


class Spend(Value):
    """What was paid under one budget: known cost, and how many calls have no known price."""

    known_usd: float = 0.0
    calls: int = 0
    unpriced_calls: int = 0


class Ledger(Protocol):
    """The store of finished calls. Safe for concurrent writers in one process and across processes."""

    async def find(self, key: CallKey) -> LedgerRow | None:
        """Return the row with that key, or None."""
        ...

    async def record(self, row: LedgerRow) -> LedgerRow:
        """Make the row durable, then return it.

        If another writer recorded the same key first, that first row stays and is returned: a finished call is never overwritten.
        """
        ...

    async def spend(self, run_id: str) -> Spend:
        """Return what `run_id` has paid so far, over all processes."""
        ...

    def rows(self, *, scope: str | None = None) -> AsyncIterator[LedgerRow]:
        """Iterate over the rows, oldest first, for export and audit."""
        ...

    async def aclose(self) -> None:
        """Write what is queued and close."""
        ...
