"""`evalplatform monitor nights`, `trend` and `recompute`: what was checked, what many nights say together, what a night's batches say."""

from typing import Annotated

import typer

from evalplatform.cli.project import ProjectOption

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands to a group."""
    app.command("nights")(nights)
    app.command("trend")(trend)
    app.command("recompute")(recompute)


def nights(
    stream: Annotated[str | None, typer.Argument(metavar="[STREAM]", help="A schedule's name, or `sentinel`; all where left out.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest ones.")] = 30,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """List the recorded nights, newest first: slot, state, alert and its delivery, cost. Nights of a removed schedule stay.

    Exit code 1 when there is none; 2 when there is no such stream.
    """
    import orjson

    from evalplatform.cli.console import required_project, say
    from evalplatform.reports.drift_history_report import night_rows
    from evalplatform.reports.sentinel_words import night_json
    from evalplatform.stages.drift_history import recent_nights
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        found = recent_nights(opened.monitoring_store, stream=stream, limit=limit + 1)
    shown = found[:limit]
    if json_result:
        typer.echo(orjson.dumps([night_json(night) for night in shown], option=orjson.OPT_INDENT_2).decode())
    elif shown:
        rows = list(night_rows(shown))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if len(found) > limit:
        say(f"there are older ones: --limit shows more than {limit:,}.")
    if not found:
        say("no night is recorded.")
    return 0 if found else 1


def trend(project: ProjectOption = None, json_result: JsonOption = False) -> int:
    """Show what the nights of the last 90 days say together: each scenario's trend, what stands, and alarms beside what was promised.

    Exit code 1 when there is no night.
    """
    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.reports.drift_history_report import history_json, history_lines
    from evalplatform.stages.drift_history import read_drift_history
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        history, standings = read_drift_history(opened.monitoring_context())
    if json_result:
        typer.echo(orjson.dumps(history_json(history, standings), option=orjson.OPT_INDENT_2).decode())
    else:
        for line in history_lines(history, standings):
            typer.echo(line)
    return 0 if history.night_count else 1


def recompute(
    night: Annotated[str, typer.Argument(metavar="NIGHT", help="The night's key, as `monitor nights --json` and a night's report say it.")],
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Compute again what a night saw, from the stored batches of its two legs, and say whether that is what is stored. Asks no agent.

    Exit code 1 when something differs; 2 when it cannot be computed: no such night, it saw nothing, or a batch is whole no more.
    """
    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.reports.recomputed_words import recomputed_json, recomputed_lines
    from evalplatform.stages.recomputed_night import recomputed_night
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        found = recomputed_night(opened.monitoring_context(), night)
    told = (found.night, found.scenarios, found.differing)
    if json_result:
        typer.echo(orjson.dumps(recomputed_json(*told), option=orjson.OPT_INDENT_2).decode())
    else:
        for line in recomputed_lines(*told):
            typer.echo(line)
    return 1 if found.differing else 0
