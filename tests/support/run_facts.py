"""Short ways to write a run down in tests: steps and the facts that assertions read."""

import json

from evalplatform.kernel.usage import Usage
from evalplatform.runs.assertions.assertion import RunFacts
from evalplatform.runs.trajectory import ChangedFile, FileChangeStep, MessageStep, Step, ToolCallStep, ToolResultStep, Trajectory


def user(text: str) -> MessageStep:
    return MessageStep(role="user", text=text)


def says(text: str) -> MessageStep:
    return MessageStep(role="assistant", text=text)


def call(tool: str, arguments: object = None, *, call_id: str = "c", text: str | None = None) -> ToolCallStep:
    """A tool call; arguments that are a text are written as they are, which may be no JSON."""
    written = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return ToolCallStep(call_id=call_id, tool=tool, arguments_text=written, text=text)


def result(tool: str, text: str, *, call_id: str = "c") -> ToolResultStep:
    return ToolResultStep(call_id=call_id, tool=tool, text=text)


def files(**changes: str) -> FileChangeStep:
    """The file-change step; a file's name is written with `_` for its dot."""
    changed = tuple(ChangedFile.model_validate({"path": name.replace("_", "."), "change": change}) for name, change in changes.items())
    return FileChangeStep(files=changed)


def facts(*steps: Step, usage: Usage | None = None, cost_usd: float | None = None, seconds: float | None = None) -> RunFacts:
    return RunFacts(trajectory=Trajectory(steps=steps), usage=usage or Usage(), cost_usd=cost_usd, seconds=seconds)
