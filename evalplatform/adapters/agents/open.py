"""Opens an agent of the settings. What is wrong with them is found here, before the first run: a name, a folder, a missing secret."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalplatform.adapters.agents.http import HttpRunner
from evalplatform.adapters.agents.programs import AgentProgram, ProgramRunner
from evalplatform.adapters.agents.redaction import secret_values
from evalplatform.adapters.agents.replies import AgentBrokeError, parsed_json
from evalplatform.adapters.agents.workspace import checked_workspace
from evalplatform.adapters.clock import SystemClock
from evalplatform.kernel.errors import HarnessError, InputError, MissingSecretError
from evalplatform.ports.agent_runner import AgentRunner
from evalplatform.ports.clock import Clock
from evalplatform.runs.agent_settings import CommandAgent, HttpAgent, PythonAgent

FOLDER_MARK = "{folder}"
EVERY_PROGRAM_SEES = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH")
"""Variables that any program may need and that hold no secret."""
_PYTHON_CHILD = Path(__file__).with_name("python_child.py")


def open_agent(
    settings: HttpAgent | CommandAgent | PythonAgent,
    *,
    folder: Path,
    environ: Mapping[str, str] = os.environ,
    clock: Clock | None = None,
) -> AgentRunner:
    """Return a runner for an agent that is no cell of the project. Nothing is started or connected until the first run.

    Args:
        settings: one kind's settings.
        folder: the folder of the scenario file, which relative paths start from.
        environ: where secrets and passed variables are read from.
        clock: the machine's where None.

    Raises:
        MissingSecretError: a named variable is not set; its value is never shown.
        InputError: the program, a folder or the workspace cannot be used; the field is named.
    """
    timed = clock or SystemClock()
    if isinstance(settings, HttpAgent):
        return HttpRunner(settings, headers=_headers(settings, environ), clock=timed)
    if isinstance(settings, CommandAgent):
        return ProgramRunner(_command_program(settings, folder.resolve(), environ), timed)
    return ProgramRunner(_python_program(settings, folder.resolve(), environ), timed)


def _headers(settings: HttpAgent, environ: Mapping[str, str]) -> dict[str, str]:
    named = [(header, variable, f"agent.http.headers_env.{header}") for header, variable in settings.headers_env.items()]
    if settings.auth_env is not None:
        named.append(("Authorization", settings.auth_env, "agent.http.auth_env"))
    headers = {}
    for header, variable, field in named:
        value = _variable(variable, environ, field=field).strip()
        if not value or not (value.isascii() and value.isprintable()):
            raise MissingSecretError(f"the environment variable {variable} holds what no header can.", field=field)
        headers[header] = value
    return headers


def _command_program(settings: CommandAgent, folder: Path, environ: Mapping[str, str]) -> AgentProgram:
    argv = tuple(argument.replace(FOLDER_MARK, str(folder)) for argument in settings.argv)
    passed = _passed(settings.env, environ, field="agent.command.env")
    env = _environment(passed, environ)
    return AgentProgram(
        identity=settings.identity,
        argv=(_found_program(argv[0], folder, env.get("PATH", os.defpath)), *argv[1:]),
        folder=folder,
        env=env,
        secrets=tuple(passed.values()),
        keys=secret_values(passed),
        read_output=parsed_json,
        workspace=_workspace(settings.workspace, folder, field="agent.command.workspace"),
        timeout_seconds=settings.timeout_seconds,
        max_response_bytes=settings.max_response_bytes,
        concurrency=settings.concurrency,
    )


def _python_program(settings: PythonAgent, folder: Path, environ: Mapping[str, str]) -> AgentProgram:
    modules = folder if settings.path is None else folder / settings.path
    if not modules.is_dir():
        raise InputError(f"there is no folder {settings.path!r}.", field="agent.python.path")
    passed = _passed(settings.env, environ, field="agent.python.env")
    return AgentProgram(
        identity=settings.identity,
        # -P: what lies beside the child's file must not be imported in place of what the agent means
        argv=(sys.executable, "-P", str(_PYTHON_CHILD), settings.callable, str(modules.resolve())),
        folder=folder,
        env=_environment(passed, environ),
        secrets=tuple(passed.values()),
        keys=secret_values(passed),
        read_output=_python_output,
        workspace=_workspace(settings.workspace, folder, field="agent.python.workspace"),
        timeout_seconds=settings.timeout_seconds,
        max_response_bytes=settings.max_response_bytes,
        concurrency=settings.concurrency,
    )


def _python_output(data: bytes) -> object:
    """Return the reply in what python_child.py wrote."""
    if not data:
        raise AgentBrokeError("exit", "the function ended the process and returned nothing.")
    said = parsed_json(data)
    assert isinstance(said, dict)  # python_child.py writes nothing else
    if "cannot_start" in said:
        raise HarnessError("cannot_start", f"the function cannot be called: {said['cannot_start']}.")
    if "broke" in said:
        raise AgentBrokeError("exception", str(said["broke"]))
    return said["reply"]


def _found_program(program: str, folder: Path, search_path: str) -> str:
    """Return the program's full path: a name is looked for in PATH, a path is relative to the scenario file's folder."""
    named = str(folder / program) if os.sep in program else program
    found = shutil.which(named, path=search_path)
    if found is None:
        raise InputError(f"there is no program {program!r} that can be run.", field="agent.command.argv")
    return str(Path(found).absolute())


def _workspace(named: str | None, folder: Path, *, field: str) -> Path | None:
    return None if named is None else checked_workspace(folder / named, field=field)


def _passed(names: Sequence[str], environ: Mapping[str, str], *, field: str) -> dict[str, str]:
    return {name: _variable(name, environ, field=field) for name in names}


def _variable(name: str, environ: Mapping[str, str], *, field: str) -> str:
    value = environ.get(name)
    if value is None:
        raise MissingSecretError(f"the environment variable {name} is not set.", field=field)
    return value


def _environment(passed: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    return {**{name: environ[name] for name in EVERY_PROGRAM_SEES if name in environ}, **passed}
