import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalplatform.adapters.models import ModelEndpoint, open_model_client
from evalplatform.kernel.errors import CallError, FatalCallError, RetryableCallError, UnusableReplyError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import Message, ModelReply, ModelRequest, Sampling
from tests.support.model_stub import ModelStub, running_stub

KEY = "sk-test-0123456789abcdefghijklmnop"
PROVIDERS = ["openai-compatible", "anthropic"]
CASES = json.loads((Path(__file__).parents[2] / "cases" / "pitfalls.json").read_text())


@pytest.fixture(scope="module")
def stub() -> Iterator[ModelStub]:
    with running_stub() as running:
        yield running


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", KEY)


def ask(
    stub: ModelStub, model: str, *, provider: str = "openai-compatible", stream: bool = False, timeout_seconds: float = 20.0, **fields: Any
) -> ModelReply:
    """Ask the stub once. The messages are one question unless given."""
    base_url = stub.root_url if provider == "anthropic" else stub.url
    fields.setdefault("messages", (Message(role="user", content=f"What does {model} say?"),))

    async def once() -> ModelReply:
        endpoint = ModelEndpoint(provider=provider, base_url=base_url, key_env="STUB_KEY", stream=stream, timeout_seconds=timeout_seconds)
        client = open_model_client(endpoint)
        try:
            return await client.complete(ModelRequest(provider=provider, base_url=base_url, model=model, **fields))
        finally:
            await client.aclose()

    return asyncio.run(once())


def failure(stub: ModelStub, model: str, **options: Any) -> CallError:
    with pytest.raises(CallError) as caught:
        ask(stub, model, **options)
    return caught.value


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_carries_text_finish_reason_usage_and_the_model_that_answered(stub: ModelStub, provider: str, stream: bool) -> None:
    model = "m;text=forty+two;prompt_tokens=1000;completion_tokens=20;cached_tokens=900"
    reply = ask(stub, model, provider=provider, stream=stream)
    assert (reply.text, reply.finish_reason, reply.model_returned) == ("forty two", "stop", "m-returned")
    reasoning = None if provider == "anthropic" else 0
    assert reply.usage == Usage(prompt_tokens=1000, completion_tokens=20, cache_read_tokens=900, reasoning_tokens=reasoning)
    assert (reply.time_to_first_token_seconds is not None) == stream


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_streamed_reply_is_the_unstreamed_one_with_the_time_to_its_first_token(stub: ModelStub, provider: str) -> None:
    messages = (Message(role="user", content="Line one\n\n  and   two, naïve 数据"),)
    plain = ask(stub, "same", provider=provider, messages=messages)
    streamed = ask(stub, "same;first_token=0.05;next_token=0.01", provider=provider, messages=messages, stream=True)
    assert streamed.text == plain.text
    assert streamed.usage == plain.usage
    assert streamed.time_to_first_token_seconds is not None
    assert 0.05 <= streamed.time_to_first_token_seconds < streamed.latency_seconds


@pytest.mark.parametrize(
    ("provider", "theirs", "ours"),
    [
        ("openai-compatible", "stop", "stop"),
        ("openai-compatible", "length", "length"),
        ("openai-compatible", "content_filter", "content_filter"),
        ("openai-compatible", "tool_calls", "other"),
        ("anthropic", "end_turn", "stop"),
        ("anthropic", "stop_sequence", "stop"),
        ("anthropic", "max_tokens", "length"),
        ("anthropic", "refusal", "content_filter"),
        ("anthropic", "tool_use", "other"),
    ],
)
def test_finish_reasons_are_told_in_our_words(stub: ModelStub, provider: str, theirs: str, ours: str) -> None:
    assert ask(stub, f"m;finish={theirs}", provider=provider).finish_reason == ours


def test_chat_completions_sends_what_is_set_and_nothing_else(stub: ModelStub) -> None:
    messages = (Message(role="system", content="Be short."), Message(role="user", content="Hi"))
    sampling = Sampling(temperature=0.0, top_p=0.5, max_tokens=16, seed=7, extra={"top_k": 3})
    ask(stub, "sent-all", messages=messages, sampling=sampling)
    ask(stub, "sent-bare", messages=messages)
    everything, bare = stub.bodies()[-2:]
    conversation = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}]
    assert bare == {"model": "sent-bare", "messages": conversation, "stream": False}
    assert everything == {
        "model": "sent-all",
        "messages": conversation,
        "stream": False,
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 16,
        "seed": 7,
        "top_k": 3,
    }
    assert stub.keys >= {KEY}


def test_openai_is_sent_the_token_limit_under_the_name_its_reasoning_models_take(stub: ModelStub) -> None:
    ask(stub, "openai-limit", provider="openai", sampling=Sampling(max_tokens=16))
    assert stub.bodies()[-1]["max_completion_tokens"] == 16
    assert "max_tokens" not in stub.bodies()[-1]


def test_anthropic_is_sent_system_text_apart_a_token_limit_always_and_a_seed_never(stub: ModelStub) -> None:
    messages = (
        Message(role="system", content="One."),
        Message(role="system", content="Two."),
        Message(role="user", content="Hi"),
        Message(role="assistant", content="Yes?"),
        Message(role="user", content="Go on"),
    )
    ask(stub, "claude", provider="anthropic", messages=messages, sampling=Sampling(seed=7, temperature=0.5))
    assert stub.bodies()[-1] == {
        "model": "claude",
        "system": "One.\n\nTwo.",
        "messages": [{"role": message.role, "content": message.content} for message in messages[2:]],
        "max_tokens": 4096,
        "temperature": 0.5,
        "stream": False,
    }


def test_an_extra_parameter_that_would_overwrite_the_request_is_refused(stub: ModelStub) -> None:
    error = failure(stub, "m", sampling=Sampling(extra={"model": "other", "stream": True}))
    assert isinstance(error, FatalCallError)
    assert "model, stream" in str(error)


def test_a_prompt_that_utf8_cannot_carry_fails_by_name(stub: ModelStub) -> None:
    error = failure(stub, "m", messages=(Message.model_construct(role="user", content="half \ud83d"),))
    assert (type(error), error.reason) == (FatalCallError, "bad_request")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_m01_a_model_that_thought_its_budget_away_gives_an_empty_text_that_ended_by_length(stub: ModelStub, provider: str) -> None:
    expected = next(case for case in CASES if case["id"] == "M01")["input"]["completion"]
    reply = ask(stub, "m;do=thought_only", provider=provider)
    assert (reply.text, reply.finish_reason) == (expected["content"], expected["finish_reason"])
    if provider == "openai-compatible":
        assert (reply.usage.completion_tokens, reply.usage.reasoning_tokens) == (16, 16)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_m04_each_overload_says_how_long_the_server_asks_to_wait(stub: ModelStub, provider: str) -> None:
    for setting, seconds in (
        ("retry_after=2", 2.0),
        ("retry_after=86400", 86_400.0),
        ("retry_after=soon", None),
        ("retry_after_ms=1500", 1.5),
    ):
        error = failure(stub, f"m;do=status;code=429;{setting}", provider=provider)
        assert isinstance(error, RetryableCallError)
        assert (error.reason, error.status, error.retry_after_seconds) == ("rate_limited", 429, seconds)
    dated = failure(stub, "m;do=status;code=429;retry_after=Wed,+02+Dec+2099+07:28:00+GMT", provider=provider)
    assert isinstance(dated, RetryableCallError)
    assert dated.retry_after_seconds is not None
    assert dated.retry_after_seconds > 86_400
    overloaded = failure(stub, "m;do=status;code=529", provider=provider)
    assert isinstance(overloaded, RetryableCallError)
    assert (overloaded.reason, overloaded.retry_after_seconds) == ("overloaded", None)


@pytest.mark.parametrize(
    ("behaviour", "kind", "reason"),
    [
        ("do=status;code=401", FatalCallError, "auth"),
        ("do=status;code=404", FatalCallError, "not_found"),
        ("do=status;code=400", FatalCallError, "bad_request"),
        ("do=status;code=429;error_code=insufficient_quota", FatalCallError, "quota"),
        ("do=redirect", FatalCallError, "redirected"),
        ("do=status;code=500", RetryableCallError, "server_error"),
        ("do=cut", RetryableCallError, "connection"),
        ("do=disconnect", RetryableCallError, "connection"),
        ("do=error_in_200;code=429", RetryableCallError, "rate_limited"),
        ("do=error_in_200;type=overloaded_error", RetryableCallError, "overloaded"),
        ("do=error_in_200;type=whatever", UnusableReplyError, "error_body"),
        ("do=body;raw=", UnusableReplyError, "not_json"),
        ("do=body;raw=<html>", UnusableReplyError, "not_json"),
        ("do=body;raw=[]", UnusableReplyError, "not_json"),
        ("do=body;raw={}", UnusableReplyError, None),
        ("do=empty_choices", UnusableReplyError, None),
    ],
)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_is_no_reply_is_a_typed_error(
    stub: ModelStub, provider: str, behaviour: str, kind: type[CallError], reason: str | None
) -> None:
    error = failure(stub, f"m;{behaviour}", provider=provider)
    assert type(error) is kind
    assert error.reason == (reason or ("no_message" if provider == "anthropic" else "no_choices"))
    assert "127.0.0.1" in str(error)


@pytest.mark.parametrize("body", ['{"choices":[{}]}', '{"choices":[null]}', '{"choices":[{"message":"text"}]}'])
def test_a_choice_without_a_message_is_unusable(stub: ModelStub, body: str) -> None:
    assert failure(stub, f"m;do=body;raw={body}").reason == "no_message"


def test_a_choice_that_a_gateway_broke_off_is_not_taken_for_an_answer(stub: ModelStub) -> None:
    assert failure(stub, "m;finish=error").reason == "broken_off"


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ('{"content":null}', ""),
        ('{"content":null,"refusal":"I cannot."}', "I cannot."),
        ('{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"two "},{"type":"text","text":"parts"}]}', "two parts"),
        (r'{"content":"half \ud83d a pair"}', "half \ufffd a pair"),
    ],
)
def test_a_message_is_read_as_a_user_would_see_it(stub: ModelStub, message: str, text: str) -> None:
    reply = ask(stub, f'm;do=body;raw={{"choices":[{{"message":{message}}}]}}')
    assert (reply.text, reply.finish_reason, reply.usage, reply.model_returned) == (text, None, Usage(), None)


def test_counts_that_are_no_counts_are_unknown_and_never_zero(stub: ModelStub) -> None:
    usage = '{"prompt_tokens":-1,"completion_tokens":true,"prompt_tokens_details":null,"reasoning_tokens":5}'
    reply = ask(stub, f'm;do=body;raw={{"choices":[{{"message":{{"content":"x"}}}}],"usage":{usage}}}')
    assert reply.usage == Usage(reasoning_tokens=5)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_stream_that_ends_before_the_reply_is_asked_again(stub: ModelStub, provider: str) -> None:
    error = failure(stub, "m;do=cut_stream", provider=provider, stream=True)
    assert (type(error), error.reason) == (RetryableCallError, "connection")


def test_a_server_that_does_not_stream_is_read_all_the_same(stub: ModelStub) -> None:
    reply = ask(stub, 'm;do=body;raw={"choices":[{"message":{"content":"whole"}}]}', stream=True)
    assert (reply.text, reply.time_to_first_token_seconds) == ("whole", None)


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_is_too_slow_is_a_timeout_to_be_asked_again(stub: ModelStub, stream: bool) -> None:
    error = failure(stub, "m;latency=5;text=late", timeout_seconds=0.1, stream=stream)
    assert (type(error), error.reason) == (RetryableCallError, "timeout")
    assert "0.1 s" in str(error)


def test_a_server_that_is_not_there_is_a_connection_error_to_be_asked_again() -> None:
    error = failure(ModelStub(port=1), "m")
    assert (type(error), error.reason) == (RetryableCallError, "connection")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_key_is_in_no_error_even_when_the_server_repeats_it_where_the_text_is_clipped(stub: ModelStub, provider: str) -> None:
    error = failure(stub, "m;do=status;code=401;echo_key=1", provider=provider)
    told = f"{error} {error!r} {error.__cause__!r} {error.__context__!r} {error.__dict__}"
    assert "[key]" in told
    assert KEY[:8] not in told


def test_a_closed_client_opens_again_and_closes_twice(stub: ModelStub) -> None:
    client = open_model_client(ModelEndpoint(provider="openai-compatible", base_url=stub.url))
    request = ModelRequest(provider="openai-compatible", model="m;text=again", messages=(Message(role="user", content="Hi"),))

    async def once() -> str:
        reply = await client.complete(request)
        await client.aclose()
        await client.aclose()
        return reply.text

    assert [asyncio.run(once()), asyncio.run(once())] == ["again", "again"]
