"""Which model a name means, whoever serves it: makers, routers and clouds spell one model in several ways."""

import re

# Whose names stand before a model's, with a colon (`openai:gpt-x`) or a dot (`anthropic.claude-x`). A list, since a bare model may have a
# colon too (`mistral:7b`) and a dot as well (`gpt-4.1`).
VENDORS = frozenset(
    {
        "ai21",
        "alibaba",
        "amazon",
        "anthropic",
        "azure",
        "bedrock",
        "cohere",
        "databricks",
        "deepseek",
        "fireworks",
        "google",
        "groq",
        "huggingface",
        "meta",
        "microsoft",
        "minimax",
        "mistral",
        "mistralai",
        "moonshot",
        "moonshotai",
        "nvidia",
        "ollama",
        "openai",
        "openrouter",
        "perplexity",
        "qwen",
        "stability",
        "together",
        "vertex",
        "vertexai",
        "writer",
        "xai",
        "zai",
        "zhipu",
    }
)
REGIONS = frozenset({"ap", "apac", "au", "ca", "eu", "global", "jp", "sa", "us", "us-gov"})

_DOTTED = re.compile(rf"^(?:(?:{'|'.join(map(re.escape, sorted(REGIONS)))})\.)?(?:{'|'.join(map(re.escape, sorted(VENDORS)))})\.(?=.)")
_REVISION = re.compile(r"-v\d+:\d+$")  # of a cloud's model id
_SIZE = re.compile(r"\d+(?:\.\d+)?[bm](?:-|$)|e\d+b")  # `llama:8b` and `llama:70b` are two models
_RELEASE = re.compile(r"[-@:](?:20\d{6}|20\d\d-\d\d-\d\d|latest)$")


def same_model(one: str, other: str) -> bool:
    """Say whether two names mean one model, as far as names tell: see `base_model_name`."""
    return base_model_name(one) == base_model_name(other)


def base_model_name(name: str) -> str:
    """Return a model's name in lower case, without who serves it (`openai/`, `openai:`, `us.anthropic.`), variant (`:free`) and date.

    A date is YYYYMMDD or YYYY-MM-DD; `latest` counts as one. A size behind a colon (`:8b`) is no variant, and a fine-tuned model
    (`ft:...`) is none of the model that it was made from.

    Example:
        >>> base_model_name("openai/gpt-4o-2024-08-06"), base_model_name("us.anthropic.claude-x-20250514-v1:0")
        ('gpt-4o', 'claude-x')
    """
    whole = name.casefold().strip()
    if whole.startswith("ft:"):
        return whole
    model = _REVISION.sub("", _DOTTED.sub("", whole.rpartition("/")[2]))
    return _RELEASE.sub("", _without_colon(model)) or whole


def _without_colon(model: str) -> str:
    first, colon, rest = model.partition(":")
    if not colon or not rest:
        return first
    if first in VENDORS and not _SIZE.match(rest) and rest != "latest":
        return _without_colon(rest)
    return model if _SIZE.match(rest) else first
