"""A trajectory: what an agent did in one run, step by step, as it is stored and compared."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from evalplatform.kernel.digests import bytes_digest, canonical_json
from evalplatform.kernel.values import Value

MessageRole = Literal["system", "user", "assistant"]


class MessageStep(Value):
    """A message without tool calls. Its text is prose: it is shown, and never compared."""

    kind: Literal["message"] = "message"
    role: MessageRole
    text: str


class ToolCallStep(Value):
    """One tool call of the agent.

    Attributes:
        call_id: what its result names it by; unique in the trajectory.
        tool: the tool's name.
        arguments_text: the arguments as the agent wrote them, which may be no JSON.
        text: what the agent said in the same message, on the message's first call alone; None where it said nothing.
    """

    kind: Literal["tool_call"] = "tool_call"
    call_id: str
    tool: str
    arguments_text: str
    text: str | None = None


class ToolResultStep(Value):
    """What a tool answered. `tool` is the name of the tool whose call it answers."""

    kind: Literal["tool_result"] = "tool_result"
    call_id: str
    tool: str
    text: str


class ChangedFile(Value):
    """One file that differs after the run. `digest` is that of its bytes after it, None where it was removed."""

    path: str
    change: Literal["added", "modified", "removed"]
    digest: str | None = None


class FileChangeStep(Value):
    """The files that a run left changed, in the order of their paths; a runner adds it as the last step, also where nothing changed."""

    kind: Literal["file_change"] = "file_change"
    files: tuple[ChangedFile, ...] = ()


Step = Annotated[MessageStep | ToolCallStep | ToolResultStep | FileChangeStep, Field(discriminator="kind")]


class Trajectory(Value):
    """The ordered steps of one run. Steps are numbered from 1 wherever they are shown.

    A trace that was imported or replayed holds no file state, so it has no file-change step.
    """

    format: Literal["trajectory.v1"] = "trajectory.v1"
    steps: tuple[Step, ...]

    @model_validator(mode="after")
    def _files_come_last(self) -> Self:
        if any(isinstance(step, FileChangeStep) for step in self.steps[:-1]):
            raise ValueError("a file_change step is the last one")
        return self

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the called tools, in order: the tool path."""
        return tuple(step.tool for step in self.steps if isinstance(step, ToolCallStep))

    @property
    def agent_acted(self) -> bool:
        """Whether the agent took a step at all: it wrote a message, or made a call."""
        return any(isinstance(step, ToolCallStep) or (isinstance(step, MessageStep) and step.role == "assistant") for step in self.steps)

    @property
    def final_text(self) -> str | None:
        """The agent's last message without tool calls, where no tool call follows it; None else.

        What was said before the agent acted again is no answer to what came last. A user's closing message takes nothing away:
        conversations with people, and with simulated users, end with their thanks.
        """
        for step in reversed(self.steps):
            if isinstance(step, MessageStep) and step.role == "assistant":
                return step.text
            if isinstance(step, ToolCallStep):
                return None
        return None


def trajectory_bytes(trajectory: Trajectory) -> bytes:
    """Return the one byte form of a trajectory, which it is stored as.

    Raises:
        InputError: a text holds a lone surrogate, which JSON cannot hold.
    """
    return canonical_json(trajectory.model_dump(mode="json"))


def trajectory_digest(trajectory: Trajectory) -> str:
    """Return the digest that a trajectory is stored by. Raises as `trajectory_bytes` does."""
    return bytes_digest(trajectory_bytes(trajectory))
