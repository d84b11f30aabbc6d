"""The agent port: one scenario's messages in, one trajectory out, typed failures."""

from typing import Literal, Protocol

from pydantic import Field

from evalplatform.kernel.usage import Usage
from evalplatform.kernel.values import Value
from evalplatform.runs.traces.problems import TraceProblem
from evalplatform.runs.trajectory import Trajectory


class AgentRequest(Value):
    """What an agent is given: the scenario's user messages, one after the other, and which attempt this is.

    `max_seconds`, `max_cost_usd` and `max_steps` are the run's own limits: an agent that comes to one is a failure, `budget_stop`.
    """

    scenario_id: str
    messages: tuple[str, ...] = Field(min_length=1)
    order: int = Field(ge=0)
    max_seconds: float | None = Field(default=None, gt=0)
    max_cost_usd: float | None = Field(default=None, gt=0)
    max_steps: int | None = Field(default=None, ge=1)


class AgentReply(Value):
    """What an agent did.

    Attributes:
        trajectory: its steps, as far as it came.
        ended: `finished`; `agent_error` where the agent itself broke (an exception, an exit code, a reply that is none); `budget_stop`
            where it came to a limit of the run's own. `reason` says more wherever it is not `finished`.
        usage, cost_usd: as the agent states them; None where it does not.
        seconds: how long it took; None where a recording does not say.
        problems: what was wrong with its messages and did not keep them from being read.
    """

    trajectory: Trajectory
    ended: Literal["finished", "agent_error", "budget_stop"] = "finished"
    reason: str | None = None
    usage: Usage = Usage()
    cost_usd: float | None = Field(default=None, ge=0)
    seconds: float | None = Field(ge=0)
    problems: tuple[TraceProblem, ...] = ()


class AgentRunner(Protocol):
    """A way to run one agent. One instance serves many concurrent runs."""

    @property
    def agent(self) -> str:
        """The agent's identity: what it is reached by, never the commit. One line."""
        ...

    @property
    def model(self) -> str | None:
        """The model it uses, where that is known."""
        ...

    @property
    def concurrency(self) -> int:
        """How many runs it bears at once; who asks for more waits."""
        ...

    async def run(self, request: AgentRequest) -> AgentReply:
        """Return what the agent did.

        Raises:
            HarnessError: it could not be run at all (unreachable, not allowed, cannot be started): the run is not graded.
            RunStoppedError: the batch's spend cap, or the breaker; the batch ends here.
        """
        ...

    async def aclose(self) -> None:
        """Close connections; calling it twice is fine."""
        ...
