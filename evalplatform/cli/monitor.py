"""`evalplatform monitor`: schedules of agents that are checked at their own endpoints."""

from typing import Annotated

import typer

from evalplatform.cli import monitor_nights
from evalplatform.cli.project import ProjectOption

app = typer.Typer(help="Check agents on a schedule, at their own endpoints, against runs that passed.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command("list")
def list_schedules(project: ProjectOption = None, json_result: JsonOption = False) -> int:
    """List the schedules: on or paused, what stands, when the next check is due, and what of the allowance is used.

    Exit code 1 when there is none.
    """
    import orjson

    from evalplatform.cli.console import required_project, say
    from evalplatform.reports.schedule_words import schedules_json, schedules_lines
    from evalplatform.stages.schedules import read_schedules
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        listed = read_schedules(opened.monitoring_context())
    if json_result:
        typer.echo(orjson.dumps(schedules_json(listed), option=orjson.OPT_INDENT_2).decode())
    else:
        for line in schedules_lines(listed):
            typer.echo(line)
    if not listed.schedules:
        say("there is no schedule; `evalplatform monitor add` makes one.")
    return 0 if listed.schedules else 1


monitor_nights.add_commands(app)
