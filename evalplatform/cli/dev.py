"""`evalplatform dev`: Dagster's UI with its daemon, and the web app that its links lead to."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from evalplatform.cli.console import say
from evalplatform.cli.ports import refuse_taken_port, shown_address
from evalplatform.cli.supervisor import Server, run_together
from evalplatform.kernel.errors import InputError
from evalplatform.project.deployment import variable_of
from evalplatform.project.load import PROJECT_VARIABLE, Project

SUPERSEDED_COMMAND = "ignore:Function `dev_command` is superseded"


def run_dev(project: Project, *, host: str, port: int, web_port: int, environ: Mapping[str, str]) -> int:
    """Serve the project until Ctrl-C or SIGTERM, or until one of the two servers ends: Dagster on `port`, the web app on `web_port`.

    Returns:
        The exit code: 0 after an end that was asked for, 2 after any other.

    Raises:
        InputError: a port is taken, or the address is not this machine's.
    """
    from evalplatform.cli.orchestration.home import prepare_dagster_home, register_project

    if port == web_port:
        raise InputError(f"the Dagster UI and the web app cannot both have port {port}.", field="--web-port")
    refuse_taken_port(host, port)
    refuse_taken_port(host, web_port, field="--web-port")
    home = prepare_dagster_home(project)
    register_project(project, home)
    web_address = shown_address(host, web_port)
    environment = {
        **environ,
        variable_of("web_url"): environ.get(variable_of("web_url")) or web_address,
        "DAGSTER_HOME": os.fspath(home),
        PROJECT_VARIABLE: os.fspath(project.file or project.root),
        "PYTHONWARNINGS": ",".join(filter(None, (environ.get("PYTHONWARNINGS"), SUPERSEDED_COMMAND))),
    }
    say(f"Dagster UI: {shown_address(host, port)} once it says that it serves; reports and downloads: {web_address} (Ctrl-C ends both)")
    servers = (
        Server("Dagster", (sys.executable, "-m", "dagster", "dev", "-w", _workspace(project, home), "-h", host, "-p", str(port))),
        Server("the web app", (sys.executable, "-m", "evalplatform.cli", "serve", "--host", host, "--port", str(web_port))),
    )
    # Python looks for modules in the working directory first: a project's own `assets` package would hide the one that is meant.
    return run_together(servers, folder=home, environment=environment)


def _workspace(project: Project, home: Path) -> str:
    own = project.root / "workspace.yaml"
    return os.fspath(own if own.is_file() else home / "workspace.yaml")
