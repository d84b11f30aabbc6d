"""Calls and results that are written as parts of a message's content, as Anthropic's messages have them, made into messages of their own.

A `tool_use` part of the assistant is a call, a `tool_result` part of the message after it its result. Tools that the model's provider runs
have both in one message of the assistant, as `server_tool_use` and `web_search_tool_result` and the like.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from evalplatform.kernel.errors import TraceError

_CALL_ENDING, _RESULT_ENDING = "tool_use", "tool_result"


class PlacedMessage(NamedTuple):
    """A message and where it stands."""

    message: Mapping[str, object]
    where: str


def unfolded(message: Mapping[str, object], where: str) -> Iterator[PlacedMessage]:
    """Iterate over the messages that one stands for: itself, unless its content holds calls or results.

    The text said before or beside calls stays with them, up to the first result that follows. A call that the message lists under
    `tool_calls` as well is one call.

    Raises:
        TraceError: a call stands in a message that is not the assistant's, or has no id; a result does not name its call.
    """
    content = message.get("content")
    if not isinstance(content, list) or not any(_ends(part, _CALL_ENDING) or _ends(part, _RESULT_ENDING) for part in content):
        yield PlacedMessage(message, where)
        return
    calls = _listed_calls(message)
    listed = {call.get("id") for call in calls if isinstance(call, Mapping)}
    others: list[object] = []
    for position, part in enumerate(content):
        place = f"{where}.content[{position}]"
        if _ends(part, _RESULT_ENDING):
            if others or calls:
                yield PlacedMessage(_plain(message, others, calls), where)
            others, calls = [], []
            yield PlacedMessage(_result(part, message, place), place)
        elif _ends(part, _CALL_ENDING):
            call = _call(part, message, place)
            calls += [] if call["id"] in listed else [call]
        else:
            others.append(part)
    if others or calls:
        yield PlacedMessage(_plain(message, others, calls), where)


def _listed_calls(message: Mapping[str, object]) -> list[object]:
    listed = message.get("tool_calls")
    return list(listed) if isinstance(listed, list) else []


def _plain(message: Mapping[str, object], others: list[object], calls: list[object]) -> dict[str, object]:
    """Return a message with those parts of its content that are neither, and the calls listed beside them."""
    kept = {name: value for name, value in message.items() if name not in ("content", "tool_calls")}
    return {**kept, "content": others or None} | ({"tool_calls": calls} if calls else {})


def _call(part: object, message: Mapping[str, object], where: str) -> dict[str, object]:
    assert isinstance(part, Mapping)
    if message.get("role") != "assistant":
        raise TraceError("only a message of the assistant makes calls.", field=where)
    call_id = part.get("id")
    if not isinstance(call_id, str) or not call_id:
        raise TraceError("a call needs an id, which its result names.", field=f"{where}.id")
    return {"id": call_id, "type": "function", "function": {"name": part.get("name"), "arguments": part.get("input")}}


def _result(part: object, message: Mapping[str, object], where: str) -> dict[str, object]:
    assert isinstance(part, Mapping)
    if message.get("role") not in ("assistant", "user", "tool"):
        raise TraceError("a result stands in a message of the user, a tool or the assistant.", field=where)
    call_id = part.get("tool_use_id")
    if not isinstance(call_id, str) or not call_id:
        raise TraceError("a result must name the call it answers.", field=f"{where}.tool_use_id")
    content = part.get("content")
    return {"role": "tool", "tool_call_id": call_id, "content": [content] if isinstance(content, Mapping) else content}


def _ends(part: object, ending: str) -> bool:
    """Return whether a part is of a type with that ending: `tool_use` itself, `server_tool_use`, `mcp_tool_use`."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    return isinstance(kind, str) and (kind == ending or kind.endswith(f"_{ending}"))
