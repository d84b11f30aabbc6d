"""What of a trajectory is compared: roles, tool names and the shape of arguments. Prose and values are not."""

import json
from typing import Literal, NamedTuple

from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.values import Value
from evalplatform.runs.argument_shape import ArgumentShape, argument_shape
from evalplatform.runs.trajectory import FileChangeStep, MessageStep, Step, ToolCallStep, ToolResultStep, Trajectory

FilesShape = tuple[tuple[str, str], ...]
"""Which files a run left changed: path and kind of change, sorted. What stands in them is a value."""


class Token(NamedTuple):
    """What of one unit is compared.

    Attributes:
        kind: a message, a tool call, or a result that answers no call.
        name: the message's role, or the tool's name.
        arguments: the shape of a call's arguments; () for anything else.
        has_result: whether a call was answered.
    """

    kind: Literal["message", "tool_call", "tool_result"]
    name: str
    arguments: ArgumentShape = ()
    has_result: bool = False


class Unit(NamedTuple):
    """What is compared as one: a message, or a tool call with its result.

    Attributes:
        token: what of it is compared.
        step: the step of the message or the call, from 1.
        result_step: the step of the call's result, which other steps may stand before; None where there is none.
        beside: the agent's messages right before a call. They are shown with it and, as the text inside a call, not compared.
    """

    token: Token
    step: int
    result_step: int | None = None
    beside: tuple[int, ...] = ()

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps that a change of it names: its own and its result's."""
        return (self.step,) if self.result_step is None else (self.step, self.result_step)

    @property
    def all_steps(self) -> tuple[int, ...]:
        """Every step that is shown with it, in order."""
        return (*self.beside, *self.steps)


class Signature(Value):
    """The structure of a trajectory.

    Attributes:
        tokens: one a unit, in the order of the messages and calls; whether a result came in before or after a parallel call does not count.
        files: what the run left changed; None where the trajectory holds no file state, which cannot be compared.
    """

    tokens: tuple[Token, ...]
    files: FilesShape | None = None

    @property
    def digest(self) -> str:
        """The digest of all of it: equal structures have one digest, whatever was said."""
        # Escaped to ASCII: an agent may name a tool by a lone surrogate, which UTF-8 cannot hold.
        return text_digest(json.dumps([self.tokens, self.files], ensure_ascii=True))


def signature(trajectory: Trajectory) -> Signature:
    """Return a trajectory's structure."""
    return Signature(tokens=tuple(unit.token for unit in units_of(trajectory)), files=files_shape(trajectory))


def units_of(trajectory: Trajectory) -> tuple[Unit, ...]:
    """Return what is compared, in order; the file-change step is left out, as it is compared with the other run's alone."""
    result_of = _result_steps(trajectory.steps)
    answering = set(result_of.values())
    units: list[Unit] = []
    beside: list[int] = []
    for number, step in enumerate(trajectory.steps, start=1):
        if isinstance(step, MessageStep) and step.role == "assistant":
            beside.append(number)
            continue
        if isinstance(step, ToolCallStep):
            answer = result_of.get(number)
            token = Token("tool_call", step.tool, argument_shape(step.arguments_text), answer is not None)
            units.append(Unit(token, number, answer, tuple(beside)))
            beside = []
            continue
        units += [Unit(Token("message", "assistant"), said) for said in beside]
        beside = []
        if isinstance(step, MessageStep):
            units.append(Unit(Token("message", step.role), number))
        elif isinstance(step, ToolResultStep) and number not in answering:
            units.append(Unit(Token("tool_result", step.tool), number))
    return (*units, *(Unit(Token("message", "assistant"), said) for said in beside))


def file_change_step(trajectory: Trajectory) -> int | None:
    """Return the number of the step that holds the run's file state, which is the last, or None where it has none."""
    steps = trajectory.steps
    return len(steps) if steps and isinstance(steps[-1], FileChangeStep) else None


def files_shape(trajectory: Trajectory) -> FilesShape | None:
    """Return which files the run left changed, or None where its trajectory holds no file state."""
    last = trajectory.steps[-1] if trajectory.steps else None
    return tuple(sorted((file.path, file.change) for file in last.files)) if isinstance(last, FileChangeStep) else None


def _result_steps(steps: tuple[Step, ...]) -> dict[int, int]:
    """The step of each call's result, by the call's step: the first result after it that names its id."""
    waiting: dict[str, int] = {}
    found: dict[int, int] = {}
    for number, step in enumerate(steps, start=1):
        if isinstance(step, ToolCallStep):
            waiting[step.call_id] = number
        elif isinstance(step, ToolResultStep) and step.call_id in waiting:
            found[waiting.pop(step.call_id)] = number
    return found
