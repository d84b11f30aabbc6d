"""Logs of Inspect: a real evaluation is run with its scripted model, and its log becomes runs."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from evalplatform.kernel.errors import TraceError
from evalplatform.runs.traces.trace import TraceRun, read_traces
from evalplatform.runs.trajectory import MessageStep, ToolCallStep
from tests.support.command_line import run_process
from tests.support.requirements import need

EVALUATION = '''
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, includes, mean, scorer
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool

@tool
def add():
    async def execute(x: int, y: int):
        """Add two numbers.

        Args:
            x: the first
            y: the second
        """
        return str(x + y)
    return execute

@scorer(metrics=[mean()])
def half():
    async def score(state, target):
        return Score(value=0.5 if state.sample_id == "capital" else 1.0)
    return score

sums = ["It is 3.", "It is 4."]

def reply(messages, *_):
    if "France" in messages[0].text:
        output = ModelOutput.from_content("mockllm/model", "Paris.")
    elif messages[-1].role == "tool":
        output = ModelOutput.from_content("mockllm/model", sums.pop(0))
    else:
        output = ModelOutput.for_tool_call("mockllm/model", "add", {"x": 1, "y": 2})
    output.usage = ModelUsage(input_tokens=5, output_tokens=3, total_tokens=8)
    return output

samples = [Sample(id="sum", input="1+2?", target="3"), Sample(id="capital", input="Of France?", target="Paris")]
task = Task(dataset=samples, solver=[use_tools(add()), generate()], scorer=[includes(), half()], epochs=2, name="small")
model = get_model("mockllm/model", custom_outputs=reply)
logs = eval(task, model=model, log_dir=sys.argv[1], display="none", max_samples=1)
print(logs[0].status, logs[0].location)
'''


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a real evaluation of two samples in two epochs."""
    need(find_spec("inspect_ai") is not None, "the package inspect_ai")
    import sys

    folder = tmp_path_factory.mktemp("inspect")
    ended = run_process([sys.executable, "-W", "ignore", "-c", EVALUATION, str(folder)], folder=folder)
    assert ended.code == 0, ended.err
    [path] = folder.glob("*.eval")
    assert ended.out.startswith("success"), ended.out
    return path


def runs_of(path: Path) -> dict[tuple[str, int | None], TraceRun]:
    """The runs of a log by sample and epoch."""
    found = {}
    for run in read_traces(path):
        assert isinstance(run, TraceRun), run
        found[run.scenario_id, run.trial] = run
    return found


def test_an_epoch_is_a_trial_and_all_scorers_must_be_content(log: Path) -> None:
    grades = {key: (run.grade.outcome, run.grade.score_points) for key, run in runs_of(log).items()}
    assert set(grades) == {("sum", 1), ("sum", 2), ("capital", 1), ("capital", 2)}
    assert sorted(grades["sum", epoch] for epoch in (1, 2)) == [("failed", 50.0), ("passed", 100.0)]
    assert grades["capital", 1] == grades["capital", 2] == ("failed", 75.0)
    capital = runs_of(log)["capital", 1]
    assert [(found.assertion, found.state) for found in capital.grade.assertions] == [
        ("scorer includes", "passed"),
        ("scorer half", "failed"),
    ]


def test_a_sample_s_messages_are_its_trajectory(log: Path) -> None:
    run = runs_of(log)["sum", 1]
    assert run.trajectory is not None
    assert run.trajectory.tools == ("add",)
    called = run.trajectory.steps[1]
    assert isinstance(called, ToolCallStep)
    assert called.arguments_text == '{"x": 1, "y": 2}'
    assert run.trajectory.steps[0] == MessageStep(role="user", text="1+2?")
    assert (run.usage.prompt_tokens, run.usage.completion_tokens) == (10, 6)
    assert (run.model, run.agent) == ("mockllm/model", "small")
    assert run.created_at is not None
    assert run.problems == ()


def test_a_log_that_was_cut_is_refused(log: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.eval"
    cut.write_bytes(log.read_bytes()[:2000])
    with pytest.raises(TraceError, match="cannot be read as an Inspect log"):
        list(read_traces(cut))


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
    (tmp_path / "a.eval").write_bytes(b"PK\x03\x04")
    with pytest.raises(TraceError, match=r"pip install 'evalplatform\[inspect\]'"):
        list(read_traces(tmp_path / "a.eval"))


def test_how_a_sample_ended_decides_before_its_scores(tmp_path: Path) -> None:
    need(find_spec("inspect_ai") is not None, "the package inspect_ai")
    from inspect_ai.log import EvalConfig, EvalDataset, EvalError, EvalLog, EvalSample, EvalSampleLimit, EvalSpec, write_eval_log
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ContentImage, ContentReasoning, ContentText
    from inspect_ai.scorer import Score
    from inspect_ai.tool import ToolCall

    asked = ChatMessageUser(content=[ContentText(text="look"), ContentImage(image="data:image/png;base64,AA==")])
    answered = ChatMessageAssistant(content=[ContentReasoning(reasoning="hm"), ContentText(text="done")])
    called = ChatMessageAssistant(content="", tool_calls=[ToolCall(id="a", function="f", arguments={}, parse_error="no JSON")])
    broke = EvalError(message="boom", traceback="", traceback_ansi="")
    limit = EvalSampleLimit(type="token", limit=100)
    ends: dict[str, dict[str, object]] = {
        "broke": {"messages": [asked, called], "error": broke},
        "never acted": {"messages": [asked], "error": broke},
        "said nothing": {"messages": [asked], "scores": {"s": Score(value="C")}},
        "stopped": {"messages": [asked, answered], "limit": limit, "scores": {"s": Score(value="I")}},
        "stopped and passed": {"messages": [asked, answered], "limit": limit, "scores": {"s": Score(value="C")}},
        "interrupted": {"messages": [asked, answered], "limit": EvalSampleLimit(type="operator", limit=1)},
        "not scored": {"messages": [asked, answered], "scores": {"s": Score(value={"a": 1})}},
    }
    samples = [EvalSample(id=name, epoch=1, input="x", target="y", **fields) for name, fields in ends.items()]  # type: ignore[arg-type]
    dataset = EvalDataset(sample_ids=list(ends))
    spec = EvalSpec(created="2026-03-01T10:00:00+00:00", task="t", dataset=dataset, model="m", config=EvalConfig())
    write_eval_log(EvalLog(eval=spec, status="error", samples=samples), str(tmp_path / "ends.eval"))

    runs = {run.scenario_id: run for run in runs_of(tmp_path / "ends.eval").values()}
    assert {name: run.grade.outcome for name, run in runs.items()} == {
        "broke": "agent_error",
        "never acted": "harness_error",
        "said nothing": "ungraded",
        "stopped": "budget_stop",
        "stopped and passed": "passed",
        "interrupted": "ungraded",
        "not scored": "ungraded",
    }
    assert runs["stopped"].grade.reason == "stopped at its token limit of 100"
    assert runs["never acted"].trajectory is None
    assert runs["said nothing"].trajectory is not None
    kinds = {name: [problem.kind for problem in run.problems] for name, run in runs.items()}
    assert kinds["broke"] == ["part_not_kept", "call_without_result", "arguments_not_json", "unfinished_log"]
    trajectory = runs["stopped"].trajectory
    assert trajectory is not None
    assert [step.text for step in trajectory.steps if isinstance(step, MessageStep)] == ["look\n[image]", "done"]


def test_a_log_that_does_not_list_its_samples_is_refused(tmp_path: Path) -> None:
    need(find_spec("inspect_ai") is not None, "the package inspect_ai")
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec, write_eval_log

    spec = EvalSpec(created="2026-03-01T10:00:00+00:00", task="t", dataset=EvalDataset(), model="m", config=EvalConfig())
    write_eval_log(EvalLog(eval=spec, status="success", samples=[]), str(tmp_path / "none.eval"))
    with pytest.raises(TraceError, match="does not include sample_ids"):
        list(read_traces(tmp_path / "none.eval"))
