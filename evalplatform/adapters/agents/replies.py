"""What every runner makes of an agent's words: a reply, or the reply of an agent that broke."""

from collections.abc import Iterable

from evalplatform.kernel.errors import EvalplatformError, TraceError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.ports.run_limits import within_limits
from evalplatform.runs.agent_contract import json_from_agent, read_contract_reply, reply_conversation
from evalplatform.runs.traces.content import whole_text
from evalplatform.runs.trajectory import ChangedFile, FileChangeStep, MessageStep, Trajectory


class AgentBrokeError(EvalplatformError):
    """The agent itself broke. `reason` is a short stable word; a runner turns it into a reply that ended in `agent_error`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def asked_trajectory(request: AgentRequest) -> Trajectory:
    """Return the trajectory of a run that left nothing but the user's messages."""
    return Trajectory(steps=tuple(MessageStep(role="user", text=message) for message in request.messages))


def broken_reply(request: AgentRequest, error: AgentBrokeError, *, seconds: float, changes: FileChangeStep | None = None) -> AgentReply:
    """Return the reply of an agent that broke without a trajectory."""
    trajectory = with_changes_added(asked_trajectory(request), changes)
    return AgentReply(trajectory=trajectory, ended="agent_error", reason=f"{error.reason}: {error}", seconds=seconds)


def out_of_time_reply(
    request: AgentRequest, trajectory: Trajectory, *, timeout_seconds: float, seconds: float, usage: Usage | None = None
) -> AgentReply:
    """Return the reply of an agent that took too long: a `budget_stop` by the run's own limit, an `agent_error` by the agent's timeout."""
    own = request.max_seconds is not None and request.max_seconds <= timeout_seconds
    limit = f"max_seconds: the run's limit is {request.max_seconds:g} s." if own else f"timeout: no reply within {timeout_seconds:g} s."
    return AgentReply(
        trajectory=trajectory, ended="budget_stop" if own else "agent_error", reason=limit, seconds=seconds, usage=usage or Usage()
    )


def contract_agent_reply(value: object, request: AgentRequest, *, seconds: float, changes: FileChangeStep | None = None) -> AgentReply:
    """Return the run that a reply of the contract tells, within the run's limits.

    `changes` is the file-change step of a workspace that was watched.

    Raises:
        AgentBrokeError: it is no reply, or states files beside a workspace that was watched.
    """
    try:
        reply = read_contract_reply(value)
        conversation = reply_conversation(reply, request.messages)
    except TraceError as error:
        raise AgentBrokeError("not_a_reply", f"the agent's reply: {error}") from None
    if reply.files is not None and changes is not None:
        raise AgentBrokeError("not_a_reply", "the agent's reply: files: are found in its workspace, and not stated.")
    stated = None if reply.files is None else _stated_changes(reply.files)
    reason = reply.reason or ("the agent says so" if reply.ended != "finished" else None)
    return within_limits(
        AgentReply(
            trajectory=with_changes_added(conversation.trajectory, changes or stated),
            ended=reply.ended,
            reason=reason,
            usage=reply.usage or Usage(),
            cost_usd=reply.cost_usd,
            seconds=seconds,
            problems=conversation.problems,
        ),
        request,
    )


def _stated_changes(files: Iterable[ChangedFile]) -> FileChangeStep:
    whole = (file.with_changes(path=whole_text(file.path)) for file in files)
    return FileChangeStep(files=tuple(sorted(whole, key=lambda file: file.path)))


def parsed_json(data: bytes) -> object:
    """Return the JSON value that an agent wrote; AgentBrokeError where it is none."""
    try:
        return json_from_agent(data)
    except TraceError as error:
        raise AgentBrokeError("not_a_reply", f"the agent's reply {error}") from None


def with_changes_added(trajectory: Trajectory, changes: FileChangeStep | None) -> Trajectory:
    """Return the trajectory with a file-change step as its last step; as it is where there is none."""
    return trajectory if changes is None else Trajectory(steps=(*trajectory.steps, changes))
