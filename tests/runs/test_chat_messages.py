"""Chat messages become a trajectory: what is read, what is imported with a named problem, what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.errors import TraceError
from evalplatform.runs.traces.chat_messages import LARGE_MESSAGE_CHARS, trajectory_of_messages
from evalplatform.runs.trajectory import MessageStep, ToolCallStep, ToolResultStep, trajectory_bytes
from tests.support.chat import Message, call, calls, result, said, user


def kinds(messages: list[object]) -> list[tuple[str, int | None]]:
    """The problems of messages: kind and step."""
    return [(problem.kind, problem.step) for problem in trajectory_of_messages(messages).problems]


def test_parallel_calls_keep_their_order_their_text_and_find_their_results() -> None:
    both = calls(call("a", "flights", '{"to":  "SEA"}'), call("b", "hotels"), text="I look.")
    parsed = trajectory_of_messages([user("hi"), both, result("b", "inn"), result("a", "HAT1"), said("Done.")])
    assert parsed.problems == ()
    assert parsed.trajectory.steps == (
        MessageStep(role="user", text="hi"),
        ToolCallStep(call_id="a", tool="flights", arguments_text='{"to":  "SEA"}', text="I look."),
        ToolCallStep(call_id="b", tool="hotels", arguments_text="{}"),
        ToolResultStep(call_id="b", tool="hotels", text="inn"),
        ToolResultStep(call_id="a", tool="flights", text="HAT1"),
        MessageStep(role="assistant", text="Done."),
    )


def test_a_developer_message_is_a_system_message_and_text_parts_are_joined() -> None:
    developer = {"role": "developer", "content": [{"type": "text", "text": "Be"}, {"type": "input_text", "text": "brief."}]}
    assert trajectory_of_messages([developer]).trajectory.steps == (MessageStep(role="system", text="Be\nbrief."),)


def test_the_older_function_calls_are_answered_by_name() -> None:
    asked = {"role": "assistant", "content": None, "function_call": {"name": "lookup", "arguments": "{}"}}
    answered = {"role": "function", "name": "lookup", "content": "42"}
    parsed = trajectory_of_messages([asked, answered, asked, answered])
    assert [step.call_id for step in parsed.trajectory.steps if isinstance(step, ToolResultStep)] == ["lookup-call", "lookup-call#2"]
    assert parsed.problems == ()


def test_an_empty_message_without_calls_stays_a_step() -> None:
    assert trajectory_of_messages([said(None)]).trajectory.steps == (MessageStep(role="assistant", text=""),)


def test_arguments_that_are_an_object_are_written_as_json() -> None:
    step = trajectory_of_messages([calls(call("a", arguments={"to": "Zürich"}))]).trajectory.steps[0]
    assert isinstance(step, ToolCallStep)
    assert step.arguments_text == '{"to": "Zürich"}'


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([calls(call("a", arguments='{"to": ')), result("a")], ("arguments_not_json", 1)),
        ([user("hi"), calls(call("a"))], ("call_without_result", 2)),
        ([calls(call("a")), result("a"), calls(call("a")), result("a")], ("reused_call_id", 3)),
        ([user([{"type": "image_url", "image_url": {"url": "data:"}}])], ("part_not_kept", 1)),
        ([said("half") | {"finish_reason": "length"}], ("length_limit", 1)),
        ([said("half") | {"finish_reason": None}], ("cut_stream", 1)),
        ([user(None)], ("missing_content", 1)),
        ([user("hi"), said(None)], ("missing_content", 2)),
        ([calls(call("a", arguments='{"amount": 2000, "amount": 20}')), result("a")], ("repeated_argument", 1)),
        ([user("\ud83d cut")], ("broken_text", 1)),
        ([user("x" * (LARGE_MESSAGE_CHARS + 1))], ("large_message", 1)),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_can_mean_one_thing_alone_is_kept_and_named(messages: list[object], problem: tuple[str, int]) -> None:
    assert kinds(messages) == [problem]


def test_a_message_of_ten_megabytes_is_kept_whole() -> None:
    text = "é" * 10_000_000
    parsed = trajectory_of_messages([user(text)])
    assert parsed.trajectory.steps == (MessageStep(role="user", text=text),)
    assert [problem.kind for problem in parsed.problems] == ["large_message"]


def test_a_picture_leaves_a_visible_place() -> None:
    parts = [{"type": "text", "text": "see"}, {"type": "input_audio", "input_audio": {}}]
    assert trajectory_of_messages([user(parts)]).trajectory.steps == (MessageStep(role="user", text="see\n[input_audio]"),)


def test_calls_and_results_that_are_parts_of_a_content_are_calls_and_results() -> None:
    called = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "a", "name": "refund", "input": {"amount": 1}},
        {"type": "tool_use", "id": "b", "name": "lookup", "input": {}},
    ]
    answered = [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "done"}]},
        {"type": "tool_result", "tool_use_id": "b", "content": "42"},
        {"type": "text", "text": "and now?"},
    ]
    parsed = trajectory_of_messages([user("hi"), said(called), user(answered), said([{"type": "text", "text": "Bye."}])])
    assert parsed.problems == ()
    assert parsed.trajectory.steps == (
        MessageStep(role="user", text="hi"),
        ToolCallStep(call_id="a", tool="refund", arguments_text='{"amount": 1}', text="I look."),
        ToolCallStep(call_id="b", tool="lookup", arguments_text="{}"),
        ToolResultStep(call_id="a", tool="refund", text="done"),
        ToolResultStep(call_id="b", tool="lookup", text="42"),
        MessageStep(role="user", text="and now?"),
        MessageStep(role="assistant", text="Bye."),
    )


def test_a_tool_of_the_model_s_provider_is_called_and_answered_in_one_message() -> None:
    searched = [
        {"type": "server_tool_use", "id": "a", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "a", "content": {"type": "web_search_tool_result_error"}},
        {"type": "text", "text": "Nothing."},
    ]
    parsed = trajectory_of_messages([said(searched)])
    assert parsed.trajectory.tools == ("web_search",)
    assert parsed.trajectory.steps[1:] == (
        ToolResultStep(call_id="a", tool="web_search", text="[web_search_tool_result_error]"),
        MessageStep(role="assistant", text="Nothing."),
    )


def test_a_call_that_is_listed_and_a_part_of_the_content_is_one_call() -> None:
    twice = said([{"type": "tool_use", "id": "a", "name": "lookup", "input": {}}]) | {"tool_calls": [call("a")]}
    assert trajectory_of_messages([twice, result("a")]).trajectory.tools == ("lookup",)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (said(None) | {"refusal": "I cannot."}, "I cannot."),
        (said("") | {"refusal": "I cannot."}, "I cannot."),
        (said("So.") | {"refusal": "I cannot."}, "So.\nI cannot."),
        (said(None) | {"audio": {"id": "x", "transcript": "hello"}}, "hello"),
    ],
)
def test_what_an_agent_says_beside_its_content_is_kept(message: Message, text: str) -> None:
    parsed = trajectory_of_messages([message])
    assert parsed.trajectory.steps == (MessageStep(role="assistant", text=text),)
    assert parsed.problems == ()


def test_a_reused_call_id_is_made_unique_and_its_result_follows() -> None:
    parsed = trajectory_of_messages([calls(call("a", "one")), result("a"), calls(call("a", "two")), result("a", "second")])
    assert parsed.trajectory.steps[2:] == (
        ToolCallStep(call_id="a#2", tool="two", arguments_text="{}"),
        ToolResultStep(call_id="a#2", tool="two", text="second"),
    )


@pytest.mark.parametrize(
    ("messages", "field", "rule"),
    [
        ([], "messages", "holds no message"),
        (["hello"], "messages[0]", "it is a text"),
        ([{"role": "asistant", "content": "x"}], "messages[0].role", "unknown role 'asistant'"),
        ([{"content": "x"}], "messages[0].role", "unknown role None"),
        ([user("x"), result("a")], "messages[1].tool_call_id", "answers no open call: 'a'"),
        ([calls(call("a")), result("a"), result("a")], "messages[2].tool_call_id", "answers no open call"),
        ([calls(call("a")), {"role": "tool", "content": "x"}], "messages[1].tool_call_id", "must name the call"),
        ([{"role": "function", "name": "x", "content": "y"}], "messages[0].name", "answers no open call"),
        ([calls(call("a"), call("a"))], "messages[0].tool_calls[1].id", "earlier call which has no result yet"),
        ([calls(call(None))], "messages[0].tool_calls[0].id", "needs an id"),
        ([calls(call("a", None))], "messages[0].tool_calls[0].function.name", "must be a tool's name"),
        ([calls(call("a", "two\nlines"))], "messages[0].tool_calls[0].function.name", "one line"),
        ([{"role": "assistant", "tool_calls": {}}], "messages[0].tool_calls", "list of calls; it is an object"),
        ([user({"text": "x"})], "messages[0].content", "must be text, null, or a list of parts"),
        ([user([{"text": "x"}])], "messages[0].content[0]", "an object with a type"),
        ([user([{"type": "text"}])], "messages[0].content[0].text", "needs its text"),
        ([user("x") | {"tool_calls": [call("a")]}], "messages[0].tool_calls", "only a message of the assistant makes calls"),
        ([user([{"type": "tool_use", "id": "a", "name": "x"}])], "messages[0].content[0]", "only a message of the assistant makes calls"),
        ([said([{"type": "tool_use", "name": "x"}])], "messages[0].content[0].id", "needs an id"),
        ([user([{"type": "tool_result", "content": "x"}])], "messages[0].content[0].tool_use_id", "must name the call"),
        ([user([{"type": "tool_result", "tool_use_id": "a"}])], "messages[0].content[0].tool_call_id", "answers no open call"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_leaves_a_meaning_open_is_refused_by_line(messages: list[object], field: str, rule: str) -> None:
    with pytest.raises(TraceError) as refused:
        trajectory_of_messages(messages, file="runs.jsonl", line=7)
    assert (refused.value.file, refused.value.line, refused.value.field) == ("runs.jsonl", 7, field)
    assert rule in refused.value.rule


def test_a_misspelt_role_is_answered_with_the_nearest() -> None:
    with pytest.raises(TraceError, match=r"Did you mean 'assistant'\?"):
        trajectory_of_messages([{"role": "asistant", "content": "x"}])


TURNS = st.lists(
    st.one_of(
        st.builds(user, st.text(max_size=5)),
        st.builds(said, st.none() | st.text(max_size=5)),
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True),
    ),
    min_size=1,
    max_size=8,
)


@given(turns=TURNS)
def test_any_answered_conversation_keeps_every_call_and_has_unique_ids(turns: list[Message | list[str]]) -> None:
    messages: list[object] = []
    for turn in turns:
        messages += (
            [turn] if isinstance(turn, dict) else [calls(*(call(name) for name in turn)), *(result(name) for name in reversed(turn))]
        )
    parsed = trajectory_of_messages(json.loads(json.dumps(messages)))
    called = [step.call_id for step in parsed.trajectory.steps if isinstance(step, ToolCallStep)]
    answered = [step.call_id for step in parsed.trajectory.steps if isinstance(step, ToolResultStep)]
    assert len(called) == len(set(called)) == sum(len(turn) for turn in turns if isinstance(turn, list))
    assert sorted(called) == sorted(answered)
    assert trajectory_bytes(parsed.trajectory)
