"""`evalplatform batches`: the recorded batches of the project, and what they say together."""

from typing import Annotated

import typer

from evalplatform.cli import batches_recording, batches_retain
from evalplatform.cli.project import ProjectOption

app = typer.Typer(help="Recorded batches of runs: list them, look at one, find unstable ones, take old runs out.", no_args_is_help=True)

NO_BATCH = "no batch is stored; `evalplatform push BUNDLE` stores one."
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command("list")
def list_batches(
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest ones.")] = 50,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """List the stored batches, newest first: commit, branch, time, runs, how many passed. Exit code 1 when there is none.

    A batch that was gone on with and stored again names the one that stands for it: comparisons and counts take only that one.
    """
    import orjson

    from evalplatform.cli.console import required_project, say
    from evalplatform.reports.batch_overview import batch_json, batch_list_lines
    from evalplatform.runs.recordings import continued_as
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        # Asked first: opening the store would make a database, also where nothing may be written.
        found = list(opened.batch_store.batches(limit=limit + 1)) if opened.holds_batches() else []
        shown = found[:limit]
        since = shown[-1].header.recorded_at if shown else None  # a batch beyond the limit may stand for the last one shown
        continued = continued_as(opened.batch_store.batches(since=since)) if shown else {}
    if json_result:
        result = [batch_json(batch) | {"continued_as": continued.get(batch.id)} for batch in shown]
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in batch_list_lines(shown, continued):
            typer.echo(line)
    if len(found) > limit:
        say(f"there are older ones: --limit shows more than {limit:,}.")
    if not found:
        say(NO_BATCH)
    return 0 if found else 1


@app.command("show")
def show(
    batch_id: Annotated[str, typer.Argument(metavar="BATCH", help="The batch's id, or its last digits.")],
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Show one batch: what it was recorded with, how far it was scanned, and how many runs of each scenario passed."""
    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
    from evalplatform.comparisons.batches.scenario_runs import runs_by_scenario
    from evalplatform.kernel.errors import InputError
    from evalplatform.reports.batch_overview import batch_json, batch_lines
    from evalplatform.stages.batch_sides import matching_id
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        if not opened.holds_batches():
            raise InputError(NO_BATCH)
        store = opened.batch_store
        batch = store.batch(matching_id(batch_id, store.ids()))
        scenarios = list(runs_by_scenario(BatchRuns(batch, lambda: store.runs(batch.id))))
    if json_result:
        result = batch_json(batch) | {"scenarios": [scenario.model_dump(mode="json") for scenario in scenarios]}
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in batch_lines(batch, scenarios):
            typer.echo(line)
    return 0


@app.command("unstable")
def unstable(project: ProjectOption = None, json_result: JsonOption = False) -> int:
    """Show the scenarios that came out differently in separate batches of one commit, over the last 30 days. It decides nothing.

    Exit code 0 whether there are any or not, and 2 when nothing ran twice on one commit, so that there is not enough evidence.
    """
    from evalplatform.cli.console import required_project
    from evalplatform.reports.unstable_report import unstable_json, unstable_lines
    from evalplatform.stages.unstable_scenarios import read_instability
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        reading = read_instability(opened.runs_context())
    if json_result:
        typer.echo(unstable_json(reading).decode())
    else:
        for line in unstable_lines(reading):
            typer.echo(line)
    return 0 if reading.has_evidence else 2


batches_recording.add_commands(app)
batches_retain.add_commands(app)
