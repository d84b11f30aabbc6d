"""The JSON contract of agents, and its published schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.errors import TraceError
from evalplatform.runs.agent_contract import (
    contract_request_bytes,
    contract_schema_text,
    json_from_agent,
    read_contract_reply,
    reply_conversation,
)
from evalplatform.runs.trajectory import MessageStep

PUBLISHED = Path(__file__).parents[2] / "docs" / "agent-contract.schema.json"


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def fits(value: object, definition: str) -> bool:
    schema = json.loads(PUBLISHED.read_text())
    validator = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{definition}", "$defs": schema["$defs"]})
    return bool(validator.is_valid(value))


def test_the_published_schema_is_that_of_the_code() -> None:
    assert PUBLISHED.read_text() == contract_schema_text()


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_whatever_a_user_says_is_sent_as_it_is(messages: list[str]) -> None:
    sent = json.loads(contract_request_bytes("s", 3, messages))
    assert sent == {"scenario": "s", "run": 3, "messages": [user(text) for text in messages]}
    assert fits(sent, "ContractRequest")


@pytest.mark.parametrize(
    "reply",
    [
        {"messages": [user("a"), agent("b")]},
        {"messages": [user("a")], "ended": "agent_error", "reason": "fell over"},
        {"messages": [user("a")], "usage": {"prompt_tokens": 3}, "cost_usd": 0.25, "files": [{"path": "a", "change": "removed"}]},
        {"messages": [user("a")], "usage": None, "cost_usd": None, "files": None},
    ],
)
def test_what_is_read_as_a_reply_fits_the_schema(reply: dict[str, Any]) -> None:
    assert read_contract_reply(reply).messages
    assert fits(reply, "ContractReply")


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        ([], "Input should be"),
        ({}, "messages: Field required."),
        ({"messages": []}, "messages: Tuple should have at least 1 item"),
        ({"messages": [user("a")], "cost": 1}, "cost: is no field of a reply. Did you mean 'cost_usd'?"),
        ({"messages": [user("a")], "cost_usd": -1}, "cost_usd: Input should be greater than or equal to 0"),
        ({"messages": [user("a")], "ended": "failed"}, "ended: Input should be 'finished', 'agent_error' or 'budget_stop'"),
        ({"messages": [user("a")], "files": [{"path": "a", "change": "moved"}]}, "files.0.change: "),
    ],
)
def test_what_is_no_reply_is_refused_by_its_field_and_by_the_schema(reply: object, sentence: str) -> None:
    with pytest.raises(TraceError) as refused:
        read_contract_reply(reply)
    assert sentence in str(refused.value)
    assert not fits(reply, "ContractReply")


@pytest.mark.parametrize("data", [b"", b"no", b"\xff\xfe{}", b'{"messages": [', b"[" * 100_000])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(TraceError, match=r"^is (no JSON|empty)"):
        json_from_agent(data)


def test_a_reply_is_the_whole_conversation() -> None:
    asked = ["a", "b"]
    whole = {"messages": [{"role": "system", "content": "be brief"}, user("a"), agent("1"), user("go on"), user("b"), agent("2")]}
    steps = reply_conversation(read_contract_reply(whole), asked).trajectory.steps
    assert [step.text for step in steps if isinstance(step, MessageStep)] == ["be brief", "a", "1", "go on", "b", "2"]


@pytest.mark.parametrize(
    ("messages", "missing"),
    [
        ([agent("1"), agent("2")], "message 1 ('a')"),
        ([user("a"), agent("1")], "message 2 ('b')"),
        ([user("b"), agent("1"), user("a")], "message 2 ('b')"),
        ([user("a, in other words"), user("b")], "message 1 ('a')"),
    ],
)
def test_a_reply_without_the_users_messages_is_refused(messages: list[dict[str, Any]], missing: str) -> None:
    with pytest.raises(TraceError, match="is not the whole conversation") as refused:
        reply_conversation(read_contract_reply({"messages": messages}), ["a", "b"])
    assert missing in str(refused.value)


def test_an_agent_that_stopped_early_need_not_hold_what_it_was_never_told() -> None:
    reply = read_contract_reply({"messages": [user("a"), agent("1")], "ended": "budget_stop", "reason": "enough"})
    assert reply_conversation(reply, ["a", "b"]).trajectory.final_text == "1"
