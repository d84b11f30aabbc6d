"""Every provider that the lean client does not speak to, through pydantic-ai's direct requests."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from pydantic_ai import messages as wire
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from evalplatform.adapters.models.endpoint import ModelEndpoint, checked_base_url, required_key
from evalplatform.adapters.models.pydantic_ai_errors import filtered, lacks_credentials, typed_error
from evalplatform.kernel.errors import CallError, FatalCallError, InputError, MissingSecretError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.clock import Clock
from evalplatform.ports.model_client import FinishReason, Message, ModelReply, ModelRequest

_FINISH_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length", "content_filter": "content_filter"}
_OWN_EXTRAS = {"google": "google", "google-cloud": "google"}  # provider -> the extra of this package that installs its client


class PydanticAiClient:
    """Asks models of one provider through pydantic-ai, one attempt a call.

    Args:
        model_named: returns pydantic-ai's model of a name; asked once a name.
        who: how messages name the provider.
        key: the API key where it is known here, to blank it out of error texts.
        timeout_seconds: for one attempt as a whole, enforced by pydantic-ai for every provider.
        clock: for latencies.
        provider: pydantic-ai's provider, whose connections `aclose` closes; None where there is none.
    """

    def __init__(
        self,
        model_named: Callable[[str], Model],
        *,
        who: str,
        key: str | None,
        timeout_seconds: float,
        clock: Clock,
        provider: Provider[Any] | None = None,
    ) -> None:
        self._model_named = model_named
        self._models: dict[str, Model] = {}
        self._who = who
        self._key = key
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._provider = provider
        self._entered = False
        self._entering = asyncio.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._who})"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the reply; see `ports.model_client.ModelClient`. A reply that the provider filtered is an empty text."""
        who = f"{request.model} at {self._who}"
        started = self._clock.monotonic_seconds()
        try:
            await self._enter()
            model = self._model(request.model)
            settings = request_settings(request, model, timeout_seconds=self._timeout_seconds)
            response = await model_request(model, wire_messages(request.messages), model_settings=settings, instrument=False)
        except CallError:
            raise
        except Exception as error:
            latency_seconds = self._clock.monotonic_seconds() - started
            if filtered(error):
                return ModelReply(text="", finish_reason="content_filter", latency_seconds=latency_seconds)
            known = typed_error(error, who=who, key=self._key)
            if known is None:
                raise
            raise known from None  # their error may hold the server's text, and in it the key
        return _reply(response, latency_seconds=self._clock.monotonic_seconds() - started)

    async def aclose(self) -> None:
        """Close the provider's connections; calling it twice is fine."""
        if self._entered and self._provider is not None:
            self._entered = False
            await self._provider.__aexit__(None, None, None)

    def _model(self, name: str) -> Model:
        if name not in self._models:
            self._models[name] = self._model_named(name)
        return self._models[name]

    async def _enter(self) -> None:
        if self._provider is None or self._entered:
            return
        async with self._entering:
            if not self._entered:
                await self._provider.__aenter__()
                self._entered = True


def open_pydantic_ai_client(endpoint: ModelEndpoint, clock: Clock) -> PydanticAiClient:
    """Return a client for a provider that pydantic-ai knows by the same name.

    Raises:
        InputError: the provider's package is not installed (the message says how to get it), or it takes no base URL.
        MissingSecretError: the key is not in the environment.
    """
    if endpoint.provider == "bedrock":
        key, provider = None, _bedrock_provider(endpoint)
    else:
        key = None if endpoint.key_env is None else required_key(endpoint.key_env)
        provider = _opened_provider(endpoint, key)
    return PydanticAiClient(
        lambda name: infer_model(f"{endpoint.provider}:{name}", provider_factory=lambda _: provider),
        who=endpoint.provider,
        key=key,
        timeout_seconds=endpoint.timeout_seconds,
        clock=clock,
        provider=provider,
    )


def wire_messages(messages: tuple[Message, ...]) -> list[wire.ModelMessage]:
    """Return the conversation in pydantic-ai's form: runs of system and user messages as requests, assistant messages as responses."""
    converted: list[wire.ModelMessage] = []
    for message in messages:
        if message.role == "assistant":
            converted.append(wire.ModelResponse(parts=[wire.TextPart(content=message.content)]))
            continue
        part = wire.SystemPromptPart(content=message.content) if message.role == "system" else wire.UserPromptPart(content=message.content)
        last = converted[-1] if converted else None
        if isinstance(last, wire.ModelRequest):
            last.parts = [*last.parts, part]
        else:
            converted.append(wire.ModelRequest(parts=[part]))
    return converted


def request_settings(request: ModelRequest, model: Model, *, timeout_seconds: float) -> ModelSettings:
    """Return the sampling as pydantic-ai's settings, with SDK retries off.

    A seed is not sent where the provider has none.

    Raises:
        FatalCallError: `sampling.extra` holds parameters and the provider takes none; dropping them would answer another question.
    """
    sampling, unsupported = request.sampling, model.unsupported_settings
    if sampling.extra and "extra_body" in unsupported:
        raise FatalCallError(
            "bad_request", f"{model.system} takes no extra parameters; remove sampling.extra ({', '.join(sampling.extra)})."
        )
    settings: dict[str, object] = {
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "timeout": timeout_seconds,
        "max_retries": 0,
        "extra_body": dict(sampling.extra) or None,
    }
    sent = {name: value for name, value in settings.items() if value is not None and name not in unsupported}
    return cast("ModelSettings", {"request_timeout": timeout_seconds, **sent})


def _reply(response: wire.ModelResponse, *, latency_seconds: float) -> ModelReply:
    reason = response.finish_reason
    return ModelReply(
        text="".join(part.content for part in response.parts if isinstance(part, wire.TextPart)),
        finish_reason=None if reason is None else _FINISH_REASONS.get(reason, "other"),
        usage=_usage(response.usage),
        latency_seconds=latency_seconds,
        model_returned=response.model_name or None,
    )


def _usage(usage: RequestUsage) -> Usage:
    """Return the usage; a provider that measured nothing leaves zeros, which are not counts."""
    if usage.unmeasured_requests or (usage.input_tokens == 0 and usage.output_tokens == 0):
        return Usage()
    return Usage(
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        reasoning_tokens=usage.output_reasoning_tokens,
    )


def _opened_provider(endpoint: ModelEndpoint, key: str | None) -> Provider[Any]:
    try:
        arguments: dict[str, str] = {}
        if key is not None:
            arguments["api_key"] = key
        if endpoint.base_url is not None:
            arguments["base_url"] = checked_base_url(endpoint.base_url)
        make: Callable[..., Provider[Any]] = infer_provider_class(endpoint.provider)
        return make(**arguments)
    except ImportError as error:
        package = f"evalplatform[{extra}]" if (extra := _OWN_EXTRAS.get(endpoint.provider)) else f"pydantic-ai-slim[{endpoint.provider}]"
        raise InputError(
            f"{endpoint.provider!r} needs a package that is not installed: pip install '{package}'.", field="provider"
        ) from error
    except UserError as error:  # pydantic-ai's word for a missing key; it names the variable
        raise MissingSecretError(error.message.split(". ")[0].rstrip(".") + ".", field="key_env") from error
    except TypeError as error:
        raise InputError(f"the provider {endpoint.provider!r} takes no key_env or no base_url of its own; remove it.") from error
    except Exception as error:
        if lacks_credentials(error):
            raise MissingSecretError(f"{endpoint.provider!r} found no credentials: {error}", field="provider") from error
        raise


def _bedrock_provider(endpoint: ModelEndpoint) -> Provider[Any]:
    """Return Bedrock's provider over a client of ours: pydantic-ai's retry setting does not reach boto3, which tries five times."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import NoRegionError
    from pydantic_ai.providers.bedrock import BedrockProvider

    if endpoint.key_env is not None:
        raise InputError("bedrock reads AWS's own variables (AWS_BEARER_TOKEN_BEDROCK, or access keys); remove it.", field="key_env")
    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        read_timeout=endpoint.timeout_seconds,
        max_pool_connections=endpoint.max_connections,
    )
    address = None if endpoint.base_url is None else checked_base_url(endpoint.base_url)
    try:
        return BedrockProvider(bedrock_client=boto3.Session().client("bedrock-runtime", config=config, endpoint_url=address))
    except NoRegionError as error:
        raise InputError("bedrock needs a region: set AWS_DEFAULT_REGION.", field="provider") from error
