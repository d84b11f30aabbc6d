"""Files of chat messages become runs: the shapes of a file, its fields, streamed replies, and what is refused by line."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.kernel.errors import TraceError, UnknownNameError
from evalplatform.runs.traces.trace import SNIFFED_BYTES, TraceRun, read_traces
from evalplatform.runs.trajectory import MessageStep, ToolCallStep
from tests.support.chat import call, calls, result, said, user, write_lines

TALK = [user("hi"), said("hello")]


def runs_of(path: Path) -> list[TraceRun]:
    """The runs of a file of which everything can be read."""
    found = list(read_traces(path))
    assert [item for item in found if isinstance(item, TraceError)] == []
    return [item for item in found if isinstance(item, TraceRun)]


def errors_of(path: Path) -> list[TraceError]:
    """What of a file cannot be read."""
    return [item for item in read_traces(path) if isinstance(item, TraceError)]


def chunk(delta: object, finish: str | None = None, reply: str = "r1") -> dict[str, object]:
    """One chunk of a streamed reply."""
    return {"id": reply, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_a_line_is_a_conversation_as_a_list_or_as_a_record(tmp_path: Path) -> None:
    runs = runs_of(write_lines(tmp_path / "talks.jsonl", TALK, {"messages": TALK, "scenario": "greeting", "trial": 2}))
    assert [(run.line, run.scenario_id, run.derived_id, run.trial) for run in runs] == [
        (1, "talks-1", True, None),
        (2, "greeting", False, 2),
    ]


@pytest.mark.parametrize(
    ("document", "ids"),
    [
        (TALK, ["talk"]),
        ({"messages": TALK}, ["talk"]),
        ([{"messages": TALK}, {"messages": TALK}], ["talk-1", "talk-2"]),
        ([TALK, TALK], ["talk-1", "talk-2"]),
    ],
)
def test_a_document_is_one_conversation_or_a_list_of_them(tmp_path: Path, document: object, ids: list[str]) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(document, indent=1), encoding="utf-8-sig")
    assert [run.scenario_id for run in runs_of(tmp_path / "talk.json")] == ids


def test_one_message_a_line_is_one_conversation(tmp_path: Path) -> None:
    [run] = runs_of(write_lines(tmp_path / "talk.jsonl", *TALK))
    assert run.scenario_id == "talk"
    assert run.trajectory is not None
    assert len(run.trajectory.steps) == 2


def test_lines_are_found_without_the_ending_of_their_name(tmp_path: Path) -> None:
    assert len(runs_of(write_lines(tmp_path / "talks.txt", TALK, TALK))) == 2


def test_a_streamed_reply_is_put_together_and_goes_on_with_its_conversation(tmp_path: Path) -> None:
    pieces = [
        {"messages": [user("hi")], "scenario": "s"},
        chunk({"role": "assistant", "content": "Let "}),
        chunk({"content": "me see."}),
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": '{"x"'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]}),
        chunk({}, "tool_calls"),
        {"id": "r1", "object": "chat.completion.chunk", "choices": [], "usage": {}},
        result("a", "42"),
        chunk({"content": "42."}, "stop", reply="r2"),
    ]
    [run] = runs_of(write_lines(tmp_path / "stream.jsonl", *pieces))
    assert run.trajectory is not None
    assert run.trajectory.steps[1] == ToolCallStep(call_id="a", tool="look", arguments_text='{"x": 1}', text="Let me see.")
    assert run.trajectory.final_text == "42."
    assert run.problems == ()


def test_a_stream_of_server_sent_events_that_was_cut_is_imported_and_named(tmp_path: Path) -> None:
    half = chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": '{"x'}}]})
    (tmp_path / "cut.txt").write_text(f"event: chunk\ndata: {json.dumps(half)}\n\n: ping\n", encoding="utf-8")
    [run] = runs_of(tmp_path / "cut.txt")
    assert sorted(problem.kind for problem in run.problems) == ["arguments_not_json", "call_without_result", "cut_stream"]


def test_the_end_of_a_stream_is_no_message(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(f"data: {json.dumps(chunk({'content': 'hi'}, 'stop'))}\n\ndata: [DONE]\n", encoding="utf-8")
    [run] = runs_of(tmp_path / "s.jsonl")
    assert run.trajectory is not None
    assert run.trajectory.steps == (MessageStep(role="assistant", text="hi"),)


@pytest.mark.parametrize(
    ("fields", "outcome", "points", "reason"),
    [
        ({"reward": 1.0}, "passed", 100.0, "reward 1"),
        ({"reward": 0}, "failed", 0.0, "reward 0"),
        ({"score": 0.5}, "failed", 50.0, "score 0.5"),
        ({"passed": True}, "passed", None, "passed true"),
        ({"verdict": "Fail", "reward": 0.9}, "failed", 90.0, "verdict Fail"),
        ({"metadata": {"success": False}}, "failed", None, "metadata.success false"),
        ({"reward": None}, "ungraded", None, "the trace brings no verdict"),
    ],
    ids=str,
)
def test_a_record_brings_its_verdict(tmp_path: Path, fields: dict[str, object], outcome: str, points: float | None, reason: str) -> None:
    [run] = runs_of(write_lines(tmp_path / "r.jsonl", {"messages": TALK} | fields))
    assert (run.grade.outcome, run.grade.score_points, run.grade.reason) == (outcome, points, reason)


@pytest.mark.parametrize("written", ["2026-03-01T10:00:00Z", "2026-03-01T12:00:00+02:00", "2026-03-01T10:00:00", 1772359200, 1772359200000])
def test_times_are_read_as_utc(tmp_path: Path, written: object) -> None:
    [run] = runs_of(write_lines(tmp_path / "r.jsonl", {"messages": TALK, "created_at": written}))
    assert run.created_at == datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_what_a_run_took_is_read_where_it_is_stated(tmp_path: Path) -> None:
    stated = {"usage": {"prompt_tokens": 5, "completion_tokens": 2}, "cost_usd": 0.5, "seconds": 3, "model": "m", "agent": "a"}
    [run, unstated] = runs_of(write_lines(tmp_path / "r.jsonl", {"messages": TALK} | stated, {"messages": TALK, "cost_usd": -1}))
    assert (run.usage.total_tokens, run.cost_usd, run.seconds, run.model, run.agent) == (7, 0.5, 3.0, "m", "a")
    assert (unstated.usage.total_tokens, unstated.cost_usd, unstated.seconds) == (None, None, None)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (b'{"messages": [', "is no JSON"),
        (b'{"messages": NaN}', "NaN is no JSON number"),
        (b'{"messages": "\xff"}', "is not UTF-8"),
        (b"[" * 100_000, "is nested too deep"),
        (b"7", "must be a list of messages, or an object"),
        (b'{"mesages": []}', "mesages: there are no messages. Did you mean 'messages'?"),
        (b'{"messages": {}}', "must be a list of messages"),
        (b'{"messages": []}', "holds no message"),
        (b'{"messages": [{"role": "user", "content": "x"}], "trial": -1}', "must be a whole number from 0"),
        (b'{"messages": [{"role": "user", "content": "x"}], "scenario": "a\\nb"}', "must be a scenario's id"),
        (b'{"messages": [{"role": "user", "content": "x"}], "reward": 7}', "must be a number between 0 and 1"),
        (b'{"messages": [{"role": "user", "content": "x"}], "passed": "perhaps"}', "one of the words passed and failed"),
        (b'{"messages": [{"role": "user", "content": "x"}], "created_at": "soon"}', "must be a time"),
        (b'{"object": "chat.completion.chunk", "choices": [{"index": 1}]}', "several choices"),
        (b'{"object": "chat.completion.chunk", "choices": [{"delta": {}}, {"delta": {}}]}', "several choices"),
        (b'{"object": "chat.completion.chunk", "choices": 3}', "must be a list"),
        (b'{"messages": [], "reward": 0, "reward": 1}', "names the key 'reward' twice"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_line_that_cannot_be_read_is_named_and_the_others_are_still_read(tmp_path: Path, line: bytes, rule: str) -> None:
    good = json.dumps(TALK).encode()
    (tmp_path / "r.jsonl").write_bytes(b"\n".join([good, b"", line, good]) + b"\n")
    found = list(read_traces(tmp_path / "r.jsonl"))
    [error] = [item for item in found if isinstance(item, TraceError)]
    assert rule in str(error)
    assert (error.file, error.line) == (str(tmp_path / "r.jsonl"), 3)
    assert len([item for item in found if isinstance(item, TraceRun)]) == 2


@pytest.mark.parametrize("fields", [{"reward": 1}, {"metadata": {"passed": False}}])
def test_lines_after_a_record_that_states_its_verdict_are_refused_each(tmp_path: Path, fields: dict[str, object]) -> None:
    lines = [{"messages": TALK, "scenario": "s"} | fields, user("another"), chunk({"content": "reply"}, "stop"), {"messages": TALK}]
    path = write_lines(tmp_path / "r.jsonl", *lines)
    assert [(error.line, "would go on with the record of line 1" in error.rule) for error in errors_of(path)] == [(2, True), (3, True)]


def test_the_id_of_a_completion_is_no_scenario_where_one_is_named(tmp_path: Path) -> None:
    record = {"id": "chatcmpl-1", "messages": TALK, "metadata": {"scenario_id": "s", "trial": 0}}
    [run, alone] = runs_of(write_lines(tmp_path / "r.jsonl", record, {"id": "x", "messages": TALK}))
    assert (run.scenario_id, run.trial, alone.scenario_id) == ("s", 0, "x")


@pytest.mark.parametrize(
    ("fields", "disagrees"),
    [({"passed": False, "reward": 1}, True), ({"passed": True, "reward": 0}, True), ({"passed": True, "reward": 0.9}, False)],
)
def test_a_verdict_that_its_reward_speaks_against_is_named(tmp_path: Path, fields: dict[str, object], disagrees: bool) -> None:
    [run] = runs_of(write_lines(tmp_path / "r.jsonl", {"messages": TALK} | fields))
    assert run.grade.outcome == ("passed" if fields["passed"] else "failed")
    assert [problem.kind for problem in run.problems] == ["verdict_disagrees"] * disagrees


def test_a_spoken_reply_that_was_streamed_keeps_its_words(tmp_path: Path) -> None:
    pieces = [chunk({"audio": {"transcript": "hel"}}), chunk({"audio": {"transcript": "lo"}}, "stop")]
    [run] = runs_of(write_lines(tmp_path / "r.jsonl", *pieces))
    assert run.trajectory is not None
    assert run.trajectory.final_text == "hello"


def test_a_message_of_a_line_of_its_own_is_refused_by_that_line(tmp_path: Path) -> None:
    [error] = errors_of(write_lines(tmp_path / "r.jsonl", user("hi"), calls(call("a")), result("b")))
    assert (error.line, error.field) == (3, "messages[2].tool_call_id")


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["r.jsonl", "r.json"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TraceError, match="holds nothing"):
        list(read_traces(tmp_path / name))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read: no such file"):
        read_traces(tmp_path / "none.jsonl")


def test_a_pipe_is_refused_without_waiting_for_what_comes_out_of_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)
    try:
        os.write(held, b"\n" * SNIFFED_BYTES)  # so that whoever looks into it does not wait
        with pytest.raises(TraceError, match="pipe: is no regular file"):
            read_traces(pipe)
    finally:
        os.close(held)


def test_an_unknown_format_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'otel_genai'\?"):
        read_traces(write_lines(tmp_path / "r.jsonl", TALK), format_name="otel_gen")
