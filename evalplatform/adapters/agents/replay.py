"""Replays recorded trajectories in place of an agent: no call is made, and no file state is known."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from evalplatform.kernel.errors import HarnessError, InputError, TraceError
from evalplatform.kernel.text import plural
from evalplatform.kernel.usage import Usage
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.runs.agent_contract import missing_message
from evalplatform.runs.traces.problems import TraceProblem
from evalplatform.runs.traces.trace import TraceRun, read_traces
from evalplatform.runs.trajectory import FileChangeStep, Trajectory

CONCURRENCY = 4
_HEAD_BYTES = 1_024


class RecordedRun(NamedTuple):
    """What a recording holds of a run: its steps, how it ended, what it took as far as that is known, and what is wrong with it."""

    trajectory: Trajectory
    ended: Literal["finished", "agent_error", "budget_stop"] = "finished"
    reason: str | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None
    seconds: float | None = None
    problems: tuple[TraceProblem, ...] = ()


@dataclass
class ReplayRunner:
    """Answers every scenario with its recording.

    Args:
        recordings: the recorded file of each scenario, by id: one of our trajectories, or a trace in any format that is imported. A file
            with several runs is read for the one of the scenario.
    """

    recordings: Mapping[str, Path]

    @property
    def agent(self) -> str:
        """`replay`: what was recorded, not who recorded it."""
        return "replay"

    @property
    def model(self) -> str | None:
        """Unknown."""
        return None

    @property
    def concurrency(self) -> int:
        """How many files are read at once."""
        return CONCURRENCY

    async def run(self, request: AgentRequest) -> AgentReply:
        """Return the recorded run, with what it took when it was recorded; no limit of the run stops it.

        Raises:
            HarnessError: the recording cannot be read, is of a run that could not run, or is one of another conversation.
        """
        file = self.recordings[request.scenario_id]
        try:
            recorded = await asyncio.to_thread(recorded_run, file, request.scenario_id)
        except InputError as error:
            raise HarnessError("recording", f"the recording cannot be replayed: {error}") from error
        # What was changed then is no state of any file now, so a check of files is reported as unchecked.
        steps = tuple(step for step in recorded.trajectory.steps if not isinstance(step, FileChangeStep))
        missing = missing_message(recorded.trajectory, request.messages if recorded.ended == "finished" else request.messages[:1])
        if missing is not None:
            raise HarnessError("recording", f"{file} is a recording of another conversation: {missing} is not in it.")
        return AgentReply(
            trajectory=Trajectory(steps=steps),
            ended=recorded.ended,
            reason=recorded.reason,
            usage=recorded.usage,
            cost_usd=recorded.cost_usd,
            seconds=recorded.seconds,
            problems=recorded.problems,
        )

    async def aclose(self) -> None:
        """Nothing is open."""


def open_replay(recordings: Mapping[str, Path]) -> ReplayRunner:
    """Return a runner over recordings that are there.

    Raises:
        InputError: a scenario's file is not.
    """
    for scenario_id, file in recordings.items():
        if not file.is_file():
            raise InputError(f"there is no recording {str(file)!r}.", field=f"scenarios.{scenario_id}.replay")
    return ReplayRunner(recordings)


def recorded_run(file: Path, scenario_id: str) -> RecordedRun:
    """Return the one run of a scenario that a file holds; a file with one run alone is that of any scenario.

    Raises:
        TraceError: it cannot be read, or holds several runs of the scenario, or several of others and none of it, or one that could
            not run.
    """
    if (whole := _own_trajectory(file)) is not None:
        return RecordedRun(whole)
    runs = list(read_traces(file))
    fitting = [run for run in runs if isinstance(run, TraceRun) and run.scenario_id == scenario_id] or runs
    if len(fitting) != 1:
        what = f"of {scenario_id!r}" if fitting is not runs else f"and none of {scenario_id!r}"
        raise TraceError(f"holds {plural(len(fitting), 'run')} {what}; a recording is one run.", file=file)
    (run,) = fitting
    if isinstance(run, TraceError):
        raise run
    if run.trajectory is None:
        raise TraceError(f"holds a run in which the agent never acted: {run.grade.reason}.", file=file, line=run.line)
    outcome, reason = run.grade.outcome, run.grade.reason
    if outcome == "harness_error":
        raise TraceError(f"holds a run that could not run: {reason.rstrip('.')}.", file=file, line=run.line)
    ended = outcome if outcome in ("agent_error", "budget_stop") else "finished"
    return RecordedRun(
        run.trajectory,
        ended=ended,
        reason=None if ended == "finished" else f"recorded so: {reason}",
        usage=run.usage,
        cost_usd=run.cost_usd,
        seconds=run.seconds,
        problems=run.problems,
    )


def _own_trajectory(file: Path) -> Trajectory | None:
    """Return the trajectory in a file of our own format, or None where the file is of another."""
    try:
        with file.open("rb") as opened:
            if b'"trajectory.v1"' not in opened.read(_HEAD_BYTES):
                return None
        return Trajectory.model_validate_json(file.read_bytes())
    except OSError as error:
        raise TraceError(f"cannot be read: {error.strerror or error}.", file=file) from error
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or None
        raise TraceError(f"is no trajectory: {problem['msg']}.", file=file, field=where) from None
