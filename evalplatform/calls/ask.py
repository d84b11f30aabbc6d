"""The one way a use-case asks a model: by an asker, which looks in the ledger first."""

from typing import Protocol

from evalplatform.kernel.values import Value
from evalplatform.ports.ledger import LedgerRow, Purpose
from evalplatform.ports.model_client import ModelRequest


class CallOutcome(Value):
    """A finished call. `replayed`: it was in the ledger before this run asked. `shared`: an identical call of this run was in flight."""

    row: LedgerRow
    replayed: bool
    shared: bool = False


class Asker(Protocol):
    """Asks one endpoint's models through ledger, limiter, retry, breaker and budget."""

    async def ask(self, request: ModelRequest, *, purpose: Purpose, draw: int = 0, attempt: int = 0) -> CallOutcome:
        """Return the finished call; its ledger row is durable by then.

        Args:
            request: what to ask. Its sampling seed is that of draw 0; the asker sends `seed + draw`.
            purpose: what the call is for, kept in the ledger and in the counts.
            draw: index of the repeated sample.
            attempt: 0, or the number of the redraw of a reply that could not be read.

        Raises:
            CallError: no reply after all retries; the caller keeps a failed row.
            RunStoppedError: the budget is spent, the breaker is open, or the server asks for too long a wait; the run ends.
        """
        ...
