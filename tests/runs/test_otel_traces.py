"""OpenTelemetry traces become runs: current and older names, histories that repeat, tools, nested agents, verdicts, damage."""

import json
from pathlib import Path

import pytest

from evalplatform.kernel.errors import TraceError
from evalplatform.runs.traces.trace import TraceRun, read_traces
from evalplatform.runs.trajectory import MessageStep, ToolCallStep, ToolResultStep
from tests.support.chat import write_lines
from tests.support.otlp import Json, attributes, event, export, span

CHAT = {"gen_ai.operation.name": "chat"}
ASKED = {"role": "user", "parts": [{"type": "text", "content": "1+2?"}]}
CALLED = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "add", "arguments": {"x": 1, "y": 2}}]}
ADDED = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3"}]}
ANSWERED = {"role": "assistant", "parts": [{"type": "text", "content": "It is 3."}], "finish_reason": "stop"}

ADDITION = (
    MessageStep(role="user", text="1+2?"),
    ToolCallStep(call_id="c1", tool="add", arguments_text='{"x": 1, "y": 2}'),
    ToolResultStep(call_id="c1", tool="add", text="3"),
    MessageStep(role="assistant", text="It is 3."),
)


def chat(sent: list[object], replied: list[object], **more: object) -> Json:
    """The attributes of a model call by the current conventions, messages as JSON text."""
    named = {name.replace("__", "."): value for name, value in more.items()}
    return {**CHAT, "gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": json.dumps(replied), **named}


def tool_run(**more: object) -> Json:
    """The attributes of a tool's span."""
    return {"gen_ai.operation.name": "execute_tool", **{name.replace("__", "."): value for name, value in more.items()}}


def read(tmp_path: Path, *exports: Json) -> list[TraceRun | TraceError]:
    """The runs of exports, one a line."""
    return list(read_traces(write_lines(tmp_path / "spans.jsonl", *exports)))


def only(tmp_path: Path, *exports: Json) -> TraceRun:
    """The one run of exports."""
    [run] = read(tmp_path, *exports)
    assert isinstance(run, TraceRun), run
    return run


def steps(run: TraceRun) -> tuple[object, ...]:
    """The steps of a run."""
    assert run.trajectory is not None
    return run.trajectory.steps


def kinds(run: TraceRun) -> list[str]:
    """The kinds of its problems."""
    return [problem.kind for problem in run.problems]


def two_calls() -> tuple[Json, Json]:
    """Two model calls, the second sent the whole history."""
    return (
        span("a", chat([ASKED], [CALLED], gen_ai__usage__input_tokens=10, gen_ai__usage__output_tokens=4), second=0),
        span("b", chat([ASKED, CALLED, ADDED], [ANSWERED], gen_ai__usage__input_tokens=20, gen_ai__usage__output_tokens=5), second=2),
    )


def test_a_history_that_every_call_repeats_is_told_once(tmp_path: Path) -> None:
    run = only(tmp_path, export(*two_calls(), service__name="adder"))
    assert steps(run) == ADDITION
    assert run.problems == ()
    assert (run.usage.prompt_tokens, run.usage.completion_tokens, run.seconds, run.agent) == (30, 9, 3.0, "adder")
    assert (run.scenario_id, run.derived_id, run.grade.outcome) == ("spans-1", True, "ungraded")


def test_spans_are_put_in_order_by_their_start_wherever_they_lie(tmp_path: Path) -> None:
    first, second = two_calls()
    assert steps(only(tmp_path, export(second), export(first))) == ADDITION


def test_a_document_and_its_lines_are_the_same_trace(tmp_path: Path) -> None:
    (tmp_path / "spans.json").write_text(json.dumps(export(*two_calls()), indent=2))
    [run] = read_traces(tmp_path / "spans.json")
    assert isinstance(run, TraceRun)
    assert steps(run) == ADDITION


def test_messages_may_be_structured_and_lie_on_an_event(tmp_path: Path) -> None:
    details = event("gen_ai.client.inference.operation.details", **{"gen_ai.input.messages": [ASKED], "gen_ai.output.messages": [ANSWERED]})
    run = only(
        tmp_path, export(span("a", {**CHAT, "gen_ai.system_instructions": [{"type": "text", "content": "Add."}]}, events=(details,)))
    )
    assert steps(run) == (MessageStep(role="system", text="Add."), ADDITION[0], ADDITION[3])


def test_messages_that_a_call_is_sent_without_the_history_are_added(tmp_path: Path) -> None:
    first, _ = two_calls()
    assert steps(only(tmp_path, export(first, span("b", chat([ADDED], [ANSWERED]), second=2)))) == ADDITION


def test_a_window_of_the_history_with_its_system_message_is_told_once(tmp_path: Path) -> None:
    system = {"role": "system", "parts": [{"type": "text", "content": "Add."}]}
    first = span("a", chat([system, ASKED], [CALLED]))
    windowed = span("b", chat([system, CALLED, ADDED], [ANSWERED]), second=2)
    assert steps(only(tmp_path, export(first, windowed))) == (MessageStep(role="system", text="Add."), *ADDITION)
    again = {"role": "user", "parts": [{"type": "text", "content": "Sure?"}]}
    sure = {"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}
    pruned = span("c", chat([system, ASKED, ANSWERED, again], [sure]), second=4)
    run = only(tmp_path, export(first, windowed, pruned))
    assert steps(run)[5:] == (MessageStep(role="user", text="Sure?"), MessageStep(role="assistant", text="Yes."))
    assert kinds(run) == []


def test_a_call_that_was_made_again_is_told_once_and_named(tmp_path: Path) -> None:
    wrong = {"role": "assistant", "parts": [{"type": "text", "content": "4"}]}
    failed = span("a", {**CHAT, "gen_ai.input.messages": json.dumps([ASKED])}, error="timeout")
    run = only(tmp_path, export(failed, span("b", chat([ASKED], [wrong]), second=1), span("c", chat([ASKED], [ANSWERED]), second=3)))
    assert steps(run) == (ADDITION[0], ADDITION[3])
    assert kinds(run) == ["model_call_failed", "reply_superseded"]


def test_a_history_that_was_respelt_on_the_way_is_told_once_and_named(tmp_path: Path) -> None:
    first, _ = two_calls()
    respelt = {**CALLED, "parts": [{"type": "text", "content": "(called add)"}, *CALLED["parts"]]}
    run = only(tmp_path, export(first, span("b", chat([ASKED, respelt, ADDED], [ANSWERED]), second=2)))
    assert run.trajectory is not None
    assert (run.trajectory.tools, len(run.trajectory.steps), kinds(run)) == (("add",), 4, ["history_rewritten"])


def test_the_same_call_seen_by_two_instrumentations_is_one(tmp_path: Path) -> None:
    outer = span("a", chat([ASKED], [ANSWERED], gen_ai__usage__input_tokens=7))
    inner = span("b", chat([ASKED], [ANSWERED], gen_ai__usage__input_tokens=7), parent="a", second=0.1)
    run = only(tmp_path, export(outer, inner))
    assert (steps(run), kinds(run), run.usage.prompt_tokens) == ((ADDITION[0], ADDITION[3]), [], 7)


def test_a_last_result_that_no_model_was_sent_comes_from_the_tool_s_span(tmp_path: Path) -> None:
    tool = span("b", tool_run(gen_ai__tool__name="add", gen_ai__tool__call__id="c1", gen_ai__tool__call__result="3"), second=2)
    assert steps(only(tmp_path, export(span("a", chat([ASKED], [CALLED])), tool))) == ADDITION[:3]


def test_tools_alone_are_a_trajectory_where_no_content_was_captured(tmp_path: Path) -> None:
    tool = tool_run(gen_ai__tool__name="add", gen_ai__tool__call__arguments={"x": 1}, gen_ai__tool__call__result={"sum": 3})
    failed = span("c", tool_run(gen_ai__tool__name="stop"), second=4, error="refused")
    run = only(tmp_path, export(span("a", CHAT), span("b", tool, second=2), failed))
    assert steps(run) == (
        ToolCallStep(call_id="span-b", tool="add", arguments_text='{"x": 1}'),
        ToolResultStep(call_id="span-b", tool="add", text='{"sum": 3}'),
        ToolCallStep(call_id="span-c", tool="stop", arguments_text=""),
        ToolResultStep(call_id="span-c", tool="stop", text="error: refused"),
    )
    assert kinds(run) == ["missing_content", "arguments_not_json"]


def test_a_tool_that_ran_twice_for_one_call_is_told_once_and_named(tmp_path: Path) -> None:
    first, second = two_calls()
    tools = [span(name, tool_run(gen_ai__tool__name="add", gen_ai__tool__call__id="c1"), second=1 + n / 9) for n, name in enumerate("xy")]
    run = only(tmp_path, export(first, *tools, second))
    assert (steps(run), kinds(run)) == (ADDITION, ["repeated_tool_run"])


def test_what_an_agent_did_inside_a_tool_is_left_out_and_named(tmp_path: Path) -> None:
    first, second = two_calls()
    tool = span("t", tool_run(gen_ai__tool__name="add", gen_ai__tool__call__id="c1"), second=1)
    agent = span("i", {"gen_ai.operation.name": "invoke_agent"}, second=1.1, parent="t")
    nested = span("n", chat([{"role": "user", "content": "inner"}], [ANSWERED], gen_ai__usage__input_tokens=5), second=1.2, parent="i")
    run = only(tmp_path, export(first, tool, agent, nested, second))
    assert (steps(run), kinds(run)) == (ADDITION, ["nested_agent"])
    assert run.usage.prompt_tokens == 35


def test_calls_without_ids_are_answered_in_order(tmp_path: Path) -> None:
    called = {"role": "assistant", "parts": [{"type": "tool_call", "name": "add", "arguments": "{}"}]}
    added = {"role": "tool", "parts": [{"type": "tool_call_response", "result": "3"}]}
    tool = span("t", tool_run(gen_ai__tool__name="add", gen_ai__tool__call__id="c1"), second=1)
    run = only(tmp_path, export(span("a", chat([ASKED], [called])), tool, span("b", chat([ASKED, called, added], [ANSWERED]), second=2)))
    assert run.trajectory is not None
    assert (run.trajectory.tools, len(run.trajectory.steps), kinds(run)) == (("add",), 4, [])


OLDER: dict[str, tuple[Json, Json]] = {
    "OpenLLMetry": (
        {
            "llm.request.type": "chat",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "1+2?",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.tool_calls.0.id": "c1",
            "gen_ai.completion.0.tool_calls.0.name": "add",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"x": 1, "y": 2}',
            "gen_ai.usage.prompt_tokens": 10,
        },
        {
            "llm.request.type": "chat",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": '[{"type": "text", "text": "1+2?"}]',
            "gen_ai.prompt.1.role": "assistant",
            "gen_ai.prompt.1.tool_calls.0.id": "c1",
            "gen_ai.prompt.1.tool_calls.0.name": "add",
            "gen_ai.prompt.1.tool_calls.0.arguments": '{"x":1,"y":2}',
            "gen_ai.prompt.2.role": "tool",
            "gen_ai.prompt.2.tool_call_id": "c1",
            "gen_ai.prompt.2.content": "3",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "It is 3.",
            "gen_ai.usage.prompt_tokens": 20,
        },
    ),
    "OpenInference": (
        {
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "1+2?",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "add",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"x": 1, "y": 2}',
            "llm.token_count.prompt": 10,
        },
        {
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "tool",
            "llm.input_messages.0.message.tool_call_id": "c1",
            "llm.input_messages.0.message.content": "3",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.contents.0.message_content.type": "text",
            "llm.output_messages.0.message.contents.0.message_content.text": "It is 3.",
            "llm.token_count.prompt": 20,
        },
    ),
}


@pytest.mark.parametrize("convention", OLDER)
def test_older_names_give_the_same_trajectory(tmp_path: Path, convention: str) -> None:
    first, second = OLDER[convention]
    run = only(tmp_path, export(span("a", first), span("b", second, second=2)))
    assert (steps(run), kinds(run), run.usage.prompt_tokens) == (ADDITION, [], 30)


def test_messages_of_span_events_are_read(tmp_path: Path) -> None:
    tool_calls = json.dumps([{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"x": 1, "y": 2}'}}])
    first = (
        event("gen_ai.user.message", 0, content="1+2?"),
        event("gen_ai.choice", 1, message=json.dumps({"tool_calls": json.loads(tool_calls)})),
    )
    second = (
        event("gen_ai.user.message", 2, content="1+2?"),
        event("gen_ai.assistant.message", 2.1, tool_calls=tool_calls),
        event("gen_ai.tool.message", 2.2, id="c1", content="3"),
        event("gen_ai.choice", 3, content="It is 3.", finish_reason="stop"),
    )
    run = only(tmp_path, export(span("a", CHAT, events=first), span("b", CHAT, second=2, events=second)))
    assert (steps(run), kinds(run)) == (ADDITION, [])


def test_the_oldest_events_hold_whole_lists(tmp_path: Path) -> None:
    events = (
        event("gen_ai.content.prompt", 0, gen_ai__prompt=json.dumps([{"role": "user", "content": "1+2?"}])),
        event("gen_ai.content.completion", 1, gen_ai__completion=json.dumps([{"role": "assistant", "content": "It is 3."}])),
    )
    assert steps(only(tmp_path, export(span("a", CHAT, events=events)))) == (ADDITION[0], ADDITION[3])


def test_spans_that_were_exported_twice_are_told_and_counted_once(tmp_path: Path) -> None:
    run = only(tmp_path, export(*two_calls()), export(*two_calls()))
    assert (steps(run), kinds(run), run.usage.prompt_tokens) == (ADDITION, [], 30)


def test_spans_without_times_are_named_as_unordered(tmp_path: Path) -> None:
    first, second = two_calls()
    for untimed in (first, second):
        del untimed["startTimeUnixNano"], untimed["endTimeUnixNano"]
    assert kinds(only(tmp_path, export(first, second))) == ["unfinished_span", "unfinished_span", "unordered_spans"]
    assert kinds(only(tmp_path, export(span("r", {}), *two_calls()))) == []


def test_calls_in_the_content_of_a_message_are_told_once_with_their_tool_s_span(tmp_path: Path) -> None:
    asked = {"role": "user", "content": "1+2?"}
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "add", "input": {"x": 1, "y": 2}}]}
    added = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3"}]}
    tool = span("t", tool_run(gen_ai__tool__name="add", gen_ai__tool__call__id="c1", gen_ai__tool__call__result="3"), second=1)
    second = span("b", chat([asked, called, added], [{"role": "assistant", "content": "It is 3."}]), second=2)
    assert steps(only(tmp_path, export(span("a", chat([asked], [called])), tool, second))) == ADDITION


def test_scenario_and_trial_are_read_and_runs_come_in_the_order_they_began(tmp_path: Path) -> None:
    named = {"test.case.name": "sum"}
    late = span("a", chat([ASKED], [ANSWERED]) | named, trace="t2", second=60)
    early = span("b", chat([ASKED], [ANSWERED]) | named | {"evalplatform.trial": 3}, trace="t9")
    runs = [run for run in read(tmp_path, export(late, early)) if isinstance(run, TraceRun)]
    assert [(run.scenario_id, run.derived_id, run.trial) for run in runs] == [("sum", False, 3), ("sum", False, None)]


def test_a_span_without_its_end_is_named(tmp_path: Path) -> None:
    cut = span("a", chat([ASKED], [ANSWERED]))
    del cut["endTimeUnixNano"]
    assert kinds(only(tmp_path, export(cut))) == ["unfinished_span"]


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (export({"spanId": "a"}), "needs its traceId and spanId"),
        ({"resourceLogs": []}, "It holds `resourceLogs`, which are no spans"),
        ({"resourceSpans": [{"scopeSpans": {}}]}, "must be a list"),
        (export(span("a", CHAT, trace="t7")), "holds no message and no tool call"),
        (export(span("a", chat([{"role": "wizard", "parts": []}], []), trace="t7")), "unknown role 'wizard'"),
        (export(span("a", chat([ADDED], []), trace="t7")), "answers no open call"),
        (export({**span("a", CHAT), "startTimeUnixNano": "soon"}), "must be a whole number"),
        (export(span("a", chat([ASKED], [ANSWERED, ANSWERED]), trace="t7")), "replied with several choices"),
        (
            export(span("a", CHAT, trace="t7", events=(event("gen_ai.choice", content="one"), event("gen_ai.choice", content="two")))),
            "replied with several choices",
        ),
        (
            export(span("a", CHAT | {"gen_ai.input.messages": '[{"role": "user", "role": "system"}]'}, trace="t7")),
            "names the key 'role' twice",
        ),
        (
            export({**span("a", {}), "attributes": [*attributes({"evalplatform.reward": 0}), *attributes({"evalplatform.reward": 1})]}),
            "names the key 'evalplatform.reward' twice",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_trace_is_refused_by_its_line_and_the_others_are_still_read(tmp_path: Path, bad: Json, rule: str) -> None:
    found = read(tmp_path, export(span("a", chat([ASKED], [ANSWERED]))), bad)
    [error] = [item for item in found if isinstance(item, TraceError)]
    assert rule in error.rule
    assert (error.file, error.line) == (str(tmp_path / "spans.jsonl"), 2)
    assert len(found) == 2


def test_messages_are_read_as_a_real_instrumentation_writes_them(tmp_path: Path) -> None:
    from pydantic_ai.messages import (
        ImageUrl,
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models.instrumented import InstrumentationSettings

    asked = ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("1+2?")])
    called = ModelResponse(parts=[TextPart("I add."), ToolCallPart("add", {"x": 1}, tool_call_id="c1")])
    added = ModelRequest(parts=[ToolReturnPart("add", {"sum": 3}, tool_call_id="c1"), UserPromptPart(["see", ImageUrl("http://a/b.png")])])
    answered = ModelResponse(parts=[ThinkingPart("hm"), TextPart("3")], finish_reason="stop")
    written = InstrumentationSettings(version=5).messages_to_otel_messages
    first = chat(list(written([asked])), list(written([called])))
    second = chat(list(written([asked, called, added])), list(written([answered])))
    run = only(tmp_path, export(span("a", first), span("b", second, second=2)))
    assert steps(run) == (
        MessageStep(role="system", text="Be brief."),
        MessageStep(role="user", text="1+2?"),
        ToolCallStep(call_id="c1", tool="add", arguments_text='{"x": 1}', text="I add."),
        ToolResultStep(call_id="c1", tool="add", text='{"sum": 3}'),
        MessageStep(role="user", text="see\n[image]"),
        MessageStep(role="assistant", text="3"),
    )
    assert kinds(run) == ["part_not_kept"]
