"""`evalplatform batches retain`: old batches are compacted and expire, by the project file's `retention:` block."""

from typing import Annotated

import typer

from evalplatform.cli.project import ProjectOption


def add_commands(app: typer.Typer) -> None:
    """Add the command to the group."""
    app.command("retain")(retain)


def retain(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")] = False,
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Take runs out of old batches: first all but one a scenario, later all; and trajectories that no run names any more.

    Ages are those of `retention:` in the project file; without it nothing is done. What a remembered gate or a night of the last 90 days
    names stays as it is, and what a schedule pins is kept. It cannot be undone; it is in the audit log.
    """
    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.cli.system_user import system_user
    from evalplatform.reports.retention_words import retention_json, retention_lines
    from evalplatform.stages.retention import retain_runs
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        outcome = retain_runs(opened.runs_context(), opened.monitoring_store, actor=system_user(), dry_run=dry_run)
    if json_result:
        typer.echo(orjson.dumps(retention_json(outcome), option=orjson.OPT_INDENT_2).decode())
    else:
        for line in retention_lines(outcome):
            typer.echo(line)
    return 0
