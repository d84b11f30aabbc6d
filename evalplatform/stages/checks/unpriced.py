"""The check `unpriced`, of answers and of scores: is what was paid known?"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from evalplatform.calls.counts import CallCounts
from evalplatform.kernel.text import plural
from evalplatform.project.policy import SuiteChecks
from evalplatform.reports import words
from evalplatform.stages.checks.check import Finding, not_told


class PricedRow(Protocol):
    """A stored answer or judgement: how many calls it took, and what they cost where that is known."""

    @property
    def calls(self) -> int:
        """Its calls."""
        ...

    @property
    def cost_usd(self) -> float | None:
        """The known cost of its calls; None where none is known."""
        ...


@dataclass(frozen=True)
class CallPrices:
    """How many calls stand behind stored rows, whichever run paid for them, and how many of those have no known price."""

    calls: int
    unpriced: int


def call_prices(rows: Iterable[PricedRow], run: CallCounts) -> CallPrices:
    """Return what the rows say of the prices of their calls.

    The rows are asked, since the run that stored them need not have paid for them: after an interruption it finds most in the ledger. A row
    of several calls hides one without a price among others that have one, so the run's own count is the least there is.
    """
    calls = unpriced = 0
    for row in rows:
        calls += row.calls
        unpriced += row.calls if row.cost_usd is None else 0
    return CallPrices(calls=calls, unpriced=max(unpriced, min(run.unpriced, calls)))


def unpriced_finding(prices: CallPrices, settings: SuiteChecks, *, what: str) -> Finding:
    """Return whether calls have a price; `what` names them, such as `answer`."""
    if not prices.calls:
        return not_told(f"There is no {what} call, so there is no price to check.")
    rate, limit = prices.unpriced / prices.calls, settings.unpriced.most_unpriced_rate
    return Finding(
        passed=rate <= limit,
        sentence=f"{words.share_up(rate)} of {plural(prices.calls, f'{what} call')} have no known price: costs are partial, and no spend "
        "cap counts them. `prices` of the endpoint says what they cost."
        if prices.unpriced
        else f"{plural(prices.calls, f'{what} call')}, each with a known price.",
        value=rate,
        unit="share of calls",
        limit=limit,
    )
