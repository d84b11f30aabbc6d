import asyncio
from collections.abc import Callable, Iterator

import pytest
from pydantic_ai import exceptions as theirs
from pydantic_ai import messages as wire
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.usage import RequestUsage

from evalplatform.adapters.clock import ManualClock, SystemClock
from evalplatform.adapters.models import ModelEndpoint, open_model_client
from evalplatform.adapters.models.pydantic_ai import PydanticAiClient, open_pydantic_ai_client, request_settings, wire_messages
from evalplatform.kernel.errors import CallError, FatalCallError, InputError, RetryableCallError, UnusableReplyError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import Message, ModelReply, ModelRequest, Sampling
from tests.support.model_stub import ModelStub, running_stub

KEY = "sk-test-0123456789abcdefghijklmnop"


@pytest.fixture(scope="module")
def stub() -> Iterator[ModelStub]:
    with running_stub() as running:
        yield running


def request(model: str = "m", **fields: object) -> ModelRequest:
    return ModelRequest.model_validate({"provider": "p", "model": model, "messages": (Message(role="user", content="Hi"),), **fields})


def ask(model: Model, asked: ModelRequest | None = None) -> ModelReply:
    client = PydanticAiClient(lambda name: model, who="there", key=KEY, timeout_seconds=5.0, clock=ManualClock())

    async def once() -> ModelReply:
        try:
            return await client.complete(asked or request())
        finally:
            await client.aclose()

    return asyncio.run(once())


def replying(*parts: wire.ModelResponsePart, **fields: object) -> FunctionModel:
    def reply(messages: list[wire.ModelMessage], info: AgentInfo) -> wire.ModelResponse:
        return wire.ModelResponse(parts=list(parts), **fields)

    return FunctionModel(reply, model_name="named")


def raising(error: Exception) -> FunctionModel:
    def fail(messages: list[wire.ModelMessage], info: AgentInfo) -> wire.ModelResponse:
        raise error

    return FunctionModel(fail)


def test_the_libraries_own_test_model_answers() -> None:
    reply = ask(TestModel(custom_output_text="hello"))
    assert (reply.text, reply.model_returned, reply.latency_seconds) == ("hello", "test", 0.0)
    assert reply.usage.prompt_tokens is not None


def test_only_text_is_shown_and_usage_and_finish_reason_are_kept() -> None:
    usage = RequestUsage(input_tokens=10, output_tokens=7, cache_read_tokens=4, output_reasoning_tokens=5)
    parts = (wire.ThinkingPart(content="hm"), wire.TextPart(content="two "), wire.TextPart(content="parts"))
    reply = ask(replying(*parts, usage=usage, finish_reason="length"))
    assert (reply.text, reply.finish_reason) == ("two parts", "length")
    assert reply.usage == Usage(prompt_tokens=10, completion_tokens=7, cache_read_tokens=4, reasoning_tokens=5)


def test_a_tool_call_for_an_answer_is_an_empty_text_that_ended_otherwise() -> None:
    reply = ask(replying(wire.ToolCallPart(tool_name="t"), finish_reason="tool_call"))
    assert (reply.text, reply.finish_reason) == ("", "other")


def test_the_conversation_and_the_sampling_reach_the_model() -> None:
    seen: dict[str, object] = {}

    def look(messages: list[wire.ModelMessage], info: AgentInfo) -> wire.ModelResponse:
        seen.update(messages=messages, settings=info.model_settings)
        return wire.ModelResponse(parts=[wire.TextPart(content="ok")])

    conversation = (
        Message(role="system", content="S"),
        Message(role="user", content="U"),
        Message(role="assistant", content="A"),
        Message(role="user", content="V"),
    )
    ask(FunctionModel(look), request(messages=conversation, sampling=Sampling(temperature=0.0, max_tokens=9, seed=3, extra={"x": 1})))
    assert [[part.content for part in message.parts] for message in wire_messages(conversation)] == [["S", "U"], ["A"], ["V"]]
    assert [[getattr(part, "content", None) for part in message.parts] for message in seen["messages"]] == [["S", "U"], ["A"], ["V"]]
    settings = dict(seen["settings"])
    assert {name: settings[name] for name in ("temperature", "max_tokens", "seed", "extra_body", "max_retries", "request_timeout")} == {
        "temperature": 0.0,
        "max_tokens": 9,
        "seed": 3,
        "extra_body": {"x": 1},
        "max_retries": 0,
        "request_timeout": 5.0,
    }
    assert "top_p" not in settings


def test_a_seed_is_not_sent_where_the_provider_has_none_and_extras_are_refused_where_they_would_be_dropped() -> None:
    claude = AnthropicModel("claude", provider=AnthropicProvider(api_key=KEY))
    assert "seed" not in request_settings(request(sampling=Sampling(seed=3)), claude, timeout_seconds=1.0)

    class TakesNoExtras(TestModel):
        unsupported_settings = frozenset({"extra_body"})

    with pytest.raises(FatalCallError, match="top_k"):
        ask(TakesNoExtras(), request(sampling=Sampling(extra={"top_k": 3})))


def http_error(category: type[theirs.ModelAPIError] | None, status: int) -> Callable[[], Exception]:
    return lambda: theirs.ModelHTTPError.for_category(
        category, status_code=status, model_name="m", body={"error": {"message": f"you sent {KEY}"}}, headers={"Retry-After": "7"}
    )


@pytest.mark.parametrize(
    ("make", "kind", "reason", "status"),
    [
        (http_error(theirs.ModelAuthenticationError, 401), FatalCallError, "auth", 401),
        (http_error(theirs.ModelNotFoundError, 404), FatalCallError, "not_found", 404),
        (http_error(theirs.ModelQuotaExceededError, 429), FatalCallError, "quota", 429),
        (http_error(theirs.ModelRequestRejectedError, 422), FatalCallError, "bad_request", 422),
        (http_error(theirs.ModelRateLimitError, 429), RetryableCallError, "rate_limited", 429),
        (http_error(theirs.ModelOverloadedError, 529), RetryableCallError, "overloaded", 529),
        (http_error(theirs.ModelServerError, 500), RetryableCallError, "server_error", 500),
        (http_error(None, 409), RetryableCallError, "conflict", 409),
        (lambda: theirs.ModelConnectionError("m", "refused"), RetryableCallError, "connection", None),
        (lambda: theirs.ModelTimeoutError("m", "slow"), RetryableCallError, "timeout", None),
        (lambda: TimeoutError(), RetryableCallError, "timeout", None),
        (lambda: theirs.UserError("no such setting"), FatalCallError, "bad_request", None),
        (lambda: theirs.UnexpectedModelBehavior("odd", "{}"), UnusableReplyError, "unusable_reply", None),
        (lambda: IndexError("list index out of range"), UnusableReplyError, "unusable_reply", None),
        (lambda: theirs.ModelAPIError("m", "odd"), UnusableReplyError, "unusable_reply", None),
    ],
)
def test_each_of_its_errors_becomes_one_of_ours_without_the_key(
    make: Callable[[], Exception], kind: type[CallError], reason: str, status: int | None
) -> None:
    with pytest.raises(CallError) as caught:
        ask(raising(make()))
    error = caught.value
    assert (type(error), error.reason, error.status) == (kind, reason, status)
    assert str(error).startswith("m at there")
    assert KEY not in str(error)
    if isinstance(error, RetryableCallError) and status is not None and status != 409:
        assert error.retry_after_seconds == 7.0


def test_a_withheld_reply_is_an_empty_answer_and_not_a_failed_call() -> None:
    reply = ask(raising(theirs.ContentFilterError("blocked")))
    assert (reply.text, reply.finish_reason, reply.usage) == ("", "content_filter", Usage())


def test_a_defect_is_not_hidden_as_a_failed_call() -> None:
    with pytest.raises(ZeroDivisionError):
        ask(raising(ZeroDivisionError()))


def test_a_model_that_takes_too_long_is_a_timeout() -> None:
    async def wait(messages: list[wire.ModelMessage], info: AgentInfo) -> wire.ModelResponse:
        await asyncio.sleep(30)
        raise AssertionError("it was waited for")

    client = PydanticAiClient(lambda name: FunctionModel(wait), who="there", key=None, timeout_seconds=0.05, clock=SystemClock())
    with pytest.raises(RetryableCallError) as caught:
        asyncio.run(client.complete(request()))
    assert caught.value.reason == "timeout"


def through_openai_client(stub: ModelStub, model: str, monkeypatch: pytest.MonkeyPatch) -> ModelReply:
    monkeypatch.setenv("STUB_KEY", KEY)
    client = open_pydantic_ai_client(ModelEndpoint(provider="openai-chat", base_url=stub.url, key_env="STUB_KEY"), SystemClock())

    async def once() -> ModelReply:
        try:
            return await client.complete(request(model))
        finally:
            await client.aclose()
            await client.aclose()

    return asyncio.run(once())


def test_over_http_a_reply_has_the_same_fields_as_the_lean_clients(stub: ModelStub, monkeypatch: pytest.MonkeyPatch) -> None:
    model = "m;text=forty+two;prompt_tokens=1000;completion_tokens=20;cached_tokens=900;reasoning_tokens=5"
    reply = through_openai_client(stub, model, monkeypatch)
    assert (reply.text, reply.finish_reason, reply.model_returned) == ("forty two", "stop", "m-returned")
    assert reply.usage == Usage(prompt_tokens=1000, completion_tokens=20, cache_read_tokens=900, reasoning_tokens=5)


@pytest.mark.parametrize(
    ("behaviour", "kind", "reason"),
    [
        ("do=status;code=401;echo_key=1", FatalCallError, "auth"),
        ("do=status;code=429;retry_after=2", RetryableCallError, "rate_limited"),
        ("do=status;code=500", RetryableCallError, "server_error"),
        ("do=disconnect", RetryableCallError, "connection"),
        ("do=empty_choices", UnusableReplyError, "unusable_reply"),
    ],
)
def test_over_http_each_failure_is_typed_after_exactly_one_attempt(
    stub: ModelStub, behaviour: str, kind: type[CallError], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stub.requests
    with pytest.raises(CallError) as caught:
        through_openai_client(stub, f"m;{behaviour}", monkeypatch)
    assert (type(caught.value), caught.value.reason) == (kind, reason)
    assert stub.requests == before + 1
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("provider", ["bedrock", "google"])
def test_other_providers_make_exactly_one_attempt_too(stub: ModelStub, provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in (
        ("GOOGLE_API_KEY", KEY),
        ("AWS_ACCESS_KEY_ID", "AKIATEST"),
        ("AWS_SECRET_ACCESS_KEY", KEY),
        ("AWS_DEFAULT_REGION", "eu-west-1"),
    ):
        monkeypatch.setenv(variable, value)
    client = open_model_client(ModelEndpoint(provider=provider, base_url=stub.root_url))
    before = stub.requests

    async def once() -> None:
        try:
            await client.complete(request("amazon.nova-lite-v1:0" if provider == "bedrock" else "gemini-2.5-flash"))
        finally:
            await client.aclose()

    with pytest.raises(RetryableCallError) as caught:
        asyncio.run(once())
    assert (caught.value.reason, stub.requests) == ("overloaded", before + 1)
    assert KEY not in str(caught.value)


def test_bedrock_without_credentials_is_an_auth_failure(stub: ModelStub, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in (("AWS_DEFAULT_REGION", "eu-west-1"), ("AWS_EC2_METADATA_DISABLED", "true")):
        monkeypatch.setenv(variable, value)
    for variable in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(variable, "/nonexistent")
    client = open_model_client(ModelEndpoint(provider="bedrock", base_url=stub.root_url))
    with pytest.raises(FatalCallError) as caught:
        asyncio.run(client.complete(request("amazon.nova-lite-v1:0")))
    assert caught.value.reason == "auth"


def test_a_provider_that_takes_no_address_of_its_own_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_KEY", KEY)
    with pytest.raises(InputError, match="azure"):
        open_model_client(ModelEndpoint(provider="azure", base_url="https://host/v1", key_env="TEAM_KEY"))
