"""What every model client promises, whichever provider it asks (ports.model_client)."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from evalplatform.adapters.clock import SystemClock
from evalplatform.adapters.models import ModelEndpoint, model_providers, open_model_client
from evalplatform.adapters.models.lean import LeanClient
from evalplatform.adapters.models.pydantic_ai import open_pydantic_ai_client
from evalplatform.adapters.models.recorded import RecordedClient, RecordingClient
from evalplatform.adapters.models.scripted import ScriptedClient
from evalplatform.kernel.errors import CallError, FatalCallError, InputError, RetryableCallError, UnusableReplyError
from evalplatform.ports.model_client import Message, ModelClient, ModelReply, ModelRequest
from tests.support.model_stub import ModelStub, running_stub
from tests.support.model_stub_replies import derived_reply

KEY = "sk-test-0123456789abcdefghijklmnop"
CONCURRENT = 64

Opener = Callable[[ModelStub, Path], ModelClient]


def request(text: str, model: str = "m") -> ModelRequest:
    return ModelRequest(provider="any", model=model, messages=(Message(role="user", content=text),))


def _endpoint(provider: str, stub: ModelStub, **fields: object) -> ModelEndpoint:
    base_url = stub.root_url if provider == "anthropic" else stub.url
    return ModelEndpoint.model_validate({"provider": provider, "base_url": base_url, "key_env": "STUB_KEY", **fields})


def _recorded(stub: ModelStub, folder: Path) -> ModelClient:
    path = folder / "replies.jsonl"

    async def record() -> None:
        client = RecordingClient(ScriptedClient(lambda asked: derived_reply(asked.prompt_text())), path)
        for number in range(CONCURRENT):
            await client.complete(request(f"Question: number {number}"))

    asyncio.run(record())
    return RecordedClient(path)


OVER_HTTP: dict[str, Opener] = {
    "chat completions": lambda stub, _: open_model_client(_endpoint("openai-compatible", stub)),
    "chat completions, streamed": lambda stub, _: open_model_client(_endpoint("openai-compatible", stub, stream=True)),
    "anthropic": lambda stub, _: open_model_client(_endpoint("anthropic", stub)),
    "anthropic, streamed": lambda stub, _: open_model_client(_endpoint("anthropic", stub, stream=True)),
    "pydantic-ai": lambda stub, _: open_pydantic_ai_client(_endpoint("openai-chat", stub), SystemClock()),
}
ALL: dict[str, Opener] = {
    **OVER_HTTP,
    "scripted": lambda stub, _: ScriptedClient(lambda asked: derived_reply(asked.prompt_text())),
    "recorded": _recorded,
}


@pytest.fixture(scope="module")
def stub() -> Iterator[ModelStub]:
    with running_stub() as running:
        yield running


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_KEY", KEY)


@asynccontextmanager
async def closing(client: ModelClient) -> AsyncIterator[ModelClient]:
    try:
        yield client
    finally:
        await client.aclose()


async def ask_all(client: ModelClient, requests: list[ModelRequest]) -> list[ModelReply]:
    async with closing(client):
        return await asyncio.gather(*(client.complete(one) for one in requests))


@pytest.mark.parametrize("name", ALL)
def test_64_concurrent_calls_each_get_their_own_reply(name: str, stub: ModelStub, tmp_path: Path) -> None:
    requests = [request(f"Question: number {number}") for number in range(CONCURRENT)]
    replies = asyncio.run(ask_all(ALL[name](stub, tmp_path), requests))
    assert [reply.text for reply in replies] == [derived_reply(one.prompt_text()) for one in requests]
    assert {reply.finish_reason for reply in replies} == {"stop"}
    assert all(reply.latency_seconds >= 0 for reply in replies)


def test_64_concurrent_calls_to_the_offline_reader_each_get_their_own_reply() -> None:
    requests = [request(f"Question: number {number}", model="extractive") for number in range(CONCURRENT)]
    replies = asyncio.run(ask_all(open_model_client(ModelEndpoint(provider="offline")), requests))
    assert [reply.text for reply in replies] == [f"number {number}" for number in range(CONCURRENT)]


@pytest.mark.parametrize("name", OVER_HTTP)
def test_64_calls_are_on_the_wire_at_once(name: str, stub: ModelStub, tmp_path: Path) -> None:
    stub.most_in_flight = 0
    requests = [request(f"{name} {number}", model=f"m;together={CONCURRENT}") for number in range(CONCURRENT)]
    assert len(asyncio.run(ask_all(OVER_HTTP[name](stub, tmp_path), requests))) == CONCURRENT
    assert stub.most_in_flight == CONCURRENT


@pytest.mark.parametrize("name", OVER_HTTP)
def test_a_reply_over_http_carries_usage_and_the_model_that_answered(name: str, stub: ModelStub, tmp_path: Path) -> None:
    (reply,) = asyncio.run(ask_all(OVER_HTTP[name](stub, tmp_path), [request("Hi", "m;text=one+two;prompt_tokens=11")]))
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.model_returned) == (11, 2, "m-returned")
    assert (reply.time_to_first_token_seconds is not None) == ("streamed" in name)


@pytest.mark.parametrize(
    ("behaviour", "kind", "reason"),
    [
        ("do=status;code=400", FatalCallError, "bad_request"),
        ("do=status;code=401;echo_key=1", FatalCallError, "auth"),
        ("do=status;code=403;echo_key=1", FatalCallError, "auth"),
        ("do=status;code=404", FatalCallError, "not_found"),
        ("do=status;code=422", FatalCallError, "bad_request"),
        ("do=status;code=408", RetryableCallError, "timeout"),
        ("do=status;code=409", RetryableCallError, "conflict"),
        ("do=status;code=429;retry_after=3", RetryableCallError, "rate_limited"),
        ("do=status;code=500;echo_key=1", RetryableCallError, "server_error"),
        ("do=status;code=503", RetryableCallError, "overloaded"),
        ("do=status;code=529", RetryableCallError, "overloaded"),
        ("do=disconnect", RetryableCallError, "connection"),
        ("do=empty_choices", UnusableReplyError, None),
    ],
)
@pytest.mark.parametrize("name", OVER_HTTP)
def test_every_client_fails_alike_after_one_attempt_and_never_tells_the_key(
    name: str, behaviour: str, kind: type[CallError], reason: str | None, stub: ModelStub, tmp_path: Path
) -> None:
    client, before = OVER_HTTP[name](stub, tmp_path), stub.requests
    with pytest.raises(CallError) as caught:
        asyncio.run(ask_all(client, [request("Hi", f"m;{behaviour}")]))
    error = caught.value
    assert type(error) is kind
    assert reason is None or error.reason == reason
    assert stub.requests == before + 1
    if "retry_after" in behaviour:
        assert isinstance(error, RetryableCallError)
        assert error.retry_after_seconds == 3.0
    assert KEY[:12] not in "".join(traceback.format_exception(error)) + repr(error) + repr(client)


@pytest.mark.parametrize("name", ALL)
def test_closing_twice_and_closing_unused_is_fine(name: str, stub: ModelStub, tmp_path: Path) -> None:
    async def run() -> None:
        unused, used = opened
        await unused.aclose()
        await used.complete(request("Question: number 0"))
        await used.aclose()
        await used.aclose()

    opened = [ALL[name](stub, tmp_path) for _ in range(2)]
    asyncio.run(run())


@pytest.mark.parametrize("name", OVER_HTTP)
def test_a_cancelled_call_stays_cancelled_and_the_client_goes_on(name: str, stub: ModelStub, tmp_path: Path) -> None:
    async def run() -> str:
        async with closing(OVER_HTTP[name](stub, tmp_path)) as client:
            task = asyncio.create_task(client.complete(request("Hi", "m;latency=20")))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await client.complete(request("Hi", "m;text=on"))).text

    assert asyncio.run(run()) == "on"


@pytest.mark.parametrize("provider", model_providers.names())
def test_every_registered_provider_opens_or_says_what_is_missing(provider: str, stub: ModelStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    fields = {} if provider in {"offline", "bedrock"} else {"base_url": stub.url, "key_env": "STUB_KEY"}

    async def run() -> None:
        client = open_model_client(ModelEndpoint.model_validate({"provider": provider, **fields}))
        assert KEY not in repr(client)
        if isinstance(client, LeanClient):
            assert (await client.complete(request("Hi", "m;text=ok"))).text == "ok"
        await client.aclose()

    refused = ""
    try:
        asyncio.run(run())
    except InputError as error:
        refused = str(error)
    assert not refused or "pip install" in refused or "takes no" in refused
    assert KEY not in refused
