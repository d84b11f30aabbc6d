"""Whatever a trace file holds, it is read as runs or refused with a TraceError, and what was read can be stored."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.errors import TraceError
from evalplatform.runs.traces.trace import TraceRun, read_traces
from evalplatform.runs.trajectory import trajectory_bytes
from tests.support.otlp import event, export, span

WORDS = st.sampled_from(
    ["user", "assistant", "tool", "a", "b", "", "text", "{", '{"a": 1}', '[{"type": "text", "text": "x"}]', "\ud800", "tool_call", "NaN"]
)
NAMES = st.sampled_from(
    [
        "messages", "role", "content", "tool_calls", "function", "function_call", "name", "arguments", "id", "type", "text", "tool_call_id",
        "parts", "response", "choices", "delta", "index",
        "object", "scenario", "trial", "reward", "passed", "metadata", "usage", "created_at",
        "finish_reason", "refusal", "cost_usd", "seconds", "resourceSpans", "scopeSpans", "spans", "resource", "attributes", "key", "value",
    ]
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(-1, 2) | st.just(10**400) | WORDS
VALUES = st.recursive(LEAVES, lambda below: st.lists(below, max_size=4) | st.dictionaries(NAMES, below, max_size=5), max_leaves=20)
CALL = st.fixed_dictionaries({"id": WORDS | VALUES, "function": st.fixed_dictionaries({"name": WORDS, "arguments": VALUES})})
MESSAGE = st.fixed_dictionaries(
    {"role": WORDS}, optional={"content": VALUES, "tool_calls": st.lists(CALL | VALUES, max_size=3) | VALUES, "tool_call_id": WORDS}
)
RECORD = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGE, max_size=5)}, optional={"scenario": VALUES, "trial": VALUES, "reward": VALUES}
)
CHUNK = st.fixed_dictionaries(
    {"object": st.just("chat.completion.chunk"), "choices": VALUES | st.lists(st.fixed_dictionaries({"delta": VALUES}))}
)

ATTRIBUTE_NAMES = st.sampled_from(
    [
        "gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.name",
        "gen_ai.tool.call.id", "gen_ai.tool.call.result", "gen_ai.prompt.0.role", "gen_ai.prompt.0.content", "gen_ai.prompt.x",
        "gen_ai.completion.0.tool_calls.0.name", "llm.input_messages.0.message.contents.0.message_content.text", "traceloop.span.kind",
        "gen_ai.usage.input_tokens", "evalplatform.reward", "evalplatform.verdict", "evalplatform.trial", "test.case.name",
    ]
)  # fmt: skip
PART = st.dictionaries(st.sampled_from(["type", "content", "id", "name", "arguments", "response", "modality"]), VALUES, max_size=4)
PARTED = st.fixed_dictionaries({"role": WORDS, "parts": st.lists(PART, max_size=3) | VALUES})
ATTRIBUTE = (
    st.sampled_from(["chat", "execute_tool", "invoke_agent"]) | st.lists(PARTED, max_size=3).map(json.dumps) | WORDS | st.integers(0, 9)
)
EVENT = st.builds(
    lambda name, values: event(name, **values),
    st.sampled_from(["gen_ai.user.message", "gen_ai.choice", "gen_ai.tool.message", "gen_ai.content.prompt", "gen_ai.evaluation.result"]),
    st.dictionaries(st.sampled_from(["content", "message", "tool_calls", "id", "gen_ai.prompt", "role"]), ATTRIBUTE, max_size=3),
)
SPAN = st.builds(
    lambda span_id, values, parent, error, events: span(span_id, values, parent=parent, error=error, events=tuple(events)),
    st.sampled_from("abcd"),
    st.dictionaries(ATTRIBUTE_NAMES, ATTRIBUTE, max_size=6),
    st.sampled_from(["", "a", "b", "c"]),
    st.none() | WORDS,
    st.lists(EVENT, max_size=3),
)
EXPORT = st.lists(SPAN, max_size=4).map(lambda spans: export(*spans))


def check_read(lines: list[object], *, format_name: str) -> None:
    """Read lines as a trace; what is read can be stored, and what is not is a refusal in its place."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        found = list(read_traces(path, format_name=format_name))
    for item in found:
        assert isinstance(item, TraceRun | TraceError)
        if isinstance(item, TraceRun):
            assert item.trajectory is not None
            assert trajectory_bytes(item.trajectory)
            assert item.model_dump_json()
        else:
            assert item.file == str(path)


@given(st.lists(RECORD | CHUNK | MESSAGE | VALUES | st.lists(MESSAGE, max_size=4), min_size=1, max_size=4))
def test_any_lines_are_chat_messages_or_refused(lines: list[object]) -> None:
    check_read(lines, format_name="openai_chat")


@given(st.lists(EXPORT | VALUES, min_size=1, max_size=3))
def test_any_exports_are_traces_or_refused(lines: list[object]) -> None:
    check_read(lines, format_name="otel_genai")
