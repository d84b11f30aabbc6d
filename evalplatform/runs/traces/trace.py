"""A recorded trace as runs: what every format gives, and the registry of formats."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from pydantic import AwareDatetime, Field

from evalplatform.kernel.errors import TraceError
from evalplatform.kernel.registry import Registry
from evalplatform.kernel.usage import Usage
from evalplatform.kernel.values import Value
from evalplatform.runs.records import AssertionResult, Outcome
from evalplatform.runs.regular_files import is_pipe_or_device
from evalplatform.runs.traces.problems import QuotedText, TraceProblem
from evalplatform.runs.trajectory import Trajectory

SNIFFED_BYTES = 65_536


class TraceGrade(Value):
    """The verdict that a trace brings. `reason` says what it was read from, or why there is none."""

    outcome: Outcome
    reason: QuotedText
    score_points: float | None = Field(default=None, ge=0, le=100)
    assertions: tuple[AssertionResult, ...] = ()


NO_GRADE = TraceGrade(outcome="ungraded", reason="the trace brings no verdict")


class TraceRun(Value):
    """One run as it was read from a trace.

    Attributes:
        line: the line it begins at, None where the format has none.
        trace_id: the trace that it is, where the format has such ids: the same one in two files is one run, cut in two.
        scenario_id: the scenario it names; `derived_id` says that it names none and the id was made of the file's name.
        trial: which attempt it says it is; None leaves that to the order of the file.
        trajectory: its steps; None where there are none, as of a run that could not run.
        grade: the verdict it brings.
        problems: what is wrong with it and does not stop the import.
        created_at: when it ended, where it says so.
        agent, model: who acted, where it says so.
        usage, cost_usd, seconds: what it took; None where unknown.
    """

    line: int | None
    trace_id: str | None = None
    scenario_id: str
    derived_id: bool = False
    trial: int | None = None
    trajectory: Trajectory | None
    grade: TraceGrade = NO_GRADE
    problems: tuple[TraceProblem, ...] = ()
    created_at: AwareDatetime | None = None
    agent: str | None = None
    model: str | None = None
    usage: Usage = Usage()
    cost_usd: float | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)


class TraceFormat(Protocol):
    """A file format that runs are read from."""

    def recognises(self, path: Path, head: bytes) -> bool:
        """Return whether a file is of this format, by its name and its first bytes."""
        ...

    def read(self, path: Path) -> Iterator[TraceRun | TraceError]:
        """Iterate over the runs of a file, one in memory at a time; what cannot be read comes as the error it would raise, with its line.

        Raises:
            TraceError: the file as a whole cannot be read.
        """
        ...


trace_formats: Registry[TraceFormat] = Registry("trace_formats", noun="trace format", kinds_package="evalplatform.runs.traces.kinds")

FALLBACK_FORMAT: Literal["openai_chat"] = "openai_chat"


def read_traces(path: Path, *, format_name: str | None = None) -> Iterator[TraceRun | TraceError]:
    """Iterate over the runs of a trace file, one in memory at a time.

    Args:
        path: the file.
        format_name: a name of `trace_formats`; None finds it by the file's name and beginning, and is `openai_chat` where no other fits.

    Returns:
        Runs, and in their place the error of what cannot be read: the caller decides whether to go on.

    Raises:
        UnknownNameError: there is no such format.
        TraceError: the file as a whole cannot be read, or is a pipe or device.
    """
    if is_pipe_or_device(path):
        raise TraceError("is no regular file: traces are read more than once, which a pipe or a device does not allow.", file=path)
    try:
        with path.open("rb") as file:
            head = file.read(SNIFFED_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TraceError(f"cannot be read: {reason[0].lower()}{reason[1:]}.", file=path) from None
    name = format_name or next((name for name in trace_formats if trace_formats.get(name).recognises(path, head)), FALLBACK_FORMAT)
    return trace_formats.get(name).read(path)


def latest_time(times: Iterator[datetime | None]) -> datetime | None:
    """Return the latest of the known times, None where none is known."""
    return max((time for time in times if time is not None), default=None)
