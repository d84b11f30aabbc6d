"""The spend cap: the next call is asked only if its estimated cost still fits."""

from evalplatform.calls.counts import PriceTable
from evalplatform.kernel.errors import BudgetExhaustedError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.ledger import Ledger
from evalplatform.ports.model_client import ModelRequest

CHARS_PER_TOKEN = 4
ASSUMED_COMPLETION_TOKENS = 1_024


def estimated_usage(request: ModelRequest) -> Usage:
    """Return a rough usage before the call: four characters a token, and the whole `max_tokens` (1,024 when unset) as the reply."""
    prompt_chars = sum(len(message.content) for message in request.messages)
    return Usage(
        prompt_tokens=-(-prompt_chars // CHARS_PER_TOKEN), completion_tokens=request.sampling.max_tokens or ASSUMED_COMPLETION_TOKENS
    )


class Budget:
    """A cap on what one run pays, checked against the ledger, so that it holds across the processes of a run.

    All desks of a process that ask for one run share one budget: what each of them has in flight counts for the others.
    Calls in flight are reserved at their estimate, scaled up by the worst ratio of real to estimated cost seen so far (languages and
    providers differ in characters a token). A request without a known price is not asked under a cap: its cost could not be counted.
    """

    def __init__(self, cap_usd: float, *, run_id: str, ledger: Ledger) -> None:
        self._cap_usd = cap_usd
        self._run_id = run_id
        self._ledger = ledger
        self._reserved_usd = 0.0
        self._worst_ratio = 1.0

    async def reserve(self, request: ModelRequest, *, prices: PriceTable) -> float:
        """Reserve the estimated cost of a call and return it; `release` takes it back once the call is in the ledger.

        Raises:
            BudgetExhaustedError: the estimate does not fit, or the price is unknown.
        """
        estimate_usd = prices.cost_usd(request.provider, request.model, estimated_usage(request))
        if estimate_usd is None:
            raise BudgetExhaustedError(
                f"{request.provider}:{request.model} has no known price, so a cap of ${self._cap_usd:g} cannot be kept. "
                "Give the endpoint `prices` in the project file, or run without a cap."
            )
        estimate_usd *= self._worst_ratio
        self._reserved_usd += estimate_usd  # before the await: two calls must not both fit in one remainder
        spent_usd = (await self._ledger.spend(self._run_id)).known_usd
        if spent_usd + self._reserved_usd > self._cap_usd:
            self._reserved_usd -= estimate_usd
            raise BudgetExhaustedError(
                f"The next call could pass the cap of ${self._cap_usd:g} (spent ${spent_usd:.4f}, "
                f"${self._reserved_usd:.4f} reserved for calls in flight). "
                f"What is finished is kept; {_rerun(estimate_usd, self._cap_usd)}"
            )
        return estimate_usd

    def release(self, estimate_usd: float, *, cost_usd: float | None) -> None:
        """Give back a reservation, and learn from what the call really cost (None when it failed or its usage is unknown)."""
        self._reserved_usd -= estimate_usd
        if cost_usd is not None and estimate_usd > 0:
            self._worst_ratio = max(self._worst_ratio, self._worst_ratio * cost_usd / estimate_usd)


def _rerun(estimate_usd: float, cap_usd: float) -> str:
    if estimate_usd > cap_usd:
        return f"that call alone may cost ${estimate_usd:.4f}, so a rerun needs a higher cap."
    return "a rerun asks only what is missing, and may pay up to the cap anew."
