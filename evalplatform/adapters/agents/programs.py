"""Agents that are programs: the JSON contract on standard input and output, in a workspace of the run's own where one is declared."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from evalplatform.adapters.agents.guardian import Guardian
from evalplatform.adapters.agents.processes import ProgramEnd, run_program
from evalplatform.adapters.agents.redaction import Redactor
from evalplatform.adapters.agents.replies import (
    AgentBrokeError,
    asked_trajectory,
    broken_reply,
    contract_agent_reply,
    out_of_time_reply,
    with_changes_added,
)
from evalplatform.adapters.agents.workspace import (
    FileStates,
    WorkspaceTooLargeError,
    copy_workspace,
    file_changes,
    file_states,
    remove_folder,
)
from evalplatform.kernel.errors import HarnessError
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.ports.clock import Clock
from evalplatform.runs.agent_contract import contract_request_bytes
from evalplatform.runs.trajectory import FileChangeStep

ReadOutput = Callable[[bytes], object]
Made = TypeVar("Made")


@dataclass(frozen=True)
class AgentProgram:
    """A program as it is run.

    Attributes:
        identity: what the agent is known by.
        argv: the program and its arguments.
        folder: its working directory where it has no workspace.
        env: its whole environment.
        secrets: values that were passed on by name; they are blanked out of every reason and error.
        keys: those of them that are secrets by their variables' names; they are blanked out of the steps, too.
        read_output: the reply in what it wrote to standard output; raises AgentBrokeError or HarnessError.
        workspace: a checked folder that every run gets a copy of, or None.
        timeout_seconds, max_response_bytes, concurrency: as in the settings.
    """

    identity: str
    argv: tuple[str, ...]
    folder: Path
    env: Mapping[str, str]
    secrets: tuple[str, ...]
    keys: tuple[str, ...]
    read_output: ReadOutput
    workspace: Path | None
    timeout_seconds: float
    max_response_bytes: int
    concurrency: int


@dataclass
class ProgramRunner:
    """Runs an agent's program, once a run.

    Args:
        program: what is run.
        clock: for how long a run took.
    """

    program: AgentProgram
    clock: Clock
    _guardian: Guardian = field(default_factory=Guardian)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.program.concurrency)
        self._redactor = Redactor(self.program.secrets, keys=self.program.keys)

    @property
    def agent(self) -> str:
        """`command` or `python`, and what is run."""
        return self.program.identity

    @property
    def model(self) -> str | None:
        """Unknown: a program does not say."""
        return None

    @property
    def concurrency(self) -> int:
        """How many runs at once."""
        return self.program.concurrency

    async def run(self, request: AgentRequest) -> AgentReply:
        """Return what the agent did; see `ports.agent_runner.AgentRunner`."""
        async with self._slots:
            try:
                return self._redactor.reply(await self._run(request))
            except HarnessError as error:
                raise self._redactor.error(error) from None

    async def aclose(self) -> None:
        """End the guardian; calling it twice is fine."""
        self._guardian.close()

    async def _run(self, request: AgentRequest) -> AgentReply:
        if self.program.workspace is None:
            return await self._reply(request, self.program.folder, before=None)
        return await self._run_in_copy(request, self.program.workspace)

    async def _run_in_copy(self, request: AgentRequest, workspace: Path) -> AgentReply:
        made = Path(tempfile.mkdtemp(prefix="evalplatform-run-"))
        self._guardian.watch_folder(made)
        try:
            copy = made / "workspace"
            try:
                before = await _in_thread(lambda: copy_workspace(workspace, copy))
            except (OSError, shutil.Error, WorkspaceTooLargeError) as error:
                raise HarnessError("workspace", f"the workspace cannot be copied: {error}") from error
            return await self._reply(request, copy, before=before)
        finally:
            await _in_thread(lambda: remove_folder(made))
            self._guardian.forget_folder(made)

    async def _reply(self, request: AgentRequest, folder: Path, *, before: FileStates | None) -> AgentReply:
        program = self.program
        started = self.clock.monotonic_seconds()
        end = await run_program(
            program.argv,
            folder=folder,
            env=program.env,
            data=contract_request_bytes(request.scenario_id, request.order, request.messages),
            limit_seconds=min(program.timeout_seconds, request.max_seconds or float("inf")),
            limit_bytes=program.max_response_bytes,
            guardian=self._guardian,
        )
        seconds = self.clock.monotonic_seconds() - started
        changes = None
        try:
            changes = await self._changes(folder, before)
            if end.stopped == "timeout":
                trajectory = with_changes_added(asked_trajectory(request), changes)
                return out_of_time_reply(request, trajectory, timeout_seconds=program.timeout_seconds, seconds=seconds)
            return contract_agent_reply(self._said(end), request, seconds=seconds, changes=changes)
        except AgentBrokeError as error:
            return broken_reply(request, error, seconds=seconds, changes=changes)

    def _said(self, end: ProgramEnd) -> object:
        """Return the reply that a program wrote; what it said on standard error explains one that wrote none."""
        if end.stopped == "too_large":
            raise AgentBrokeError("too_large", f"{self.agent}: it wrote more than {self.program.max_response_bytes:,} bytes.")
        heard = self._redactor.text(end.stderr_tail)  # before it is cut
        last_words = f" It last wrote: {_last_words(heard)}" if heard else ""
        if end.exit_code != 0:
            how = f"signal {-end.exit_code}" if end.exit_code < 0 else f"exit code {end.exit_code}"
            raise AgentBrokeError("exit", f"{self.agent} ended with {how}.{last_words}")
        try:
            return self.program.read_output(end.stdout)
        except AgentBrokeError as error:
            explained = "" if error.reason == "exception" else last_words  # standard error holds but its traceback
            raise AgentBrokeError(error.reason, f"{error}{explained}") from None

    async def _changes(self, folder: Path, before: FileStates | None) -> FileChangeStep | None:
        if before is None:
            return None
        try:
            return file_changes(before, await _in_thread(lambda: file_states(folder)))
        except WorkspaceTooLargeError as error:
            raise AgentBrokeError("workspace", f"what the agent left in its workspace {error}") from None
        except OSError as error:
            raise AgentBrokeError("workspace", f"what the agent left in its workspace cannot be read: {error}") from None


LAST_WORDS_LIMIT_CHARS = 400


def _last_words(text: str) -> str:
    """Return the end of a text as one line: what a program says last is why it ended."""
    line = " ".join(text.split())
    return line if len(line) <= LAST_WORDS_LIMIT_CHARS else f"…{line[-LAST_WORDS_LIMIT_CHARS:]}"


async def _in_thread(work: Callable[[], Made]) -> Made:
    """Return what `work` returns, called in a thread. A cancel waits for the thread: nothing may still write when its folder is removed."""
    under_way = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(under_way)
    except asyncio.CancelledError:
        await asyncio.wait([under_way])
        raise
