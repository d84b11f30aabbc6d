from datetime import UTC, datetime
from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.adapters.models.prices import EndpointPrices, TokenPrices, cost_usd, estimated_cost_usd, price_table
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import Message, ModelRequest, Sampling

USAGE = Usage(prompt_tokens=1_000_000, completion_tokens=100_000)
OWN = TokenPrices(input_per_million_usd=2.0, output_per_million_usd=8.0, cached_input_per_million_usd=0.5)
AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_known_model_is_priced_by_the_dated_table() -> None:
    # gpt-4o-mini: $0.15 and $0.60 a million tokens (OpenAI's price page).
    assert cost_usd("openai", "gpt-4o-mini", USAGE, overrides=None, at=AT) == pytest.approx(0.15 + 0.06)
    assert price_table("openai", overrides=None) == f"genai-prices {version('genai-prices')}"


def test_input_that_the_cache_served_is_cheaper() -> None:
    cached = USAGE.with_changes(cache_read_tokens=900_000)
    assert (cost_usd("openai", "gpt-4o-mini", cached, overrides=None, at=AT) or 9.0) < 0.21


def test_every_provider_we_map_is_in_the_table() -> None:
    from genai_prices.data_snapshot import find_provider_by_id, get_snapshot

    from evalplatform.adapters.models import prices

    unknown = [name for name in prices._TABLE_PROVIDERS.values() if find_provider_by_id(get_snapshot().providers, name) is None]
    assert unknown == []


@pytest.mark.parametrize(
    ("provider", "model", "usage"),
    [
        ("openai", "no-such-model", USAGE),
        ("openai-compatible", "gpt-4o-mini", USAGE),
        ("vllm", "gpt-4o-mini", USAGE),
        ("openai", "gpt-4o-mini", Usage(prompt_tokens=5)),
        ("openai", "gpt-4o-mini", Usage(completion_tokens=5)),
        ("openai", "gpt-4o-mini", Usage()),
    ],
)
def test_an_unknown_price_or_usage_is_none_and_never_zero(provider: str, model: str, usage: Usage) -> None:
    assert cost_usd(provider, model, usage, overrides=None, at=AT) is None


def test_the_projects_own_prices_go_before_any_table() -> None:
    assert cost_usd("openai", "gpt-4o-mini", USAGE, overrides=OWN) == pytest.approx(2.0 + 0.8)
    assert cost_usd("vllm", "qwen3", USAGE.with_changes(cache_read_tokens=500_000), overrides=OWN) == pytest.approx(1.0 + 0.25 + 0.8)
    assert cost_usd("vllm", "qwen3", Usage(), overrides=OWN) is None
    assert price_table("openai", overrides=OWN) == "project"


def test_cached_input_costs_as_much_as_other_input_where_nothing_is_said() -> None:
    own = TokenPrices(input_per_million_usd=2.0, output_per_million_usd=8.0)
    assert own.cost_usd(USAGE.with_changes(cache_read_tokens=1_000_000)) == own.cost_usd(USAGE)


def test_nothing_is_bought_offline_but_stated_prices_count_there_too() -> None:
    assert cost_usd("offline", "extractive", Usage(), overrides=None) == 0.0
    assert price_table("offline", overrides=None) == "offline"
    assert cost_usd("offline", "extractive", USAGE, overrides=OWN) == pytest.approx(2.8)


@given(prompt=st.integers(0, 10**7), completion=st.integers(0, 10**7), cached=st.integers(0, 10**8))
def test_a_cost_is_never_negative_and_a_cache_never_makes_it_dearer(prompt: int, completion: int, cached: int) -> None:
    cost = OWN.cost_usd(Usage(prompt_tokens=prompt, completion_tokens=completion, cache_read_tokens=cached))
    plain = OWN.cost_usd(Usage(prompt_tokens=prompt, completion_tokens=completion))
    assert cost is not None
    assert plain is not None
    assert 0 <= cost <= plain


def test_a_call_is_estimated_before_it_is_made() -> None:
    request = ModelRequest(
        provider="vllm", model="m", messages=(Message(role="user", content="x" * 4_000),), sampling=Sampling(max_tokens=500)
    )
    assert estimated_cost_usd(request, overrides=OWN) == pytest.approx((1_000 * 2.0 + 500 * 8.0) / 1e6)
    assert estimated_cost_usd(request, overrides=None) is None


def test_an_endpoints_price_table_says_its_version_and_prices_its_calls() -> None:
    prices = EndpointPrices("openai", now=lambda: AT)
    assert prices.version.startswith("genai-prices ")
    assert prices.cost_usd("openai", "gpt-4o-mini", USAGE) == cost_usd("openai", "gpt-4o-mini", USAGE, overrides=None, at=AT)
