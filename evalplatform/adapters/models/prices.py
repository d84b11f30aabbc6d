"""What a call costs: by the project's own prices, else by the dated table of the `genai-prices` package.

The table is the one installed; it is never updated over the net, so that its version says which prices were used.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.metadata import version

from pydantic import Field

from evalplatform.calls.budget import estimated_usage
from evalplatform.kernel.usage import Usage
from evalplatform.kernel.values import Value
from evalplatform.ports.model_client import ModelRequest

PROJECT_TABLE = "project"
OFFLINE_TABLE = "offline"

# Our provider -> the table's. A compatible server may run any model under any name, so its provider is in no table.
_TABLE_PROVIDERS = {
    "anthropic": "anthropic",
    "azure": "azure",
    "bedrock": "aws",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "google": "google",
    "google-cloud": "google",
    "groq": "groq",
    "mistral": "mistral",
    "openai": "openai",
    "openai-responses": "openai",
    "openrouter": "openrouter",
    "together": "together",
    "xai": "x-ai",
}


class TokenPrices(Value):
    """An endpoint's own prices, in US dollars for a million tokens. Cached input costs as much as other input where nothing is said."""

    input_per_million_usd: float = Field(ge=0)
    output_per_million_usd: float = Field(ge=0)
    cached_input_per_million_usd: float | None = Field(default=None, ge=0)

    def cost_usd(self, usage: Usage) -> float | None:
        """Return what the usage costs, or None where its prompt or completion tokens are unknown."""
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        cached = min(usage.cache_read_tokens or 0, usage.prompt_tokens)
        cached_price = self.input_per_million_usd if self.cached_input_per_million_usd is None else self.cached_input_per_million_usd
        input_usd = (usage.prompt_tokens - cached) * self.input_per_million_usd + cached * cached_price
        return (input_usd + usage.completion_tokens * self.output_per_million_usd) / 1_000_000


@dataclass(frozen=True)
class EndpointPrices:
    """The price table of one endpoint; it is a `calls.counts.PriceTable`.

    Args:
        provider: the endpoint's provider.
        overrides: the endpoint's own prices, which go before any table.
        now: says when a call is priced; some prices change by date or hour. None reads the machine's clock.
    """

    provider: str
    overrides: TokenPrices | None = None
    now: Callable[[], datetime] | None = None

    @property
    def version(self) -> str:
        """The table's name: `project`, `offline`, or `genai-prices` and its version."""
        return price_table(self.provider, overrides=self.overrides)

    def cost_usd(self, provider: str, model: str, usage: Usage) -> float | None:
        """Return the cost of one call, or None when price or usage is unknown."""
        return cost_usd(provider, model, usage, overrides=self.overrides, at=None if self.now is None else self.now())


def cost_usd(provider: str, model: str, usage: Usage, *, overrides: TokenPrices | None, at: datetime | None = None) -> float | None:
    """Return what one call costs in US dollars; None, never 0, when the price or the usage is unknown.

    The offline provider costs 0.0 at any usage, since nothing is bought. Reasoning tokens are part of the completion and are not counted
    again. Where the provider does not say what its cache served, all input is priced as uncached.

    Args:
        provider: the endpoint's provider, as the project names it.
        model: the model, as the provider names it.
        usage: the call's tokens.
        overrides: the endpoint's own prices.
        at: when the call was made, for prices that change; None is now.
    """
    if overrides is not None:
        return overrides.cost_usd(usage)
    if provider == "offline":
        return 0.0
    table_provider = _TABLE_PROVIDERS.get(provider)
    if table_provider is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    import genai_prices  # 0.4 s of CPU: only where a price is asked for

    counted = genai_prices.Usage(
        input_tokens=usage.prompt_tokens,
        cache_read_tokens=min(usage.cache_read_tokens or 0, usage.prompt_tokens),
        output_tokens=usage.completion_tokens,
    )
    try:
        price = genai_prices.calc_price(counted, model, provider_id=table_provider, genai_request_timestamp=at)
    except LookupError:
        return None
    return float(price.total_price)


def estimated_cost_usd(request: ModelRequest, *, overrides: TokenPrices | None, at: datetime | None = None) -> float | None:
    """Return what a call may cost before it is made, by `calls.budget.estimated_usage`; None when the price is unknown."""
    return cost_usd(request.provider, request.model, estimated_usage(request), overrides=overrides, at=at)


def price_table(provider: str, *, overrides: TokenPrices | None) -> str:
    """Return the name of the table that `cost_usd` reads: `project`, `offline`, or `genai-prices` and its version."""
    if overrides is not None:
        return PROJECT_TABLE
    return OFFLINE_TABLE if provider == "offline" else _genai_prices_version()


@cache
def _genai_prices_version() -> str:
    return f"genai-prices {version('genai-prices')}"
