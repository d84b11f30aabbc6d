"""`evalplatform doctor`: looks at everything that a project needs around it, and says how to mend what is not as it should be."""

import os
from pathlib import Path
from typing import Annotated

import typer

ProjectOption = Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")]

TIMEOUT_SECONDS = 40.0
ALL_WELL = 0
PROBLEM = 1


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the root command."""
    app.command("doctor")(doctor)


def doctor(
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Check storage, database, Dagster, versions, keys, endpoints and settings, and say how to mend what is wrong. Asks no model.

    Exit code 0 where nothing is a problem (warnings may be), 1 where something is, 2 where there is no project to look at.
    """
    from evalplatform.cli.checkup.checks import CHECKS
    from evalplatform.cli.checkup.examination import examination
    from evalplatform.cli.checkup.findings import Patient
    from evalplatform.cli.checkup.loading import usable_project
    from evalplatform.cli.console import found_project_file, no_project
    from evalplatform.wiring import OpenedProject

    file = found_project_file(project)
    if file is None:
        raise no_project()
    loaded, refused = usable_project(file, os.environ)
    with OpenedProject(loaded) as opened:
        findings = examination(CHECKS, Patient(opened, os.environ, refused), timeout_seconds=TIMEOUT_SECONDS)
    if json_result:
        import orjson

        typer.echo(orjson.dumps([finding.model_dump() for finding in findings], option=orjson.OPT_INDENT_2).decode())
    else:
        for finding in findings:
            typer.echo(f"{finding.state:<8} {finding.check}: {finding.found}")
            if finding.fix is not None:
                typer.echo(f"{'':<8} {finding.fix}")
    return PROBLEM if any(finding.state == "problem" for finding in findings) else ALL_WELL
