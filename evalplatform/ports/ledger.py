"""The ledger port: one row per finished model call, durable before its reply is used."""

from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime
from typing import Protocol

from pydantic import AwareDatetime, Field

from evalplatform.kernel.values import Value
from evalplatform.ports.model_client import ModelReply
from evalplatform.ports.purposes import Purpose as Purpose


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


class CallSelection(Value):
    """Which calls: those that fit everything that is given.

    `since` is the first moment that fits, `before` the first that no longer does. `digest_start` is how the request digest begins,
    `sha256:` included.
    """

    scope: str | None = None
    purpose: Purpose | None = None
    since: AwareDatetime | None = None
    before: AwareDatetime | None = None
    digest_start: str | None = None


EVERY_CALL = CallSelection()


class CallSums(Value):
    """What a number of calls add up to.

    A sum is over the calls that say so much, and None where none does: `unpriced_calls` have no known price, `uncounted_calls` lack their
    prompt or completion tokens.
    """

    calls: int
    cost_usd: float | None
    unpriced_calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    uncounted_calls: int
    first_finished_at: datetime | None
    last_finished_at: datetime | None


class CallGroup(Value):
    """The calls of one day (UTC), scope, purpose, provider and model."""

    day: date
    scope: str
    purpose: Purpose
    provider: str
    model: str
    sums: CallSums


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

    def rows(self, selection: CallSelection = EVERY_CALL) -> AsyncIterator[LedgerRow]:
        """Iterate over the rows, oldest first, for export and audit; a page of them is in memory at a time."""
        ...

    async def groups(self, selection: CallSelection = EVERY_CALL) -> tuple[CallGroup, ...]:
        """Return what is there, added up in the database, in the order of day, scope, purpose, provider and model."""
        ...

    async def remove(self, keys: Sequence[CallKey]) -> int:
        """Forget the calls with those keys, and return how many there were. What their runs have paid stays known."""
        ...

    async def aclose(self) -> None:
        """Write what is queued and close."""
        ...
