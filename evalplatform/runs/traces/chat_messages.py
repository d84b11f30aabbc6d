"""A trajectory out of OpenAI chat messages: the exchange format of recorded conversations.

Read are the roles system, developer, user, assistant, tool and the older function (with `function_call` in place of `tool_calls`), and
calls and results that are parts of a content, as Anthropic's messages have them. What a conversation can mean in one way alone is kept and
named (`TraceProblem`); what it leaves open is refused.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evalplatform.kernel.errors import TraceError, nearest_name
from evalplatform.runs.traces.content import content_text, whole_text
from evalplatform.runs.traces.content_calls import unfolded
from evalplatform.runs.traces.json_keys import RepeatedKeyError, strict_json
from evalplatform.runs.traces.problems import ProblemKind, TraceProblem
from evalplatform.runs.trajectory import MessageRole, MessageStep, Step, ToolCallStep, ToolResultStep, Trajectory

LARGE_MESSAGE_CHARS = 1_000_000
_MESSAGE_ROLES: dict[str, MessageRole] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_RESULT_ROLES = ("tool", "function")


class ParsedConversation(NamedTuple):
    """A trajectory, and what was wrong with the messages it was read from."""

    trajectory: Trajectory
    problems: tuple[TraceProblem, ...]


def trajectory_of_messages(
    messages: Sequence[object], *, file: object = None, line: int | None = None, lines: Sequence[int] | None = None
) -> ParsedConversation:
    """Return the trajectory that chat messages tell.

    The text said beside tool calls stays on the first call of its message. Calls of one message keep their order; a result is matched by
    its `tool_call_id`, a result of the older `function` role by its name. A call id that is used again after its first call was answered
    stands for a second call and gets the ending `#2`; the trajectory's call ids are unique.

    Args:
        messages: the messages as they were parsed from JSON.
        file, line: where they stand, for the message of a refusal.
        lines: the line of each message, where they stand on lines of their own.

    Raises:
        TraceError: there are none; one is no object; its role is unknown; a call is not the assistant's, or has no tool name or no id, or
            the id of a call that is still open; a result answers no open call.
    """
    reader = _ConversationReader()
    if not messages:
        raise TraceError("holds no message.", file=file, line=line, field="messages")
    for position, message in enumerate(messages):
        try:
            reader.add(message, f"messages[{position}]")
        except TraceError as error:
            raise error.placed(file=file, line=line if lines is None else lines[position]) from None
    return reader.finished()


class _ConversationReader:
    """Reads one message after the other."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._problems: list[TraceProblem] = []
        self._open: dict[str, ToolCallStep] = {}
        self._call_steps: dict[str, int] = {}
        self._latest: dict[str, str] = {}

    def add(self, message: object, where: str) -> None:
        if not isinstance(message, Mapping):
            raise TraceError(f"must be a message, an object; it is {json_kind(message)}.", field=where)
        for placed in unfolded(message, where):
            self._add_one(placed.message, placed.where)

    def _add_one(self, message: Mapping[str, object], where: str) -> None:
        role = message.get("role")
        if role != "assistant" and (message.get("tool_calls") or message.get("function_call")):
            raise TraceError("only a message of the assistant makes calls.", field=f"{where}.tool_calls")
        if role in _RESULT_ROLES:
            self._add_result(message, where)
        elif isinstance(role, str) and role in _MESSAGE_ROLES:
            calls = _calls_of(message, where) if role == "assistant" else []
            if calls:
                self._add_calls(message, calls, where)
            else:
                self._add(MessageStep(role=_MESSAGE_ROLES[role], text=self._text(message, where) or ""))
            self._note_finish(message)
        else:
            roles = [*_MESSAGE_ROLES, *_RESULT_ROLES]
            near = nearest_name(role, roles) if isinstance(role, str) else None
            raise TraceError(f"unknown role {role!r} (known: {', '.join(roles)}).", field=f"{where}.role", nearest=near)

    def finished(self) -> ParsedConversation:
        for call_id in self._open:
            step = self._call_steps[call_id]
            self._problems.append(TraceProblem(kind="call_without_result", step=step, detail=self._open[call_id].tool))
        problems = sorted(self._problems, key=lambda problem: problem.step or 0)
        return ParsedConversation(Trajectory(steps=tuple(self._steps)), tuple(problems))

    def _add_calls(self, message: Mapping[str, object], calls: list["_Call"], where: str) -> None:
        said = self._text(message, where, may_be_missing=True)
        for position, call in enumerate(calls):
            call_id = self._unique_id(call)
            step = ToolCallStep(
                call_id=call_id,
                tool=call.tool,
                arguments_text=self._whole(call.arguments_text),
                text=(said or None) if position == 0 else None,
            )
            if (problem := _arguments_problem(call.arguments_text)) is not None:
                self._note(problem, call.tool)
            self._call_steps[call_id] = len(self._steps) + 1
            self._open[call_id] = step
            self._add(step)

    def _unique_id(self, call: "_Call") -> str:
        written = f"{call.tool}-call" if call.id is None else call.id
        earlier = self._latest.get(written)
        if earlier in self._open and call.id is not None:
            raise TraceError(f"call id {written!r} is that of an earlier call which has no result yet.", field=call.where)
        name, uses = written, 1
        while name in self._call_steps:
            uses += 1
            name = f"{written}#{uses}"
        if earlier is not None and call.id is not None:
            self._note("reused_call_id", written)
        self._latest[written] = name
        return name

    def _add_result(self, message: Mapping[str, object], where: str) -> None:
        call = self._answered_call(message, where)
        del self._open[call.call_id]
        self._add(ToolResultStep(call_id=call.call_id, tool=call.tool, text=self._text(message, where) or ""))

    def _answered_call(self, message: Mapping[str, object], where: str) -> ToolCallStep:
        named = message.get("tool_call_id")
        if isinstance(named, str):
            latest = self._latest.get(whole_text(named))
            if latest in self._open:
                return self._open[latest]
            near = nearest_name(named, self._open)
            raise TraceError(f"answers no open call: {named!r}.", field=f"{where}.tool_call_id", nearest=near)
        if message.get("role") == "function":
            for call in self._open.values():
                if call.tool == message.get("name"):
                    return call
            raise TraceError(f"answers no open call: function {message.get('name')!r}.", field=f"{where}.name")
        raise TraceError("a result must name the call it answers.", field=f"{where}.tool_call_id")

    def _text(self, message: Mapping[str, object], where: str, *, may_be_missing: bool = False) -> str | None:
        """Return all that a message says: its content, what the assistant refused with, and the words of what it spoke."""
        content = message.get("content")
        said = [] if content is None else [self._content_text(content, where)]
        if message.get("role") == "assistant":
            said += [text for text in _said_beside_content(message) if text not in said]
        if not said:
            if not may_be_missing:
                self._note("missing_content", str(message.get("role")))
            return None
        return self._whole("\n".join(text for text in said if text))

    def _content_text(self, content: object, where: str) -> str:
        text, not_kept = content_text(content, f"{where}.content")
        for part in not_kept:
            self._note("part_not_kept", part)
        return text

    def _whole(self, text: str) -> str:
        if len(text) > LARGE_MESSAGE_CHARS:
            self._note("large_message", f"{len(text)} characters")
        kept = whole_text(text)
        if kept != text:
            self._note("broken_text")
        return kept

    def _note_finish(self, message: Mapping[str, object]) -> None:
        """Note a reply that was cut: at the token limit, or, with a reason that is null, at the end of its stream."""
        if message.get("finish_reason") == "length":
            self._problems.append(TraceProblem(kind="length_limit", step=len(self._steps)))
        if message.get("role") == "assistant" and "finish_reason" in message and message["finish_reason"] is None:
            self._problems.append(TraceProblem(kind="cut_stream", step=len(self._steps)))

    def _note(self, kind: ProblemKind, detail: str | None = None) -> None:
        self._problems.append(TraceProblem(kind=kind, step=len(self._steps) + 1, detail=detail))

    def _add(self, step: Step) -> None:
        self._steps.append(step)


class _Call(NamedTuple):
    """A call as it was written; `id` is None for the older function call, which has none."""

    id: str | None
    tool: str
    arguments_text: str
    where: str


def _calls_of(message: Mapping[str, object], where: str) -> list[_Call]:
    written = message.get("tool_calls")
    if written is None:
        written = []
    if not isinstance(written, list):
        raise TraceError(f"must be a list of calls; it is {json_kind(written)}.", field=f"{where}.tool_calls")
    calls = [_call_of(call, f"{where}.tool_calls[{position}]") for position, call in enumerate(written)]
    older = message.get("function_call")
    return calls if older is None else [*calls, _function_of(older, None, f"{where}.function_call")]


def _call_of(call: object, where: str) -> _Call:
    if not isinstance(call, Mapping):
        raise TraceError(f"must be a call, an object; it is {json_kind(call)}.", field=where)
    call_id = call.get("id")
    if not isinstance(call_id, str) or not call_id:
        raise TraceError("a call needs an id, which its result names.", field=f"{where}.id")
    if call.get("type") == "custom":
        custom = call.get("custom")
        arguments = custom.get("input") if isinstance(custom, Mapping) else None
        return _function_of({**custom, "arguments": arguments} if isinstance(custom, Mapping) else custom, call_id, f"{where}.custom")
    return _function_of(call.get("function"), call_id, f"{where}.function")._replace(where=f"{where}.id")


def _function_of(function: object, call_id: str | None, where: str) -> _Call:
    if not isinstance(function, Mapping):
        raise TraceError(f"must be an object with a name and arguments; it is {json_kind(function)}.", field=where)
    name = function.get("name")
    if not isinstance(name, str) or not name or not name.isprintable():
        raise TraceError(f"must be a tool's name, one line of text; it is {name!r}.", field=f"{where}.name")
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    return _Call(None if call_id is None else whole_text(call_id), name, text, where)


def _said_beside_content(message: Mapping[str, object]) -> list[str]:
    audio = message.get("audio")
    texts = (message.get("refusal"), audio.get("transcript") if isinstance(audio, Mapping) else None)
    return [text for text in texts if isinstance(text, str) and text]


def _arguments_problem(text: str) -> ProblemKind | None:
    try:
        strict_json(text)
    except RepeatedKeyError:
        return "repeated_argument"
    except (ValueError, RecursionError):
        return "arguments_not_json"
    return None


def json_kind(value: object) -> str:
    """Return what JSON calls a parsed value's type, with its article."""
    names = {
        type(None): "null",
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)
