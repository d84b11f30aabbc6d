"""One conversation out of the spans of a trace: model calls in the order they began, and the tools that ran between them.

A model call's span repeats the history that it was sent, so what is new in it is what goes beyond the conversation so far. Tool spans add
what the messages leave out: a result that no model was sent any more, or, where no content was captured, the call itself.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from evalplatform.runs.traces.otel_messages import ChatMessage, ModelCall, model_call_of
from evalplatform.runs.traces.otel_names import (
    TOOL_ARGUMENTS,
    TOOL_CALL_ID,
    TOOL_NAME,
    TOOL_RESULT,
    first_of,
    part_of,
    text_of,
)
from evalplatform.runs.traces.otel_spans import Span
from evalplatform.runs.traces.problems import ProblemKind, TraceProblem


class TraceConversation(NamedTuple):
    """The messages of a trace's outermost agent, and what was wrong with its spans."""

    messages: list[ChatMessage]
    problems: tuple[TraceProblem, ...]


def conversation_of(spans: Sequence[Span]) -> TraceConversation:
    """Return the conversation of one trace; its messages are none where no content was captured and no tool ran.

    Args:
        spans: all spans of the trace, in the order they began.

    Raises:
        TraceError: a message of a span is none.
    """
    tree = _SpanTree(spans)
    conversation = _Conversation()
    for span in spans:
        if not span.end:
            conversation.note("unfinished_span", span.name)
    untimed = [span.name for span in spans if not span.start and part_of(span) in ("model", "tool")]
    if untimed and len(spans) > 1:
        conversation.note("unordered_spans", ", ".join(untimed))
    for name in tree.nesting_tools:
        conversation.note("nested_agent", name)
    calls = _model_calls(tree, conversation)
    for span, call in calls:
        conversation.add_model_call(span, call)
    conversation.name_calls()
    for span in tree.outer("tool"):
        conversation.add_tool_run(span)
    return TraceConversation([placed.message for placed in conversation.placed], tuple(conversation.problems))


def model_spans(spans: Sequence[Span]) -> list[Span]:
    """Return the spans of model calls, each call once: a span inside another model call's is the same call, seen from further in."""
    tree = _SpanTree(spans)
    return [span for span in spans if part_of(span) == "model" and not tree.has_ancestor(span, "model")]


class _SpanTree:
    """Who is inside whom."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._by_id = {span.span_id: span for span in spans}

    def ancestors(self, span: Span) -> list[Span]:
        """Return the spans around one, innermost first; a circle is gone round once."""
        found: list[Span] = []
        seen = {span.span_id}
        while (parent := self._by_id.get(span.parent_id)) is not None and parent.span_id not in seen:
            seen.add(parent.span_id)
            found.append(parent)
            span = parent
        return found

    def has_ancestor(self, span: Span, part: str) -> bool:
        return any(part_of(ancestor) == part for ancestor in self.ancestors(span))

    def outer(self, part: str) -> list[Span]:
        """Return the spans of a part that no tool's span is around: those of the outermost agent."""
        return [span for span in self._spans if part_of(span) == part and not self.has_ancestor(span, "tool")]

    @property
    def nesting_tools(self) -> list[str]:
        """The names of the outer tools inside which a model was called."""
        inside = [self.ancestors(span) for span in self._spans if part_of(span) == "model"]
        outermost = [next((span for span in reversed(around) if part_of(span) == "tool"), None) for around in inside]
        names = {span.span_id: tool_name(span) for span in outermost if span is not None}
        return list(names.values())


def _model_calls(tree: _SpanTree, conversation: "_Conversation") -> list[tuple[Span, ModelCall]]:
    """Return the outer model calls that hold content; where none does, what the agent's own span holds."""
    calls = [(span, model_call_of(span)) for span in tree.outer("model")]
    with_content = {span.span_id for span, call in calls if call.sent or call.replied}
    kept = [
        (span, call)
        for span, call in calls
        if span.span_id in with_content and not any(ancestor.span_id in with_content for ancestor in tree.ancestors(span))
    ]
    for span, _ in calls:
        if span.error is not None:
            conversation.note("model_call_failed", span.error)
    if kept:
        return kept
    agents = [(span, model_call_of(span)) for span in tree.outer("agent")]
    outermost = next(((span, call) for span, call in agents if call.sent or call.replied), None)
    if calls and outermost is None:
        conversation.note("missing_content", "no message was captured")
    return [] if outermost is None else [outermost]


@dataclass
class _Placed:
    """A message with the time it belongs to, and the key by which its repetition is known."""

    time: int
    message: ChatMessage
    key: str


@dataclass
class _Conversation:
    placed: list[_Placed] = field(default_factory=list)
    problems: list[TraceProblem] = field(default_factory=list)
    _last_sent: list[str] = field(default_factory=list)
    _run_calls: set[str] = field(default_factory=set)
    _nameless: list[str] = field(default_factory=list)
    _given_ids: set[str] = field(default_factory=set)

    def note(self, kind: ProblemKind, detail: str) -> None:
        self.problems.append(TraceProblem(kind=kind, detail=detail[:200]))

    def add_model_call(self, span: Span, call: ModelCall) -> None:
        """Add what a model call tells that is not there yet."""
        sent = [_Placed(span.start, message, _key(message)) for message in call.sent]
        keys = [placed.key for placed in sent]
        known = [placed.key for placed in self.placed]
        if keys and keys == self._last_sent and known[: len(keys)] == keys and len(known) > len(keys):
            self.note("reply_superseded", span.name)
            del self.placed[len(keys) :]
        elif _is_rewritten(known, keys):
            self.note("history_rewritten", span.name)
            self.placed = [_Placed(earlier.time, new.message, new.key) for earlier, new in zip(self.placed, sent, strict=False)]
            self.placed += sent[len(known) :]
        else:
            self.placed += sent[_overlap(known, keys) :]
        self.placed += [_Placed(span.end or span.start, message, _key(message)) for message in call.replied]
        self._last_sent = keys

    def add_tool_run(self, span: Span) -> None:
        """Add what a tool's span tells that the messages do not: its result, or the call as well."""
        call_id = first_of(span.attributes, TOOL_CALL_ID)
        known_id = call_id if isinstance(call_id, str) and call_id else None
        found = self._call_of(tool_name(span), known_id)
        if found is not None:
            position, written_id = found
            self._run_calls.add(written_id)
            if not self._has_result(written_id) and (result := _result(span)) is not None:
                answer: ChatMessage = {"role": "tool", "tool_call_id": written_id, "content": result}
                self._insert(_after_results(self.placed, position + 1), span.end, answer)
        elif known_id is not None and known_id in self._run_calls:
            self.note("repeated_tool_run", tool_name(span))
        else:
            self._insert_call(span, known_id or f"span-{span.span_id}")

    def name_calls(self) -> None:
        """Give each call that has no id one; a result without one answers the oldest such call."""
        for number, placed in enumerate(self.placed, start=1):
            message = placed.message
            calls = message.get("tool_calls")
            if isinstance(calls, list):
                placed.message = {
                    **message,
                    "tool_calls": [self._named(call, f"call-{number}-{place}") for place, call in enumerate(calls, start=1)],
                }
            elif message.get("role") == "tool" and not message.get("tool_call_id") and self._nameless:
                placed.message = {**message, "tool_call_id": self._nameless.pop(0)}

    def _named(self, call: object, call_id: str) -> object:
        if not isinstance(call, Mapping) or call.get("id"):
            return call
        self._nameless.append(call_id)
        self._given_ids.add(call_id)
        return {**call, "id": call_id}

    def _call_of(self, tool: str, call_id: str | None) -> tuple[int, str] | None:
        """Return where the call stands that a tool's span ran, and its id: found by the id, or by the name where one of both has no id."""
        for position, placed in enumerate(self.placed):
            for written, name in _calls(placed.message):
                by_name = name == tool and (call_id is None or written in self._given_ids)
                if isinstance(written, str) and written not in self._run_calls and (written == call_id or by_name):
                    return position, written
        return None

    def _has_result(self, call_id: object) -> bool:
        return any(placed.message.get("role") == "tool" and placed.message.get("tool_call_id") == call_id for placed in self.placed)

    def _insert_call(self, span: Span, call_id: str) -> None:
        arguments = first_of(span.attributes, TOOL_ARGUMENTS)
        call = {"id": call_id, "function": {"name": tool_name(span), "arguments": text_of(arguments) if arguments is not None else None}}
        position = next((place for place, placed in enumerate(self.placed) if placed.time > span.start), len(self.placed))
        position = _after_results(self.placed, position)
        self._insert(position, span.start, {"role": "assistant", "content": None, "tool_calls": [call]})
        self._run_calls.add(call_id)
        if (result := _result(span)) is not None:
            self._insert(position + 1, span.start, {"role": "tool", "tool_call_id": call_id, "content": result})

    def _insert(self, position: int, time: int, message: ChatMessage) -> None:
        self.placed.insert(position, _Placed(time, message, _key(message)))


def tool_name(span: Span) -> str:
    """Return the name of the tool that a span ran."""
    name = first_of(span.attributes, TOOL_NAME)
    return name if isinstance(name, str) and name else span.name.removeprefix("execute_tool ").strip() or "tool"


def _result(span: Span) -> str | None:
    result = first_of(span.attributes, TOOL_RESULT)
    if result is not None:
        return text_of(result)
    return None if span.error is None else f"error: {span.error}"


def _calls(message: ChatMessage) -> Iterable[tuple[object, object]]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping):
            yield call.get("id"), call["function"].get("name")


def _after_results(placed: Sequence[_Placed], position: int) -> int:
    """Return the first position from there on that does not part a call from its results."""
    while position < len(placed) and placed[position].message.get("role") == "tool":
        position += 1
    return position


def _overlap(known: Sequence[str], sent: Sequence[str]) -> int:
    """Return how many of the messages that a model was sent are there already.

    Either all of them follow on the whole conversation, or its end is their beginning: a window of it, or what is new alone. Before a
    window may stand what the conversation began with, and system messages that are known.
    """
    alike = next((place for place, pair in enumerate(zip(known, sent, strict=False)) if pair[0] != pair[1]), min(len(known), len(sent)))
    if alike == len(known):
        return alike
    leading = next((place for place, key in enumerate(sent) if not key.startswith("system:") or key not in known), len(sent))
    for before in (alike, leading):
        rest = sent[before:]
        for length in range(min(len(known), len(rest)), 0, -1):
            if list(known[-length:]) == list(rest[:length]):
                return before + length
    return leading


def _is_rewritten(known: Sequence[str], sent: Sequence[str]) -> bool:
    """Return whether a model was sent the conversation so far in other words: it begins alike, is no shorter, and parts from it later.

    Without this, what an agent's framework shortened or respelt on the way would be told twice.
    """
    leading = next((number for number, key in enumerate(known) if not key.startswith("system:")), len(known))
    begins_alike = leading < len(known) and list(sent[: leading + 1]) == list(known[: leading + 1])
    return begins_alike and len(sent) >= len(known) and list(sent[: len(known)]) != list(known)


def _key(message: ChatMessage) -> str:
    """Return what tells messages apart: role, text, and ids and names of calls. How arguments are spelt differs between spans."""
    calls = [[call_id, name] for call_id, name in _calls(message)]
    content = message.get("content")
    text = text_of(content).strip() if isinstance(content, list | str) else ""
    return f"{message.get('role')}:{json.dumps([text, calls, message.get('tool_call_id')], default=str)}"
