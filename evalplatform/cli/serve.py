"""`evalplatform serve`: the web app."""

import os
import signal
from pathlib import Path
from typing import Annotated

import typer

ProjectOption = Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")]

# By its name, since the web app and the commands are drivers that do not know each other.
WEB_APP = "evalplatform.web.app:app_of_environment"
NOT_STARTED = 2


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the root command."""
    app.command("serve")(serve)


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8787,
    project: ProjectOption = None,
) -> int:
    """Serve the project's reports and downloads on the web until Ctrl-C. There is no sign-in: mind who can reach the address."""
    import uvicorn

    from evalplatform.cli.console import required_project, say
    from evalplatform.cli.ports import refuse_taken_port, shown_address
    from evalplatform.project.load import PROJECT_VARIABLE

    served = required_project(project)
    refuse_taken_port(host, port)
    os.environ[PROJECT_VARIABLE] = os.fspath(served.file or served.root)
    say(f"project {served.settings.project}: {shown_address(host, port)} (Ctrl-C ends it)")
    server = uvicorn.Server(
        uvicorn.Config(WEB_APP, factory=True, host=host, port=port, log_level="warning", access_log=False, server_header=False)
    )
    _end_quietly_on_signals()
    server.run()
    return 0 if server.started else NOT_STARTED


def _end_quietly_on_signals() -> None:
    """Let the server's end be the end of the command: uvicorn raises the signal that ended it again, for whoever handled it before."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
