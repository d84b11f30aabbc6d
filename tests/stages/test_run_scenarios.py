"""The loop over scenarios: what is made, in which order, what a cap or a broken agent stops, and what a second call goes on with."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.calls.progress import Progress
from evalplatform.kernel.errors import BudgetExhaustedError, HarnessError, StorageUnavailableError
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.runs.bundle import BundleSummary, new_bundle, read_bundle
from evalplatform.runs.bundle_reopened import reopened_bundle
from evalplatform.runs.records import BatchHeader, PlannedScenario, Run, ScanCoverage
from evalplatform.runs.scenario import AssertionSpec, PolicySpec, Scenario
from evalplatform.runs.traces.problems import TraceProblem
from evalplatform.runs.trajectory import MessageStep, Trajectory
from evalplatform.stages.run_grading import OWN_KEY_POLICY, RunGrader
from evalplatform.stages.run_scenarios import HARNESS_ERRORS_IN_A_ROW, RecordedRuns, RunPlan, record_runs
from tests.support.doubles import HandClock

Behaviour = Callable[[AgentRequest], AgentReply]
HEADER = BatchHeader(project="shop", agent="scripted", judge="structural-v1", recorded_at=datetime(2026, 11, 30, tzinfo=UTC))


@dataclass
class ScriptedAgent:
    """An agent that does what the test says, and notes what it was asked and how many runs went on at once."""

    behaviour: Behaviour
    asked: list[tuple[str, int]] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0
    agent: str = "scripted"
    model: str | None = None
    concurrency: int = 1

    async def run(self, request: AgentRequest) -> AgentReply:
        self.asked.append((request.scenario_id, request.order))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.under_way -= 1
        return self.behaviour(request)

    async def aclose(self) -> None: ...


def says(text: str, *, cost_usd: float | None = None, ended: str = "finished", seconds: float | None = 1.0) -> AgentReply:
    trajectory = Trajectory(steps=(MessageStep(role="user", text="hello"), MessageStep(role="assistant", text=text)))
    return AgentReply.model_validate(
        {
            "trajectory": trajectory,
            "ended": ended,
            "reason": None if ended == "finished" else "why",
            "cost_usd": cost_usd,
            "seconds": seconds,
        }
    )


def scenario(name: str, **changes: object) -> Scenario:
    base = {"id": name, "messages": ("hello",), "assertions": (AssertionSpec(kind="final_text_contains", argument="done"),)}
    return Scenario.model_validate({**base, **changes})


def recorded(
    path: Path, agent: ScriptedAgent, *scenarios: Scenario, runs: int = 1, concurrency: int = 1, max_cost_usd: float | None = None
) -> tuple[RecordedRuns, BundleSummary, list[Progress]]:
    planned = {each.id: PlannedScenario(planned_runs=1 if each.replay else runs) for each in scenarios}
    plan = RunPlan(scenarios=scenarios, planned=planned, concurrency=concurrency, max_cost_usd=max_cost_usd)
    header = HEADER.with_changes(scenarios=planned)
    shown: list[Progress] = []
    kept: tuple[Run, ...] = ()
    if path.exists():
        bundle = reopened_bundle(path)
        kept = read_bundle(path).runs
    else:
        bundle = new_bundle(path, header)
    with bundle:
        done = asyncio.run(
            record_runs(plan, bundle, kept=kept, agent_of=lambda _: agent, grade=RunGrader(), clock=HandClock(), on_progress=shown.append)
        )
    return done, read_bundle(path), shown


def outcomes(summary: BundleSummary) -> list[str]:
    return [run.outcome for run in summary.runs]


def test_every_scenario_runs_as_often_as_planned_attempt_by_attempt(tmp_path: Path) -> None:
    agent = ScriptedAgent(lambda _: says("done"))
    done, summary, shown = recorded(tmp_path / "b.jsonl", agent, scenario("a"), scenario("b", replay="r.json"), scenario("c"), runs=2)
    assert agent.asked == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("c", 1)]
    assert (done.made, done.kept, done.truncated_reason) == (5, 0, None)
    assert summary.is_finished
    assert outcomes(summary) == ["passed"] * 5
    assert {run.leg for run in summary.runs if run.scenario_id == "b"} == {"replay"}
    assert (shown[-1].done, shown[-1].total, shown[-1].failed) == (5, 5, 0)


def test_no_more_runs_go_on_at_once_than_the_concurrency(tmp_path: Path) -> None:
    agent = ScriptedAgent(lambda _: says("done"))
    recorded(tmp_path / "b.jsonl", agent, *(scenario(f"s{number}") for number in range(20)), concurrency=3)
    assert agent.most_under_way == 3


def test_a_run_is_graded_by_its_assertions_and_scanned_for_its_policies(tmp_path: Path) -> None:
    def behaviour(request: AgentRequest) -> AgentReply:
        return says("done 078-05-1120" if request.scenario_id == "leaks" else "no idea")

    policy = PolicySpec(name="No SSN in trajectory", pattern=r"\d{3}-\d{2}-\d{4}")
    two = (AssertionSpec(kind="final_text_contains", argument="done"), AssertionSpec(kind="max_steps", argument=5))
    agent = ScriptedAgent(behaviour)
    _, summary, _ = recorded(tmp_path / "b.jsonl", agent, scenario("leaks", policies=(policy,)), scenario("lost", assertions=two))
    leaks, lost = summary.runs
    assert (leaks.outcome, leaks.score_points) == ("passed", 100)
    assert [(each.policy, each.step) for each in leaks.violations or ()] == [("No SSN in trajectory", 2)]
    assert (lost.outcome, lost.score_points, lost.violations) == ("failed", 50, ())
    assert "final_text_contains: done" in (lost.reason or "")
    assert summary.batch.coverage.is_whole


@pytest.mark.parametrize(("ended", "outcome"), [("agent_error", "agent_error"), ("budget_stop", "budget_stop")])
def test_how_the_agent_ended_goes_before_what_its_steps_would_pass(tmp_path: Path, ended: str, outcome: str) -> None:
    _, summary, _ = recorded(tmp_path / "b.jsonl", ScriptedAgent(lambda _: says("done", ended=ended)), scenario("a"))
    (run,) = summary.runs
    assert (run.outcome, run.verdict, run.reason, run.score_points) == (outcome, "failed", "why", 100)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"max_seconds": 2.0}, "It took 3 seconds; its limit is 2."),
        ({"max_cost_usd": 0.01}, "It took 0.02 US dollars; its limit is 0.01."),
        ({"max_steps": 1}, "It took 2 steps; its limit is 1."),
    ],
)
def test_a_run_that_passes_a_limit_of_its_own_is_a_failure(tmp_path: Path, limits: dict[str, float], reason: str) -> None:
    agent = ScriptedAgent(lambda _: says("done", cost_usd=0.02, seconds=3.0))
    _, summary, _ = recorded(tmp_path / "b.jsonl", agent, scenario("a", **limits))
    (run,) = summary.runs
    assert (run.outcome, run.verdict, run.reason) == ("budget_stop", "failed", reason)


def test_a_limit_that_cannot_be_checked_is_named_in_the_reason_of_a_run_that_passed(tmp_path: Path) -> None:
    agent = ScriptedAgent(lambda _: says("done", seconds=None))
    _, summary, _ = recorded(tmp_path / "b.jsonl", agent, scenario("a", max_cost_usd=0.01, max_seconds=1.0), scenario("b"))
    limited, free = summary.runs
    assert (limited.outcome, limited.score_points, limited.seconds) == ("passed", 100, None)
    unknown = "was not checked: it is not known what the run took"
    assert limited.reason == f"max_seconds {unknown}. max_cost_usd {unknown}."
    assert (free.outcome, free.reason) == ("passed", None)


def test_what_was_wrong_with_an_agents_messages_stands_in_the_reason(tmp_path: Path) -> None:
    problems = tuple(TraceProblem(kind="call_without_result", step=step, detail="refund") for step in range(2, 7))
    replies = {"a": says("done"), "b": says("sorry")}
    agent = ScriptedAgent(lambda request: replies[request.scenario_id].with_changes(problems=problems))
    _, summary, _ = recorded(tmp_path / "b.jsonl", agent, scenario("a"), scenario("b"))
    passed, failed = summary.runs
    assert (passed.outcome, failed.outcome) == ("passed", "failed")
    assert str(passed.reason).startswith("read with problems: step 2: a call has no result (refund); step 3: ")
    assert str(passed.reason).endswith("; and 2 more.")
    assert str(failed.reason).startswith("1 of 1 checked assertion failed: ")
    assert "read with problems: step 2" in str(failed.reason)


@pytest.mark.parametrize("ended", ["finished", "agent_error"])
def test_an_agent_that_took_no_step_did_not_answer_and_has_no_score(tmp_path: Path, ended: str) -> None:
    asked_alone = Trajectory(steps=(MessageStep(role="system", text="be brief"), MessageStep(role="user", text="hello")))
    never = (AssertionSpec(kind="tool_not_called", argument="refund"),)
    agent = ScriptedAgent(lambda _: says("", ended=ended).with_changes(trajectory=asked_alone))
    _, summary, _ = recorded(tmp_path / "b.jsonl", agent, scenario("a", assertions=never))
    (run,) = summary.runs
    reason = "no_answer: the agent wrote no message and called no tool." if ended == "finished" else "why"
    assert (run.outcome, run.verdict, run.score_points, run.reason) == ("agent_error", "failed", None, reason)


def test_a_run_that_could_not_run_has_no_verdict_and_stops_no_other(tmp_path: Path) -> None:
    def behaviour(request: AgentRequest) -> AgentReply:
        if request.scenario_id == "b":
            raise HarnessError("unreachable", "nobody answers at port 1.")
        if request.scenario_id == "c":
            raise ZeroDivisionError("of ours")
        return says("done")

    _, summary, _ = recorded(tmp_path / "b.jsonl", ScriptedAgent(behaviour), *map(scenario, "abcd"))
    assert outcomes(summary) == ["passed", "harness_error", "harness_error", "passed"]
    assert [run.reason for run in summary.runs[1:3]] == ["unreachable: nobody answers at port 1.", "unforeseen: ZeroDivisionError: of ours"]
    assert summary.batch.graded_runs == 2


def test_what_an_agent_did_is_kept_where_grading_it_fails(tmp_path: Path) -> None:
    broken = scenario("a", assertions=(AssertionSpec(kind="max_steps", argument="no number"),))
    _, summary, _ = recorded(tmp_path / "b.jsonl", ScriptedAgent(lambda _: says("done", cost_usd=0.5)), broken, scenario("b"))
    first, second = summary.runs
    assert (first.outcome, first.cost_usd, first.step_count) == ("ungraded", 0.5, 2)
    assert (first.reason or "").startswith("grading failed: ValidationError")
    assert second.outcome == "passed"


def test_a_text_that_no_store_keeps_costs_one_run_its_steps(tmp_path: Path) -> None:
    def behaviour(request: AgentRequest) -> AgentReply:
        return says("done \ud800" if request.scenario_id == "a" else "done", cost_usd=0.5)

    _, summary, _ = recorded(tmp_path / "b.jsonl", ScriptedAgent(behaviour), scenario("a"), scenario("b"))
    assert outcomes(summary) == ["harness_error", "passed"]
    assert (summary.runs[0].trajectory_digest, summary.runs[0].cost_usd) == (None, 0.5)


def test_a_key_that_was_blanked_out_of_a_step_is_a_violation_of_the_run(tmp_path: Path) -> None:
    leaky = says("done [secret]").with_changes(problems=(TraceProblem(kind="secret_blanked", step=2),))
    _, summary, _ = recorded(tmp_path / "b.jsonl", ScriptedAgent(lambda _: leaky), scenario("a"))
    (run,) = summary.runs
    assert (run.outcome, [(found.policy, found.step) for found in run.violations or ()]) == ("passed", [(OWN_KEY_POLICY, 2)])


def test_an_agent_that_can_never_be_run_stops_the_batch_soon(tmp_path: Path) -> None:
    def behaviour(request: AgentRequest) -> AgentReply:
        raise HarnessError("unreachable", "nobody answers.")

    agent = ScriptedAgent(behaviour)
    done, summary, _ = recorded(tmp_path / "b.jsonl", agent, *(scenario(f"s{number:02}") for number in range(20)))
    assert len(agent.asked) == HARNESS_ERRORS_IN_A_ROW
    assert "5 runs in a row could not run; the last one: unreachable" in (done.truncated_reason or "")
    assert outcomes(summary) == ["harness_error"] * 5 + ["ungraded"] * 15
    assert {run.violations for run in summary.runs} == {None}, "a run without steps was not scanned, and none of them was found clean"
    assert summary.batch.coverage == ScanCoverage(scanned_runs=0, runs=0)


def test_a_spend_cap_truncates_the_batch_and_lists_what_was_not_made(tmp_path: Path) -> None:
    agent = ScriptedAgent(lambda _: says("done", cost_usd=0.3))
    done, summary, _ = recorded(tmp_path / "b.jsonl", agent, *map(scenario, "abcdef"), concurrency=4, max_cost_usd=1.0)
    assert done.truncated_reason == "the spend cap of $1 was reached"
    assert (done.made, outcomes(summary).count("passed"), outcomes(summary).count("ungraded")) == (3, 3, 3)
    assert summary.batch.truncated
    assert {run.reason for run in summary.runs if run.outcome == "ungraded"} == {"not made: the spend cap of $1 was reached"}


def test_a_raised_cap_goes_on_with_a_truncated_bundle_and_asks_only_what_is_missing(tmp_path: Path) -> None:
    agent = ScriptedAgent(lambda _: says("done", cost_usd=0.3))
    recorded(tmp_path / "b.jsonl", agent, *map(scenario, "abcdef"), max_cost_usd=1.0)
    before = list(agent.asked)
    done, summary, shown = recorded(tmp_path / "b.jsonl", agent, *map(scenario, "abcdef"), max_cost_usd=5.0)
    assert shown[-1].spent_usd == pytest.approx(0.9)
    assert (done.kept, done.made) == (3, 3)
    assert set(before).isdisjoint(agent.asked[len(before) :])
    assert outcomes(summary) == ["passed"] * 6


def test_what_was_kept_counts_towards_the_cap(tmp_path: Path) -> None:
    agent = ScriptedAgent(lambda _: says("done", cost_usd=0.3))
    recorded(tmp_path / "b.jsonl", agent, *map(scenario, "abcdef"), max_cost_usd=1.0)
    done, _, _ = recorded(tmp_path / "b.jsonl", agent, *map(scenario, "abcdef"), max_cost_usd=1.0)
    assert (done.kept, done.made) == (3, 0)


def test_a_cap_of_nothing_spends_nothing_and_a_spent_one_starts_nothing_more(tmp_path: Path) -> None:
    agent = ScriptedAgent(lambda _: says("done", cost_usd=0.5))
    replay = scenario("r", replay="r.json")
    done, summary, _ = recorded(tmp_path / "b.jsonl", agent, replay, *map(scenario, "ac"), max_cost_usd=0, concurrency=2)
    assert (agent.asked, done.truncated_reason) == ([("r", 0)], "the spend cap of $0 was reached")
    assert outcomes(summary) == ["ungraded", "ungraded", "passed"]
    free = ScriptedAgent(lambda _: says("done", cost_usd=0.0))
    assert recorded(tmp_path / "free.jsonl", free, scenario("a"), max_cost_usd=0)[0].made == 0
    below = ScriptedAgent(lambda _: says("done", cost_usd=0.5))  # the cost of the first run is not known before
    assert recorded(tmp_path / "below.jsonl", below, *map(scenario, "abc"), max_cost_usd=0.1, concurrency=3)[0].made == 1


def test_going_on_after_an_outage_makes_again_what_could_not_run(tmp_path: Path) -> None:
    def down(request: AgentRequest) -> AgentReply:
        if request.scenario_id == "a":
            return says("done")
        raise HarnessError("unreachable", "nobody answers.")

    names = [scenario(name) for name in "abcdefgh"]
    done, summary, _ = recorded(tmp_path / "b.jsonl", ScriptedAgent(down), *names)
    assert (done.truncated_reason is not None, summary.could_not_run) == (True, HARNESS_ERRORS_IN_A_ROW)
    agent = ScriptedAgent(lambda _: says("done"))
    done, summary, _ = recorded(tmp_path / "b.jsonl", agent, *names)
    assert (done.kept, done.made, sorted(name for name, _ in agent.asked)) == (1, 7, list("bcdefgh"))
    assert outcomes(summary) == ["passed"] * 8


def test_under_a_cap_an_agent_of_unknown_cost_is_asked_once(tmp_path: Path) -> None:
    agent = ScriptedAgent(lambda _: says("done"))
    done, summary, _ = recorded(tmp_path / "b.jsonl", agent, *map(scenario, "abc"), concurrency=3, max_cost_usd=1.0)
    assert len(agent.asked) == 1
    assert done.truncated_reason == "the agent does not state what a run costs, so a spend cap cannot be kept"
    assert outcomes(summary) == ["passed", "ungraded", "ungraded"]


def test_replays_cost_nothing_and_are_made_under_any_cap(tmp_path: Path) -> None:
    agent = ScriptedAgent(lambda request: says("done", cost_usd=None if request.scenario_id == "r" else 2.0))
    _, summary, _ = recorded(
        tmp_path / "b.jsonl", agent, scenario("a"), scenario("b"), scenario("r", replay="r.json"), max_cost_usd=1.0, concurrency=1
    )
    assert {run.scenario_id: run.outcome for run in summary.runs if run.outcome == "passed"} == {"a": "passed"}


def test_what_a_recording_has_cost_counts_towards_no_cap(tmp_path: Path) -> None:
    agent = ScriptedAgent(lambda request: says("done", cost_usd=5.0 if request.scenario_id == "r" else 0.4))
    scenarios = (scenario("r", replay="r.json"), scenario("a"))
    done, summary, _ = recorded(tmp_path / "b.jsonl", agent, *scenarios, runs=3, max_cost_usd=0.9)
    assert (done.made, summary.runs[-1].cost_usd) == (3, 5.0)
    raised, _, shown = recorded(tmp_path / "b.jsonl", agent, *scenarios, runs=3, max_cost_usd=1.3)
    assert (raised.made, raised.truncated_reason) == (1, None)
    assert shown[-1].spent_usd == 0.4


def test_a_stop_of_the_agents_calls_ends_the_batch_and_keeps_what_is_finished(tmp_path: Path) -> None:
    def behaviour(request: AgentRequest) -> AgentReply:
        if request.scenario_id == "b":
            raise BudgetExhaustedError("the next call could pass the cap.")
        return says("done")

    done, summary, _ = recorded(tmp_path / "b.jsonl", ScriptedAgent(behaviour), *map(scenario, "abc"))
    assert done.truncated_reason == "budget_exhausted: the next call could pass the cap."
    assert outcomes(summary) == ["passed", "ungraded", "ungraded"]


def test_a_store_that_is_down_stops_at_once_and_leaves_the_bundle_open(tmp_path: Path) -> None:
    def behaviour(request: AgentRequest) -> AgentReply:
        if request.scenario_id == "b":
            raise StorageUnavailableError("the database does not answer.")
        return says("done")

    with pytest.raises(StorageUnavailableError):
        recorded(tmp_path / "b.jsonl", ScriptedAgent(behaviour), *map(scenario, "abc"))
    left = read_bundle(tmp_path / "b.jsonl")
    assert not left.is_finished
    assert outcomes(left) == ["passed"]
    _, summary, _ = recorded(tmp_path / "b.jsonl", ScriptedAgent(lambda _: says("done")), *map(scenario, "abc"))
    assert outcomes(summary) == ["passed"] * 3
