"""Grading one run: what the agent did becomes a run with its outcome, score and violations."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from evalplatform.judging.structural import grade_structurally
from evalplatform.kernel.text import clip
from evalplatform.ports.agent_runner import AgentReply
from evalplatform.runs.assertions.assertion import RunFacts
from evalplatform.runs.policies import policy_scan
from evalplatform.runs.records import GRADED_OUTCOMES, ModelVerdict, Outcome, Run, Violation
from evalplatform.runs.scenario import Scenario
from evalplatform.runs.traces.problems import problems_named
from evalplatform.runs.trajectory import FileChangeStep, Trajectory, trajectory_digest

MAX_REASON_CHARS = 500
OWN_KEY_POLICY = "no key that the agent was given"
"""The policy that every scenario has: what breaches it is found where keys are blanked out of steps."""
NO_ANSWER = "no_answer: the agent wrote no message and called no tool."

JudgeRun = Callable[[Scenario, Trajectory, int], Awaitable[ModelVerdict]]
"""A model judge's word on a trajectory; the number is the run's order, whose draw it takes."""


class GradeRun(Protocol):
    """Turns what an agent did into a graded run."""

    async def __call__(self, scenario: Scenario, order: int, reply: AgentReply, *, ended_at: datetime) -> Run:
        """Return the run. It raises only what stops the batch: RunStoppedError, StorageError."""
        ...


@dataclass(frozen=True)
class RunGrader:
    """The structural judge, the policies, and beside them the model judge of those scenarios that ask for it."""

    judge_run: JudgeRun | None = None

    async def __call__(self, scenario: Scenario, order: int, reply: AgentReply, *, ended_at: datetime) -> Run:
        """Return the run; the model judge's verdict is kept apart and changes no outcome."""
        # Patterns are searched with a time limit, which blocks; other runs go on meanwhile.
        run = await asyncio.to_thread(graded_run, scenario, order, reply, ended_at=ended_at)
        if not scenario.model_judge or self.judge_run is None:
            return run
        return run.with_changes(model_verdict=await self.judge_run(scenario, reply.trajectory, order))


def graded_run(scenario: Scenario, order: int, reply: AgentReply, *, ended_at: datetime) -> Run:
    """Return a run by its assertions and policies.

    How the run ended goes before what was asserted of it: an agent that broke, that came to a limit of the run's own, or that took no step
    at all, failed, whatever its steps so far would pass. The reason also says which limit could not be checked, and what was wrong with
    the agent's messages, of a run that passed too.

    Raises:
        InputError: a text of the trajectory holds a lone surrogate, which no store keeps.
    """
    facts = RunFacts(trajectory=reply.trajectory, usage=reply.usage, cost_usd=reply.cost_usd, seconds=reply.seconds)
    grade = grade_structurally(scenario, facts)
    outcome: Outcome = grade.outcome
    reason = grade.reason
    if reply.ended != "finished":
        outcome, reason = reply.ended, reply.reason or reply.ended
    elif not reply.trajectory.agent_acted:
        outcome, reason = "agent_error", NO_ANSWER
    elif (passed_limit := passed_limit_words(scenario, facts)) is not None:
        outcome, reason = "budget_stop", passed_limit
    scan = policy_scan(reply.trajectory, scenario.policies)
    reason = _with_notes(reason, scenario, reply, facts)
    return ungraded_run(scenario, order, reply, ended_at=ended_at, reason=reason or "").with_changes(
        outcome=outcome,
        reason=None if reason is None else clip(reason, MAX_REASON_CHARS),
        score_points=grade.score_points if outcome in GRADED_OUTCOMES and reply.trajectory.agent_acted else None,
        assertions=grade.results,
        violations=_with_leaks(scan.violations, reply),
        scan_given_up=scan.given_up,
    )


def _with_leaks(violations: tuple[Violation, ...] | None, reply: AgentReply) -> tuple[Violation, ...] | None:
    """Return the violations with the steps that held a key of the agent's own: blanked there, no policy could find it any more."""
    leaks = [
        Violation(policy=OWN_KEY_POLICY, step=problem.step)
        for problem in reply.problems
        if problem.kind == "secret_blanked" and problem.step is not None
    ]
    if not leaks:
        return violations
    return tuple(sorted((*(violations or ()), *leaks), key=lambda violation: violation.step))


def _with_notes(reason: str | None, scenario: Scenario, reply: AgentReply, facts: RunFacts) -> str | None:
    """Return the reason with what is to be known beside it, or None where there is nothing to say."""
    notes = [] if reply.ended != "finished" else unchecked_limit_notes(scenario, facts)
    if reply.problems:
        notes.append(f"read with problems: {problems_named(reply.problems)}")
    if not notes:
        return reason
    return ". ".join(sentence.rstrip(".") for sentence in [*([] if reason is None else [reason]), *notes]) + "."


def ungraded_run(scenario: Scenario, order: int, reply: AgentReply, *, ended_at: datetime, reason: str) -> Run:
    """Return what the agent did as a run without a verdict, for the reason. Raises as `graded_run` does."""
    return Run(
        scenario_id=scenario.id,
        order=order,
        created_at=ended_at,
        leg="live" if scenario.replay is None else "replay",
        outcome="ungraded",
        reason=clip(reason, MAX_REASON_CHARS),
        trajectory_digest=trajectory_digest(reply.trajectory),
        tools=reply.trajectory.tools,
        step_count=len(reply.trajectory.steps),
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        seconds=reply.seconds,
    )


def passed_limit_words(scenario: Scenario, facts: RunFacts) -> str | None:
    """Return the sentence of the first own limit that the run passed, or None; what is not known passes none (`unchecked_limit_notes`)."""
    limits = (
        ("seconds", scenario.max_seconds, facts.seconds),
        ("US dollars", scenario.max_cost_usd, facts.cost_usd),
        ("steps", scenario.max_steps, sum(not isinstance(step, FileChangeStep) for step in facts.trajectory.steps)),
    )
    for unit, most, taken in limits:
        if most is not None and taken is not None and taken > most:
            return f"It took {taken:g} {unit}; its limit is {most:g}."
    return None


def unchecked_limit_notes(scenario: Scenario, facts: RunFacts) -> list[str]:
    """Return a clause for each own limit that could not be checked, since what the run took is not known."""
    limits = (("max_seconds", scenario.max_seconds, facts.seconds), ("max_cost_usd", scenario.max_cost_usd, facts.cost_usd))
    return [
        f"{name} was not checked: it is not known what the run took" for name, most, taken in limits if most is not None and taken is None
    ]
