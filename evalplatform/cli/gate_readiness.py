"""`evalplatform gate readiness`: what the gate of a branch can catch as things stand."""

from pathlib import Path
from typing import Annotated

import typer

from evalplatform.cli.project import ProjectOption


def add_commands(app: typer.Typer) -> None:
    """Add the command to the group."""
    app.command("readiness")(readiness)


def readiness(
    branch: Annotated[str, typer.Option(help="The branch whose remembered gates hold the history.")] = "main",
    out_md: Annotated[Path | None, typer.Option(help="Markdown report.")] = None,
    out_html: Annotated[Path | None, typer.Option(help="HTML report.")] = None,
    out_json: Annotated[Path | None, typer.Option(help="The result as JSON.")] = None,
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Show what the gate can catch: on how many scenarios the target drop is caught, for how many runs, and what other targets would take.

    Every figure comes from the history, threshold and plan that a gate uses. Exit code 2 where it could not be computed; no figure is shown
    then.
    """
    from evalplatform.cli.branch_names import checked_branch
    from evalplatform.cli.console import required_project, say
    from evalplatform.cli.files import check_outputs, write_if_changed
    from evalplatform.cli.results import table_lines
    from evalplatform.kernel.errors import InputError, StorageError
    from evalplatform.reports.page import page_html, page_markdown
    from evalplatform.reports.readiness_report import readiness_json, readiness_page
    from evalplatform.stages.gate_readiness import read_readiness
    from evalplatform.wiring import OpenedProject

    checked_branch(branch, "--branch")
    check_outputs([("--out-md", out_md), ("--out-html", out_html), ("--out-json", out_json)], inputs=[])
    with OpenedProject(required_project(project)) as opened:
        try:
            found = read_readiness(opened.runs_context(), opened.label_store, branch=branch)
        except (InputError, StorageError) as error:
            say(f"error: readiness could not be computed: {error}")
            return 2
    page = readiness_page(found.readiness, found.standing, branch)
    data = readiness_json(found.readiness, found.standing, branch)
    for path, content in ((out_md, page_markdown(page).encode()), (out_html, page_html(page).encode()), (out_json, data)):
        if path is not None:
            write_if_changed(path, content)
            say(f"wrote {path}")
    if json_result:
        typer.echo(data.decode(), nl=False)
        return 0
    typer.echo(page.subtitle)
    for fact in (*page.headline_facts, *page.facts):
        typer.echo(f"{fact.label}: {fact.value}")
    for section in page.sections:
        typer.echo()
        typer.echo(f"{section.title}:")
        for line in table_lines(section.table):
            typer.echo(line)
    typer.echo()
    for notice in page.notices:
        typer.echo(notice.text)
    return 0
