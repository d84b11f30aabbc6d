"""The JSON that an agent is asked with and answers in: over HTTP, on standard input and output, and as a Python function's argument.

The reply holds the whole conversation, user messages included, since in a conversation of several turns nothing else says what was answered
when. Its JSON Schema is published as docs/agent-contract.schema.json. After a change here:
`python -m evalplatform.runs.agent_contract > docs/agent-contract.schema.json`.
"""

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, WithJsonSchema

from evalplatform.kernel.errors import TraceError, nearest_name
from evalplatform.kernel.text import clip
from evalplatform.kernel.usage import Usage
from evalplatform.kernel.values import Value
from evalplatform.runs.traces.chat_messages import ParsedConversation, trajectory_of_messages
from evalplatform.runs.trajectory import ChangedFile, MessageStep, Trajectory

SHOWN_LIMIT_CHARS = 80
_LOOKED_AT_BYTES = 65_536

_MESSAGE_SCHEMA = {
    "type": "object",
    "description": "An OpenAI chat message: text, tool calls of an assistant, or the result of one.",
    "required": ["role"],
    "properties": {
        "role": {"enum": ["system", "developer", "user", "assistant", "tool", "function"]},
        "content": {"type": ["string", "array", "null"]},
        "tool_calls": {"type": ["array", "null"], "items": {"type": "object"}},
        "tool_call_id": {"type": "string", "description": "Of a result: the id of the call that it answers."},
    },
}
ChatMessage = Annotated[dict[str, Any], WithJsonSchema(_MESSAGE_SCHEMA)]


class UserMessage(Value):
    """One message of the user."""

    role: Literal["user"] = "user"
    content: str


class ContractRequest(Value):
    """What an agent is sent: which scenario, which run of it (from 0), and all of the user's messages in order."""

    scenario: str
    run: int = Field(ge=0)
    messages: tuple[UserMessage, ...] = Field(min_length=1)


class ContractReply(Value):
    """What an agent answers.

    Attributes:
        messages: the whole conversation as OpenAI chat messages, the user's messages among them as they were sent.
        usage: the tokens of the whole run, or null.
        cost_usd: what the whole run cost, or null.
        ended: how the run ended, by the agent's own account; `reason` says why where it is not `finished`.
        files: the files that the run left changed, where the agent knows them and works in no workspace of ours.
    """

    messages: tuple[ChatMessage, ...] = Field(min_length=1)
    usage: Usage | None = None
    cost_usd: float | None = Field(default=None, ge=0)
    ended: Literal["finished", "agent_error", "budget_stop"] = "finished"
    reason: str | None = None
    files: tuple[ChangedFile, ...] | None = None


def contract_request_bytes(scenario_id: str, order: int, messages: Sequence[str]) -> bytes:
    """Return the request as UTF-8 JSON; half a character, which UTF-8 cannot hold, is sent as JSON's escape."""
    request = ContractRequest(scenario=scenario_id, run=order, messages=tuple(UserMessage(content=text) for text in messages))
    return json.dumps(request.model_dump()).encode()


def json_from_agent(data: bytes) -> object:
    """Return the JSON value that an agent wrote.

    Raises:
        TraceError: it is not JSON in UTF-8, or nested too deeply to be read.
    """
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        shown = clip(" ".join(data[:_LOOKED_AT_BYTES].decode("utf-8", "replace").split()), SHOWN_LIMIT_CHARS)
        raise TraceError(f"is no JSON: {shown!r}." if shown else "is empty.") from None


def read_contract_reply(value: object) -> ContractReply:
    """Return a reply that came as parsed JSON.

    Raises:
        TraceError: it is not of the contract's shape; the field is named, and the nearest name of one that is not known.
    """
    try:
        return ContractReply.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or None
        if problem["type"] == "extra_forbidden":
            near = nearest_name(str(problem["loc"][-1]), ContractReply.model_fields)
            raise TraceError("is no field of a reply.", field=where, nearest=near) from None
        raise TraceError(f"{problem['msg']}.", field=where) from None


def reply_conversation(reply: ContractReply, asked: Sequence[str]) -> ParsedConversation:
    """Return the trajectory that a reply tells, and what is wrong with its messages.

    An agent may have been told more by a user of its own; of a run that is `finished`, the messages that it was sent stand in it in order.

    Raises:
        TraceError: a message cannot be read, or the reply is not the whole conversation.
    """
    conversation = trajectory_of_messages(reply.messages)
    missing = missing_message(conversation.trajectory, asked if reply.ended == "finished" else asked[:1])
    if missing is not None:
        raise TraceError(f"is not the whole conversation: {missing} is missing, as it was sent.", field="messages")
    return conversation


def missing_message(trajectory: Trajectory, asked: Sequence[str]) -> str | None:
    """Return the first of the user's messages that does not stand in a trajectory, in their order, as words; None where all of them do."""
    said = iter([step.text for step in trajectory.steps if isinstance(step, MessageStep) and step.role == "user"])
    for number, message in enumerate(asked, start=1):
        if message not in said:  # an iterator goes on behind what it found, so this is a test of order as well
            return f"the user's message {number} ({clip(message, SHOWN_LIMIT_CHARS)!r})"
    return None


def contract_schema() -> dict[str, Any]:
    """Return the JSON Schema of request and reply, as it stands in docs/agent-contract.schema.json."""
    request = ContractRequest.model_json_schema(mode="validation", ref_template="#/$defs/{model}")
    reply = ContractReply.model_json_schema(mode="validation", ref_template="#/$defs/{model}")
    definitions = {**request.pop("$defs", {}), **reply.pop("$defs", {}), "ContractRequest": request, "ContractReply": reply}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The agent contract",
        "$defs": definitions,
        "anyOf": [{"$ref": "#/$defs/ContractRequest"}, {"$ref": "#/$defs/ContractReply"}],
    }


def contract_schema_text() -> str:
    """Return the schema as it stands in docs/agent-contract.schema.json."""
    return json.dumps(contract_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(contract_schema_text())
