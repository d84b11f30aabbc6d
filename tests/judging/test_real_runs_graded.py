"""Real runs of an agent are graded and scanned: every one of them, with what they cannot show left unchecked."""

from collections import Counter

import pytest

from evalplatform.judging.structural import grade_structurally
from evalplatform.judging.transcript import MAX_TRANSCRIPT_CHARS, transcript_text
from evalplatform.runs.assertions.assertion import RunFacts
from evalplatform.runs.detectors.detector import detectors
from evalplatform.runs.policies import policy_scan
from evalplatform.runs.scenario import AssertionSpec, PolicySpec, Scenario
from evalplatform.runs.traces.trace import read_traces
from evalplatform.runs.trajectory import ToolCallStep, Trajectory
from tests.support.requirements import data_folder


@pytest.fixture(scope="module")
def trajectories() -> list[Trajectory]:
    return [run.trajectory for run in read_traces(data_folder("airline-trajectories") / "runs.jsonl")]


def test_every_run_gets_a_grade_that_agrees_with_its_calls(trajectories: list[Trajectory]) -> None:
    scenario = Scenario(
        id="airline",
        messages=("m",),
        assertions=(
            AssertionSpec(kind="tool_called", argument="get_user_details"),
            AssertionSpec(
                kind="tool_called_with",
                argument={"tool": "get_reservation_details", "arguments": {"/reservation_id": {"matches": "^[A-Z0-9]{6}$"}}},
            ),
            AssertionSpec(kind="no_file_changed", argument=True),
        ),
    )
    for trajectory in trajectories:
        grade = grade_structurally(scenario, RunFacts(trajectory=trajectory))
        first, second, third = (result.state for result in grade.results)
        assert (first == "passed") == ("get_user_details" in trajectory.tools)
        assert (second == "passed") == any(
            isinstance(step, ToolCallStep) and step.tool == "get_reservation_details" for step in trajectory.steps
        )
        assert third == "unchecked"


def test_a_help_desk_that_handles_no_numbers_of_people_or_banks_has_only_addresses_found(trajectories: list[Trajectory]) -> None:
    policies = [PolicySpec(name=name, detector=name, look_in=("agent_messages", "tool_arguments", "tool_results")) for name in detectors]
    found: Counter[str] = Counter()
    for trajectory in trajectories:
        violations = policy_scan(trajectory, policies).violations
        assert violations is not None
        found.update(violation.policy for violation in violations)
    assert set(found) == {"email_address"}


def test_every_transcript_fits_what_a_judge_is_shown(trajectories: list[Trajectory]) -> None:
    assert max(len(transcript_text(trajectory)) for trajectory in trajectories) <= MAX_TRANSCRIPT_CHARS * 1.02
