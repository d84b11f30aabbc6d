"""Opens a model endpoint: one registry, one line a provider."""

from collections.abc import Callable

from evalplatform.adapters.clock import SystemClock
from evalplatform.adapters.models.endpoint import ModelEndpoint, checked_base_url, required_key
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.registry import Registry
from evalplatform.ports.clock import Clock
from evalplatform.ports.model_client import ModelClient

ProviderOpener = Callable[[ModelEndpoint, Clock], ModelClient]

model_providers: Registry[ProviderOpener] = Registry("model_providers", noun="model provider")
"""Every provider by name. Another package adds one by an entry point in the group `evalplatform.model_providers`."""


def open_model_client(endpoint: ModelEndpoint, *, clock: Clock | None = None) -> ModelClient:
    """Return a client for the endpoint. Nothing is sent and no connection opened until the first call.

    Args:
        endpoint: where to ask.
        clock: for latencies and dates; the machine's clock when None.

    Raises:
        UnknownNameError: no provider has that name; the nearest one is named.
        MissingSecretError: the environment holds no key; the variable is named.
        InputError: a field makes no sense for the provider, or a package is not installed.
    """
    return model_providers.get(endpoint.provider)(endpoint, clock or SystemClock())


def _chat_completions(*, base_url: str | None = None, key_env: str | None = None, max_tokens_field: str = "max_tokens") -> ProviderOpener:
    """Return an opener of the lean client for a server of chat completions, with the provider's customary address and key variable."""

    def opened(endpoint: ModelEndpoint, clock: Clock) -> ModelClient:
        from evalplatform.adapters.models.chat_completions import ChatCompletions
        from evalplatform.adapters.models.lean import LeanClient

        address = endpoint.base_url or base_url
        if address is None:
            raise InputError(
                f"the provider {endpoint.provider!r} needs the server's address, such as http://localhost:8000/v1.", field="base_url"
            )
        variable = endpoint.key_env or key_env
        return LeanClient(
            ChatCompletions(max_tokens_field=max_tokens_field),
            base_url=checked_base_url(address),
            key=None if variable is None else required_key(variable),
            stream=endpoint.stream,
            timeout_seconds=endpoint.timeout_seconds,
            max_connections=endpoint.max_connections,
            clock=clock,
        )

    return opened


def _anthropic(endpoint: ModelEndpoint, clock: Clock) -> ModelClient:
    from evalplatform.adapters.models.anthropic_messages import AnthropicMessages
    from evalplatform.adapters.models.lean import LeanClient

    return LeanClient(
        AnthropicMessages(),
        base_url=checked_base_url(endpoint.base_url or "https://api.anthropic.com").removesuffix("/v1"),
        key=required_key(endpoint.key_env or "ANTHROPIC_API_KEY"),
        stream=endpoint.stream,
        timeout_seconds=endpoint.timeout_seconds,
        max_connections=endpoint.max_connections,
        clock=clock,
    )


def _offline(endpoint: ModelEndpoint, clock: Clock) -> ModelClient:
    from evalplatform.adapters.models.offline import ExtractiveReader

    for field in ("base_url", "key_env"):
        if getattr(endpoint, field) is not None:
            raise InputError("the offline provider asks nobody, so it takes none; remove it.", field=field)
    _refuse_stream(endpoint)
    return ExtractiveReader()


def _through_pydantic_ai(endpoint: ModelEndpoint, clock: Clock) -> ModelClient:
    from evalplatform.adapters.models.pydantic_ai import open_pydantic_ai_client

    _refuse_stream(endpoint)
    return open_pydantic_ai_client(endpoint, clock)


def _refuse_stream(endpoint: ModelEndpoint) -> None:
    if endpoint.stream:
        raise InputError(f"the provider {endpoint.provider!r} is asked without streaming; remove it.", field="stream")


# Any server that speaks chat completions. `openai-chat` is the name that pydantic-ai gives the same thing.
model_providers.register("openai-compatible")(_chat_completions())
model_providers.register("openai-chat")(_chat_completions())
model_providers.register("vllm")(_chat_completions(base_url="http://localhost:8000/v1"))
model_providers.register("ollama")(_chat_completions(base_url="http://localhost:11434/v1"))
model_providers.register("openrouter")(_chat_completions(base_url="https://openrouter.ai/api/v1", key_env="OPENROUTER_API_KEY"))

# One question and one answer need nothing that the Responses API adds, so `openai` is chat completions, for speed and because the same
# request can then be sent to a compatible server. `openai-responses` is the other API.
model_providers.register("openai")(
    _chat_completions(base_url="https://api.openai.com/v1", key_env="OPENAI_API_KEY", max_tokens_field="max_completion_tokens")
)
model_providers.register("anthropic")(_anthropic)
model_providers.register("offline")(_offline)

for _name in (
    "azure",
    "bedrock",
    "cerebras",
    "cohere",
    "deepseek",
    "fireworks",
    "google",
    "google-cloud",
    "groq",
    "huggingface",
    "mistral",
    "openai-responses",
    "together",
    "xai",
):
    model_providers.register(_name)(_through_pydantic_ai)
