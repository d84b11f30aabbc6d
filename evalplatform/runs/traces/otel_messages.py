"""Chat messages out of the spans of model calls, whichever convention wrote them."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from evalplatform.kernel.errors import TraceError
from evalplatform.runs.traces.content_calls import unfolded
from evalplatform.runs.traces.json_keys import RepeatedKeyError, json_with_single_keys
from evalplatform.runs.traces.otel_names import (
    INDEXED_INPUT,
    INDEXED_OUTPUT,
    INPUT_MESSAGES,
    OUTPUT_MESSAGES,
    SYSTEM_INSTRUCTIONS,
    parsed,
    part_of,
    text_of,
)
from evalplatform.runs.traces.otel_spans import Span, SpanEvent

ChatMessage = dict[str, object]

_ROLES = {"model": "assistant", "ai": "assistant", "human": "user"}
_EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE_EVENT = "gen_ai.choice"
_CONTENT_EVENTS = {"gen_ai.content.prompt": "gen_ai.prompt", "gen_ai.content.completion": "gen_ai.completion"}
_DETAILS_EVENT = "gen_ai.client.inference.operation.details"
_LENGTH_REASONS = ("length", "max_tokens", "MAX_TOKENS")
_PASSED_OVER_PARTS = ("reasoning", "thinking")
_OPENINFERENCE_PREFIXES = re.compile(r"(?:^|(?<=\.))(?:message_content|message|tool_call|function)\.(?=.)")


class ModelCall(NamedTuple):
    """What a model was sent and what it replied, as chat messages; empty where the span holds no content."""

    sent: list[ChatMessage]
    replied: list[ChatMessage]


def model_call_of(span: Span) -> ModelCall:
    """Return the messages of a span.

    Raises:
        TraceError: a message of it is none, or the reply holds several choices.
    """
    written = _written_messages(span)
    if part_of(span) == "model":  # an agent may well write several messages
        _check_one_choice(written.replied)
    return ModelCall(_unfolded(written.sent, INPUT_MESSAGES), _unfolded(written.replied, OUTPUT_MESSAGES))


def _written_messages(span: Span) -> ModelCall:
    attributes = dict(span.attributes)
    for event in span.events:
        if event.name == _DETAILS_EVENT:
            attributes.update(event.attributes)
    sent = [*_instructions(attributes), *_listed(attributes.get(INPUT_MESSAGES), INPUT_MESSAGES)]
    replied = _listed(attributes.get(OUTPUT_MESSAGES), OUTPUT_MESSAGES)
    if sent or replied:
        return ModelCall(sent, replied)
    sent, replied = _indexed_messages(attributes, INDEXED_INPUT), _indexed_messages(attributes, INDEXED_OUTPUT)
    if sent or replied:
        return ModelCall(sent, replied)
    return _messages_of_events(span.events)


def _check_one_choice(replied: list[ChatMessage]) -> None:
    """Raise TraceError where a reply holds several choices: two of the assistant's messages follow each other."""
    if any(earlier.get("role") == later.get("role") == "assistant" for earlier, later in pairwise(replied)):
        raise TraceError("a model call replied with several choices; a run has one.", field=OUTPUT_MESSAGES)


def _unfolded(messages: list[ChatMessage], where: str) -> list[ChatMessage]:
    """Return messages with the calls and results that are parts of their contents as messages of their own."""
    return [dict(placed.message) for position, message in enumerate(messages) for placed in unfolded(message, f"{where}[{position}]")]


def _instructions(attributes: Mapping[str, object]) -> list[ChatMessage]:
    instructions = parsed(attributes.get(SYSTEM_INSTRUCTIONS))
    if instructions is None:
        return []
    parts = instructions if isinstance(instructions, list) else [{"type": "text", "content": text_of(instructions)}]
    return list(_chat_messages({"role": "system", "parts": parts}, SYSTEM_INSTRUCTIONS))


def _listed(value: object, where: str) -> list[ChatMessage]:
    messages = _parsed_messages(value, where)
    if messages is None:
        return []
    if not isinstance(messages, list):
        raise TraceError("must be a list of messages.", field=where)
    return [chat for position, message in enumerate(messages) for chat in _chat_messages(message, f"{where}[{position}]")]


def _parsed_messages(value: object, where: str) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json_with_single_keys(value)
    except RepeatedKeyError as error:
        raise TraceError(f"leaves open what it says: {error}.", field=where) from None
    except (ValueError, RecursionError):
        return value


def _chat_messages(message: object, where: str) -> Iterator[ChatMessage]:
    """Iterate over the chat messages that one message of the conventions stands for: each tool's answer in it is one of its own."""
    if not isinstance(message, Mapping):
        raise TraceError("must be a message, an object.", field=where)
    role = _role(message.get("role"))
    parts = message.get("parts")
    if not isinstance(parts, list):
        yield {**{name: value for name, value in message.items() if name != "finish_reason"}, "role": role} | _finish(message)
        return
    texts: list[object] = []
    calls: list[object] = []
    for position, part in enumerate(parts):
        if not isinstance(part, Mapping):
            raise TraceError("must be a part, an object with a type.", field=f"{where}.parts[{position}]")
        kind = part.get("type")
        if kind in ("tool_call", "function_call"):
            calls.append(_call(part.get("id"), part.get("name"), part.get("arguments")))
        elif kind == "tool_call_response":
            yield {"role": "tool", "tool_call_id": part.get("id"), "content": text_of(part.get("response", part.get("result")))}
        elif kind == "text":
            texts.append({"type": "text", "text": text_of(part.get("content", part.get("text")))})
        elif kind not in _PASSED_OVER_PARTS:
            texts.append({"type": str(part.get("modality") or kind)})
    if texts or calls or not parts:
        yield {"role": role, "content": texts or None} | ({"tool_calls": calls} if calls else {}) | _finish(message)


def _indexed_messages(attributes: Mapping[str, object], prefixes: tuple[str, ...]) -> list[ChatMessage]:
    """Return messages that were written as one attribute a field, such as `gen_ai.prompt.0.content`."""
    fields: dict[int, dict[str, object]] = defaultdict(dict)
    for name, value in attributes.items():
        for prefix in prefixes:
            number, dot, rest = name.removeprefix(f"{prefix}.").partition(".")
            if name.startswith(f"{prefix}.") and dot and number.isdecimal():
                fields[int(number)][_OPENINFERENCE_PREFIXES.sub("", rest)] = value
    return [_message_of_fields(fields[number]) for number in sorted(fields)]


def _message_of_fields(fields: Mapping[str, object]) -> ChatMessage:
    calls: dict[int, dict[str, object]] = defaultdict(dict)
    parts: dict[int, dict[str, object]] = defaultdict(dict)
    for name, value in fields.items():
        place = re.fullmatch(r"(tool_calls|contents)\.(\d+)\.(\w+)", name)
        if place is not None:
            (calls if place[1] == "tool_calls" else parts)[int(place[2])][place[3]] = value
    content = parsed(fields.get("content"))
    if parts:
        content = [{**parts[number], "type": parts[number].get("type", "text")} for number in sorted(parts)]
    elif not _is_parts(content):
        content = fields.get("content")
    message: ChatMessage = {"role": _role(fields.get("role", "assistant")), "content": content}
    if calls:
        message["tool_calls"] = [_call(call.get("id"), call.get("name"), call.get("arguments")) for _, call in sorted(calls.items())]
    elif fields.get("function_call.name"):
        message["tool_calls"] = [_call(None, fields["function_call.name"], fields.get("function_call.arguments"))]
    if "tool_call_id" in fields:
        message["tool_call_id"] = fields["tool_call_id"]
    return message | _finish(fields)


def _messages_of_events(events: tuple[SpanEvent, ...]) -> ModelCall:
    call = ModelCall([], [])
    for event in sorted(events, key=lambda event: event.time):
        body = dict(event.attributes)
        content = parsed(body.pop("gen_ai.event.content", None))
        body |= content if isinstance(content, Mapping) else {}
        if event.name in _EVENT_ROLES:
            call.sent.append(_message_of_event(body, _EVENT_ROLES[event.name]))
        elif event.name == _CHOICE_EVENT:
            inner = parsed(body.get("message"))
            told = dict(inner) if isinstance(inner, Mapping) else {} if inner is None else {"content": inner}
            call.replied.append(_message_of_event({**body, **told}, "assistant") | _finish(body))
        elif event.name in _CONTENT_EVENTS:
            messages = _listed_or_text(body.get(_CONTENT_EVENTS[event.name]), is_reply=event.name.endswith("completion"))
            (call.replied if event.name.endswith("completion") else call.sent).extend(messages)
    return call


def _message_of_event(body: Mapping[str, object], role: str) -> ChatMessage:
    message: ChatMessage = {"role": _role(body.get("role", role)), "content": _content_of_event(body.get("content"))}
    calls = parsed(body.get("tool_calls"))
    if isinstance(calls, list) and calls:
        message["tool_calls"] = [_nested_call(call) for call in calls]
    if message["role"] == "tool":
        message["tool_call_id"] = body.get("id", body.get("tool_call_id"))
    return message


def _content_of_event(content: object) -> object:
    value = parsed(content)
    return value if _is_parts(value) else content if content is None or isinstance(content, str) else text_of(content)


def _listed_or_text(value: object, *, is_reply: bool) -> list[ChatMessage]:
    messages = parsed(value)
    if isinstance(messages, list):
        return _listed(messages, "gen_ai.completion" if is_reply else "gen_ai.prompt")
    return [] if value is None else [{"role": "assistant" if is_reply else "user", "content": text_of(value)}]


def _nested_call(call: object) -> object:
    if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
        return call
    function = call["function"]
    return _call(call.get("id"), function.get("name"), function.get("arguments"))


def _call(call_id: object, name: object, arguments: object) -> ChatMessage:
    text = arguments if isinstance(arguments, str) or arguments is None else text_of(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _finish(fields: Mapping[str, object]) -> ChatMessage:
    return {"finish_reason": "length"} if fields.get("finish_reason") in _LENGTH_REASONS else {}


def _role(role: object) -> object:
    return _ROLES.get(role, role) if isinstance(role, str) else role


def _is_parts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, Mapping) and "type" in part for part in value)
