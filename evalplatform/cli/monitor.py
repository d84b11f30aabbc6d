"""`evalplatform monitor`: schedules of agents that are checked at their own endpoints."""

from typing import Annotated

import typer

from evalplatform.cli import monitor_nights, monitor_save
from evalplatform.cli.project import ProjectOption

app = typer.Typer(help="Check agents on a schedule, at their own endpoints, against runs that passed.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.")]
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


@app.command("scenarios")
def scenarios(
    newest: Annotated[int, typer.Option(min=1, max=50, help="At most so many runs of each scenario, the newest ones.")] = 3,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Show which scenarios can be monitored, with the passing runs that `--pin` takes, and why the others cannot.

    Exit code 1 when none can.
    """
    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.reports.schedule_words import offered_lines
    from evalplatform.stages.monitored_scenarios import monitorable_scenarios
    from evalplatform.stages.scenario_sets import current_scenarios
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        context = opened.runs_context()
        found = monitorable_scenarios(context, current_scenarios(context), newest=newest)
    if json_result:
        typer.echo(orjson.dumps([scenario.model_dump(mode="json") for scenario in found], option=orjson.OPT_INDENT_2).decode())
    else:
        for line in offered_lines(found):
            typer.echo(line)
    return 0 if any(scenario.reason is None for scenario in found) else 1


@app.command("pause")
def pause(name: NameArgument, project: ProjectOption = None, json_result: JsonOption = False) -> int:
    """Pause a schedule: no check is due, and it uses none of the allowance."""
    from evalplatform.cli.console import required_project
    from evalplatform.cli.monitor_save import print_schedule
    from evalplatform.cli.system_user import system_user
    from evalplatform.stages.schedules import listed_schedule, pause_schedule
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        context = opened.monitoring_context()
        listed = listed_schedule(context, pause_schedule(context, name, actor=system_user()))
    print_schedule(listed, as_json=json_result)
    return 0


@app.command("resume")
def resume(name: NameArgument, project: ProjectOption = None, json_result: JsonOption = False) -> int:
    """Switch a paused schedule on again, after a test call; slots of the pause are not due."""
    import asyncio

    from evalplatform.cli.console import required_project
    from evalplatform.cli.monitor_save import print_schedule
    from evalplatform.cli.system_user import system_user
    from evalplatform.stages.schedules import listed_schedule, resume_schedule
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        context = opened.monitoring_context()
        saved = asyncio.run(resume_schedule(context, name, actor=system_user()))
        listed = listed_schedule(context, saved.schedule)
    print_schedule(listed, answer=saved.answer, as_json=json_result)
    return 0


@app.command("remove")
def remove(name: NameArgument, project: ProjectOption = None, json_result: JsonOption = False) -> int:
    """Remove a schedule with its stored Authorization value. Its nights stay, and its pinned runs are kept no longer than any other."""
    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.cli.system_user import system_user
    from evalplatform.reports.schedule_words import schedule_json
    from evalplatform.stages.schedules import remove_schedule
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        removed = remove_schedule(opened.monitoring_context(), name, actor=system_user())
    if json_result:
        typer.echo(orjson.dumps({"removed": schedule_json(removed)}, option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo(f"removed {removed.id}; its nights are kept.")
    return 0


monitor_save.add_commands(app)
monitor_nights.add_commands(app)
