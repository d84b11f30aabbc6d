"""`evalplatform push`: a recorded bundle goes into the batch store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.cli.project import ProjectOption

if TYPE_CHECKING:
    from evalplatform.ports.batches import AddedBatch
    from evalplatform.project.load import Project


def add_commands(app: typer.Typer) -> None:
    """Add the command to the root command."""
    app.command("push")(push)


def push(
    bundle: Annotated[
        Path | None,
        typer.Argument(metavar="[BUNDLE]", help="The file that `run` or `import` wrote.", show_default="the newest one"),
    ] = None,
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Store a recorded batch with its runs and trajectories; pushing the same content again changes nothing."""
    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.cli.system_user import system_user
    from evalplatform.stages.newest_bundle import newest_finished_bundle
    from evalplatform.stages.open_bundles import FOLDER
    from evalplatform.stages.push import push_bundle
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        settings = opened.project.settings
        added = push_bundle(
            bundle or newest_finished_bundle(opened.project.state_folder / FOLDER),
            project=settings.project,
            tenant=settings.tenant,
            batches=opened.batch_store,
            store=opened.store,
            actor=system_user(),
            now=opened.clock.now(),
        )
        link = batch_link(opened.project, added.batch.id)
    if json_result:
        from evalplatform.reports.batch_overview import batch_json

        result = {"batch": batch_json(added.batch), "already_there": added.already_there, "link": link}
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo(push_sentence(added))
        if link is not None:
            typer.echo(link)
    return 0


def push_sentence(added: "AddedBatch") -> str:
    """Return what a push came to: the batch, its counts, and whether it was there already."""
    from evalplatform.kernel.text import plural
    from evalplatform.reports.batch_comparison_words import shortfall_words

    batch = added.batch
    state = "there already, nothing changed" if added.already_there else "stored"
    counts = f"{plural(batch.run_count, 'run')}, {batch.passed_runs:,} passed of {batch.graded_runs:,} graded"
    return "; ".join([f"{batch.id}: {state}; {counts}", *shortfall_words(batch)])


def batch_link(project: "Project", batch_id: str) -> str | None:
    """Return the batch's address in the web app; None where the deployment does not say where that is."""
    if "web_url" not in project.deployment.model_fields_set:
        return None
    return f"{project.deployment.web_url.rstrip('/')}/projects/{project.settings.project}#batch-{batch_id}"
