"""The verdict of an OpenTelemetry trace: attributes, evaluation events, and a root span that failed."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalplatform.kernel.errors import TraceError
from evalplatform.runs.traces.trace import TraceRun, read_traces
from tests.support.chat import write_lines
from tests.support.otlp import Json, event, export, span

ASKED = {"role": "user", "parts": [{"type": "text", "content": "1+2?"}]}
ANSWERED = {"role": "assistant", "parts": [{"type": "text", "content": "It is 3."}]}


def chat(sent: list[object], replied: list[object]) -> Json:
    """The attributes of a model call."""
    messages = {"gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": json.dumps(replied)}
    return {"gen_ai.operation.name": "chat", **messages}


def only(tmp_path: Path, exported: Json) -> TraceRun:
    """The one run of an export."""
    [run] = read_traces(write_lines(tmp_path / "spans.jsonl", exported))
    assert isinstance(run, TraceRun), run
    return run


def evaluated(name: str, **values: object) -> Json:
    """An evaluation event."""
    stated: dict[str, Any] = {f"gen_ai.evaluation.score.{kind}": value for kind, value in values.items()}
    return event("gen_ai.evaluation.result", gen_ai__evaluation__name=name, **stated)


def test_of_several_evaluations_all_must_have_passed(tmp_path: Path) -> None:
    events = (evaluated("relevance", label="pass", value=1.0), evaluated("tone", label="warm"), evaluated("task", label="fail", value=0.5))
    grade = only(tmp_path, export(span("a", chat([ASKED], [ANSWERED]), events=events))).grade
    assert (grade.outcome, grade.score_points) == ("failed", 75.0)
    assert grade.reason == "evaluation relevance: verdict pass; evaluation task: verdict fail"
    assert [(found.assertion, found.state) for found in grade.assertions] == [
        ("evaluation relevance", "passed"),
        ("evaluation task", "failed"),
    ]


def test_an_evaluation_whose_score_speaks_against_its_label_is_named(tmp_path: Path) -> None:
    run = only(tmp_path, export(span("a", chat([ASKED], [ANSWERED]), events=(evaluated("task", label="pass", value=0.0),))))
    assert (run.grade.outcome, [problem.kind for problem in run.problems]) == ("passed", ["verdict_disagrees"])


@pytest.mark.parametrize(
    ("attributes", "events", "outcome", "points"),
    [
        ({"evalplatform.verdict": "passed"}, (), "passed", None),
        ({"evalplatform.reward": 0.25}, (), "failed", 25.0),
        ({"test.case.result.status": "fail"}, (), "failed", None),
        ({}, (event("gen_ai.evaluation.result", gen_ai__evaluation__score__label="pass"),), "passed", None),
        ({}, (event("gen_ai.evaluation.result", gen_ai__evaluation__score__label="relevant"),), "ungraded", None),
        ({}, (event("gen_ai.evaluation.result", gen_ai__evaluation__score__value=1.0),), "passed", 100.0),
    ],
)
def test_a_trace_brings_its_verdict(tmp_path: Path, attributes: Json, events: tuple[Json, ...], outcome: str, points: float | None) -> None:
    run = only(tmp_path, export(span("a", chat([ASKED], [ANSWERED]) | attributes, events=events)))
    assert (run.grade.outcome, run.grade.score_points) == (outcome, points)


def test_a_root_span_that_failed_is_the_agent_s_breakage_unless_it_never_acted(tmp_path: Path) -> None:
    broke = span("r", {"gen_ai.operation.name": "invoke_agent"}, error="ValueError")
    acted = only(tmp_path, export(broke, span("a", chat([ASKED], [ANSWERED]), parent="r")))
    assert (acted.grade.outcome, acted.grade.reason) == ("agent_error", "invoke_agent failed: ValueError")
    never = only(tmp_path, export(broke, span("a", chat([ASKED], []), parent="r", error="no route")))
    assert never.grade.outcome == "harness_error"


def test_a_score_of_another_scale_is_refused_by_its_name(tmp_path: Path) -> None:
    exported = export(span("a", chat([ASKED], [ANSWERED]), events=(evaluated("task", value=4.0),)))
    [error] = read_traces(write_lines(tmp_path / "spans.jsonl", exported))
    assert isinstance(error, TraceError)
    assert (error.field, error.rule) == ("trace t1: gen_ai.evaluation.score.value", "must be a number between 0 and 1.")
