"""The run's own limits, applied to what an agent says it took."""

from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.runs.trajectory import FileChangeStep


def within_limits(reply: AgentReply, request: AgentRequest) -> AgentReply:
    """Return the reply, as a `budget_stop` where the agent finished beyond a limit of the run.

    Cost counts as the agent states it, and what is not known is not checked here: grading says so. Steps are all steps but the
    file-change step, which the runner adds. An agent that broke stays one that broke.
    """
    reason = None if reply.ended != "finished" else _breached(reply, request)
    return reply if reason is None else reply.with_changes(ended="budget_stop", reason=reason)


def _breached(reply: AgentReply, request: AgentRequest) -> str | None:
    steps = sum(not isinstance(step, FileChangeStep) for step in reply.trajectory.steps)
    if request.max_steps is not None and steps > request.max_steps:
        return f"max_steps: it took {steps} steps; the limit is {request.max_steps}."
    if request.max_cost_usd is not None and reply.cost_usd is not None and reply.cost_usd > request.max_cost_usd:
        return f"max_cost_usd: it cost ${reply.cost_usd:g}; the limit is ${request.max_cost_usd:g}."
    if request.max_seconds is not None and reply.seconds is not None and reply.seconds > request.max_seconds:
        return f"max_seconds: it took {reply.seconds:.1f} s; the limit is {request.max_seconds:g} s."
    return None
