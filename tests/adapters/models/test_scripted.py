import asyncio

import pytest

from evalplatform.adapters.models.scripted import ScriptedClient
from evalplatform.kernel.errors import FatalCallError, RetryableCallError
from evalplatform.ports.model_client import Message, ModelReply, ModelRequest


def request(text: str = "Hi") -> ModelRequest:
    return ModelRequest(provider="scripted", model="m", messages=(Message(role="user", content=text),))


def test_a_list_is_replied_in_order_and_its_end_is_an_error() -> None:
    whole = ModelReply(text="two", finish_reason="length", latency_seconds=1.0)

    async def run() -> None:
        client = ScriptedClient(["one", whole, RetryableCallError("rate_limited", "busy")])
        assert (await client.complete(request())).text == "one"
        assert await client.complete(request()) == whole
        with pytest.raises(RetryableCallError, match="busy"):
            await client.complete(request())
        with pytest.raises(FatalCallError, match="has 3 replies") as ended:
            await client.complete(request())
        assert ended.value.reason == "script_ended"
        assert (client.calls, client.in_flight, client.most_in_flight) == (4, 0, 1)

    asyncio.run(run())


def test_a_function_sees_the_request_and_may_wait() -> None:
    async def run() -> None:
        ready = asyncio.Event()

        async def script(asked: ModelRequest) -> str:
            await ready.wait()
            return asked.prompt_text().upper()

        client = ScriptedClient(script)
        waiting = asyncio.create_task(client.complete(request("late")))
        await asyncio.sleep(0)
        assert client.in_flight == 1
        ready.set()
        assert (await waiting).text == "LATE"
        assert client.requests == [request("late")]

    asyncio.run(run())


def test_a_gate_holds_calls_in_flight() -> None:
    async def run() -> None:
        gate = asyncio.Event()
        client = ScriptedClient(lambda asked: "ok", gate=gate)
        waiting = [asyncio.create_task(client.complete(request(str(number)))) for number in range(3)]
        await asyncio.sleep(0)
        assert (client.in_flight, client.most_in_flight) == (3, 3)
        gate.set()
        await asyncio.gather(*waiting)
        assert client.in_flight == 0
        await client.aclose()
        assert client.closed

    asyncio.run(run())
