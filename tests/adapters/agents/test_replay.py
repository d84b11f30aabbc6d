"""Recordings in place of an agent: one of our trajectories, or a trace of another tool."""

import asyncio
import json
from pathlib import Path

import pytest

from evalplatform.adapters.agents.replay import open_replay
from evalplatform.kernel.errors import HarnessError, InputError
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.runs.trajectory import ChangedFile, FileChangeStep, MessageStep, ToolCallStep, Trajectory, trajectory_bytes

ASKED = MessageStep(role="user", text="refund me")
CALLED = ToolCallStep(call_id="c1", tool="refund", arguments_text="{}")
MESSAGES = [
    {"role": "user", "content": "refund me"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{}"}}]},
]


def replayed(file: Path, scenario_id: str = "refund", *, messages: tuple[str, ...] = ("refund me",), **limits: float) -> AgentReply:
    request = AgentRequest.model_validate({"scenario_id": scenario_id, "order": 0, "messages": messages, **limits})
    return asyncio.run(open_replay({scenario_id: file}).run(request))


def test_a_trajectory_of_ours_is_replayed_without_its_file_state(tmp_path: Path) -> None:
    recorded = Trajectory(steps=(ASKED, CALLED, FileChangeStep(files=(ChangedFile(path="a", change="removed"),))))
    (tmp_path / "run.json").write_bytes(trajectory_bytes(recorded))
    reply = replayed(tmp_path / "run.json", max_steps=1)
    assert reply.trajectory.steps == (ASKED, CALLED)
    assert (reply.ended, reply.seconds, reply.cost_usd) == ("finished", None, None)  # the file does not say what it took
    (tmp_path / "run.json").write_text(recorded.model_dump_json(indent=2))  # as someone may have formatted it
    assert replayed(tmp_path / "run.json") == reply.with_changes()


def test_chat_messages_are_replayed(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(MESSAGES))
    assert replayed(tmp_path / "run.json").trajectory.steps == (ASKED, CALLED)


def test_the_run_of_the_scenario_is_taken_from_a_file_of_several(tmp_path: Path) -> None:
    rows = [{"scenario": name, "messages": [{"role": "user", "content": name}]} for name in ("one", "two")]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert replayed(tmp_path / "runs.jsonl", "two", messages=("two",)).trajectory.steps == (MessageStep(role="user", text="two"),)
    with pytest.raises(HarnessError, match="holds 2 runs and none of 'three'"):
        replayed(tmp_path / "runs.jsonl", "three")
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(rows[0]) + "\n" for _ in range(2)))
    with pytest.raises(HarnessError, match="holds 2 runs of 'one'; a recording is one run"):
        replayed(tmp_path / "runs.jsonl", "one")


@pytest.mark.parametrize("text", ["", "no", '{"format": "trajectory.v1", "steps": [{}]}', "[]"])
def test_what_is_no_recording_could_not_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(HarnessError, match="the recording cannot be replayed") as refused:
        replayed(tmp_path / "run.json")
    assert refused.value.reason == "recording"
    assert "run.json" in str(refused.value)


def test_a_recording_that_is_not_there_is_refused_before_the_first_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"scenarios\.refund\.replay: there is no recording"):
        open_replay({"refund": tmp_path / "none.json"})


def test_a_recording_of_another_conversation_could_not_run(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(MESSAGES))
    missing = r"run\.json is a recording of another conversation: the user's message 1 \('cancel my flight'\) is not in it"
    with pytest.raises(HarnessError, match=missing):
        replayed(tmp_path / "run.json", messages=("cancel my flight",))
    with pytest.raises(HarnessError, match=r"message 2 \('and thanks'\) is not in it"):
        replayed(tmp_path / "run.json", messages=("refund me", "and thanks"))


def spans(*, code: int = 1) -> str:
    """A trace of one run that a model call's spans tell, with what it took; status code 2 is an error."""

    def attribute(key: str, value: str) -> dict[str, object]:
        return {"key": key, "value": {"stringValue": value}}

    def span(name: str, span_id: str, parent: str, *attributes: dict[str, object]) -> dict[str, object]:
        times = {"startTimeUnixNano": "1000000000", "endTimeUnixNano": "3500000000"}
        status = {"code": code, "message": "the agent crashed"}
        where = {"traceId": "t", "spanId": span_id, "parentSpanId": parent}
        return {**where, "name": name, **times, "attributes": attributes, "status": status}

    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "refund me"}]}])
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "length"}])
    agent = span("invoke_agent", "a", "", attribute("gen_ai.operation.name", "invoke_agent"))
    chat = span(
        "chat", "b", "a", attribute("gen_ai.operation.name", "chat"), attribute("gen_ai.input.messages", asked),
        attribute("gen_ai.output.messages", said),
    )  # fmt: skip
    return json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [agent, chat]}]}]})


def test_a_recording_says_how_it_ended_what_it_took_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(spans())
    reply = replayed(tmp_path / "run.json")
    assert (reply.ended, reply.reason, reply.seconds) == ("finished", None, 2.5)
    assert [problem.kind for problem in reply.problems] == ["length_limit"]
    (tmp_path / "run.json").write_text(spans(code=2))
    broken = replayed(tmp_path / "run.json")
    assert broken.ended == "agent_error"
    assert "the agent crashed" in str(broken.reason)
