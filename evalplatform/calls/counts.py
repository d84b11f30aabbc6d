"""How the calls of a run were answered, counted apart: paid, replayed, shared, failed."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from evalplatform.kernel.usage import Usage
from evalplatform.kernel.values import Value
from evalplatform.ports.ledger import Purpose


class CallCounts(Value):
    """How the calls of a stage were answered.

    paid: asked of the model and paid for now. replayed: answered by the ledger from an earlier run. shared: answered by an identical
    call of this run. failed: ended without a reply, retries included. `paid_usd` and `replayed_usd` are sums over the calls with a known
    price, None when there is none; `unpriced` counts the paid calls without one.
    """

    paid: int = 0
    replayed: int = 0
    shared: int = 0
    failed: int = 0
    paid_usd: float | None = None
    replayed_usd: float | None = None
    unpriced: int = 0


@dataclass
class CallTally:
    """Counts while they grow; `counts()` freezes them. `asked` holds, by purpose, every call that was wanted, however it was answered."""

    paid: int = 0
    replayed: int = 0
    shared: int = 0
    failed: int = 0
    paid_usd: float | None = None
    replayed_usd: float | None = None
    unpriced: int = 0
    asked: Counter[Purpose] = field(default_factory=Counter)

    def add_paid(self, cost_usd: float | None) -> None:
        """Count a call that was paid for now."""
        self.paid += 1
        if cost_usd is None:
            self.unpriced += 1
        else:
            self.paid_usd = (self.paid_usd or 0.0) + cost_usd

    def add_replayed(self, cost_usd: float | None) -> None:
        """Count a call that an earlier run paid for."""
        self.replayed += 1
        if cost_usd is not None:
            self.replayed_usd = (self.replayed_usd or 0.0) + cost_usd

    def counts(self) -> CallCounts:
        """Return the counts as they stand."""
        return CallCounts(**{name: getattr(self, name) for name in CallCounts.model_fields})


class PriceTable(Protocol):
    """What a call costs, by a dated table. Unknown is None, never 0."""

    @property
    def version(self) -> str:
        """The table's name and date or version, kept beside every cost."""
        ...

    def cost_usd(self, provider: str, model: str, usage: Usage) -> float | None:
        """Return the cost of one call, or None when the price or the usage is unknown."""
        ...
