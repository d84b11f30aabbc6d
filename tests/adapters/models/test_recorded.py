import asyncio
from pathlib import Path

import pytest

from evalplatform.adapters.models.recorded import RecordedClient, RecordingClient, read_recordings
from evalplatform.adapters.models.scripted import ScriptedClient
from evalplatform.calls.request_digest import request_digest
from evalplatform.kernel.errors import FatalCallError, InputError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import Message, ModelReply, ModelRequest, Sampling


def request(text: str, seed: int | None = None) -> ModelRequest:
    return ModelRequest(provider="p", model="m", messages=(Message(role="user", content=text),), sampling=Sampling(seed=seed))


def record(path: Path, *asked: ModelRequest) -> list[ModelReply]:
    replies = [
        ModelReply(text=f"naïve {number}", usage=Usage(prompt_tokens=number), latency_seconds=0.25, time_to_first_token_seconds=0.125)
        for number in range(len(asked))
    ]

    async def run() -> list[ModelReply]:
        client = RecordingClient(ScriptedClient(list(replies)), path)
        got = [await client.complete(one) for one in asked]
        await client.aclose()
        return got

    return asyncio.run(run())


def replay(path: Path, *asked: ModelRequest) -> list[ModelReply]:
    client = RecordedClient(path)

    async def run() -> list[ModelReply]:
        return [await client.complete(one) for one in asked]

    return asyncio.run(run())


def test_what_was_recorded_is_replayed_equal_in_every_field(tmp_path: Path) -> None:
    asked = (request("a"), request("b"), request("a", seed=1))
    recorded = record(tmp_path / "r.jsonl", *asked)
    assert replay(tmp_path / "r.jsonl", *reversed(asked)) == list(reversed(recorded))


def test_a_request_recorded_twice_gets_its_replies_in_order_and_then_the_last(tmp_path: Path) -> None:
    first, second = record(tmp_path / "r.jsonl", request("a"), request("a"))
    assert replay(tmp_path / "r.jsonl", request("a"), request("a"), request("a")) == [first, second, second]


def test_an_unknown_request_fails_with_its_digest(tmp_path: Path) -> None:
    record(tmp_path / "r.jsonl", request("a"))
    with pytest.raises(FatalCallError, match=request_digest(request("b"))) as caught:
        replay(tmp_path / "r.jsonl", request("b"))
    assert caught.value.reason == "not_recorded"


def test_a_failed_call_is_not_recorded(tmp_path: Path) -> None:
    client = RecordingClient(ScriptedClient([FatalCallError("auth", "no")]), tmp_path / "r.jsonl")
    with pytest.raises(FatalCallError):
        asyncio.run(client.complete(request("a")))
    assert not (tmp_path / "r.jsonl").exists()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: the recording cannot be read"):
        RecordedClient(tmp_path / "none.jsonl")


def test_a_broken_line_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path, request("a"))
    whole = path.read_text()
    path.write_text(f"\n{whole}{whole[:40]}")
    with pytest.raises(InputError, match=r"r\.jsonl:3: is not JSON"):
        read_recordings(path)


def test_a_line_of_another_shape_is_named_by_its_field(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path, request("a"))
    path.write_text(path.read_text().replace('"latency_seconds":0.25', '"latency_seconds":-1'))
    with pytest.raises(InputError) as caught:
        read_recordings(path)
    assert (caught.value.line, caught.value.field) == (1, "reply.latency_seconds")


def test_an_edited_request_no_longer_fits_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path, request("a"))
    path.write_text(path.read_text().replace('"content":"a"', '"content":"b"'))
    with pytest.raises(InputError, match="record it again"):
        read_recordings(path)
