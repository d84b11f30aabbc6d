"""The example agent passes its scenarios, and a change of its rules fails the scenario that was written for it."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from evalplatform.judging.structural import StructuralGrade, grade_structurally
from evalplatform.project.load import load_project
from evalplatform.project.scenario_file import load_scenario_set
from evalplatform.project.scenario_set import ScenarioSet
from evalplatform.runs.assertions.assertion import RunFacts
from evalplatform.runs.policies import policy_scan
from evalplatform.runs.traces.chat_messages import trajectory_of_messages
from evalplatform.runs.trajectory import Trajectory

EXAMPLE = Path(__file__).parents[2] / "examples" / "refund-agent"


@pytest.fixture
def agent() -> ModuleType:
    spec = importlib.util.spec_from_file_location("refund_agent", EXAMPLE / "refund_agent.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def scenario_set() -> ScenarioSet:
    project = load_project(EXAMPLE / "evalplatform.yaml", environ={})
    assert project.scenario_file is not None
    return load_scenario_set(project.scenario_file, project=project)


def trajectories(agent: ModuleType, scenario_set: ScenarioSet) -> dict[str, Trajectory]:
    def trajectory(messages: tuple[str, ...]) -> Trajectory:
        reply = agent.answer({"messages": [{"role": "user", "content": text} for text in messages]})
        return trajectory_of_messages(reply["messages"]).trajectory

    return {scenario.id: trajectory(scenario.messages) for scenario in scenario_set.scenarios}


def grades(agent: ModuleType, scenario_set: ScenarioSet) -> dict[str, StructuralGrade]:
    ran = trajectories(agent, scenario_set)
    return {scenario.id: grade_structurally(scenario, RunFacts(trajectory=ran[scenario.id])) for scenario in scenario_set.scenarios}


def test_every_scenario_of_the_example_passes_and_breaches_no_policy(agent: ModuleType, scenario_set: ScenarioSet) -> None:
    assert {name: grade.outcome for name, grade in grades(agent, scenario_set).items()} == dict.fromkeys(
        ["refund-under-threshold", "refund-over-threshold", "two-orders", "unknown-order"], "passed"
    )
    ran = trajectories(agent, scenario_set)
    assert [policy_scan(ran[scenario.id], scenario.policies).violations for scenario in scenario_set.scenarios] == [()] * 4


def test_an_agent_whose_limit_was_raised_fails_the_scenario_of_the_limit_alone(agent: ModuleType, scenario_set: ScenarioSet) -> None:
    agent.REFUND_LIMIT_USD = 1_000  # type: ignore[attr-defined]
    failed = {name: grade for name, grade in grades(agent, scenario_set).items() if grade.outcome != "passed"}
    assert list(failed) == ["refund-over-threshold"]
    assert failed["refund-over-threshold"].score_points == 0
    assert "escalate_to_human was never called" in str(failed["refund-over-threshold"].reason)


def test_money_scenarios_are_critical_and_the_lookup_may_come_in_any_order(scenario_set: ScenarioSet) -> None:
    planned = scenario_set.planned_all(runs=3)
    assert {name: plan.tier for name, plan in planned.items() if plan.tier == "critical"} == {
        "refund-under-threshold": "critical",
        "refund-over-threshold": "critical",
    }
    assert planned["two-orders"].tolerance == "any_order"
    assert {plan.planned_runs for plan in planned.values()} == {3}
