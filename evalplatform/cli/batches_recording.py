"""`evalplatform batches recording`: a run's trajectory as a file that a scenario can name as its recording."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.cli.project import ProjectOption

if TYPE_CHECKING:
    from evalplatform.ports.batches import BatchStore
    from evalplatform.runs.records import Run
    from evalplatform.stages.batch_sides import BatchSide


def add_commands(app: typer.Typer) -> None:
    """Add the command to a group."""
    app.command("recording")(recording)


def recording(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="The scenario's id.")],
    out: Annotated[Path, typer.Option(help="The file that is written.")],
    batch: Annotated[
        str | None,
        typer.Option(show_default="the newest that is stored", help="A batch id, or its last digits; or the file of a bundle."),
    ] = None,
    run: Annotated[str | None, typer.Option(show_default="the newest that passed", help="The run's id, as `run --json` prints it.")] = None,
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Write a passing run's trajectory to a file, for `recording:` of its scenario: what the sentinel compares live runs with."""
    from evalplatform.cli.console import say
    from evalplatform.cli.files import check_outputs, write_if_changed
    from evalplatform.kernel.errors import InputError
    from evalplatform.runs.trajectory import trajectory_bytes

    check_outputs([("--out", out)])
    with _opened_side(batch, project) as side:
        batch_id, chosen = side.batch.id, _chosen(side, scenario, run)
        digests = [] if chosen.trajectory_digest is None else [chosen.trajectory_digest]
        with side.open_trajectories(digests) as read:
            trajectory = read(digests[0]) if digests else None
    if trajectory is None:
        raise InputError(f"the trajectory of the run {chosen.id} is no longer kept.")
    write_if_changed(out, trajectory_bytes(trajectory))
    if json_result:
        typer.echo(json.dumps({"scenario": scenario, "batch": batch_id, "run": chosen.id, "file": str(out)}, indent=2))
    say(f"the run {chosen.id} of {scenario} is in {out}")
    return 0


@contextmanager
def _opened_side(batch: str | None, project: Path | None) -> Iterator["BatchSide"]:
    from evalplatform.cli.console import required_project
    from evalplatform.stages.batch_sides import bundle_side, is_bundle_path, matching_id, stored_side
    from evalplatform.wiring import OpenedProject

    if batch is not None and is_bundle_path(batch):
        yield bundle_side(Path(batch))
        return
    with OpenedProject(required_project(project)) as opened:
        name = _newest(opened.batch_store) if batch is None else matching_id(batch, opened.batch_store.ids())
        yield stored_side(name, batches=opened.batch_store, objects=opened.store)


def _newest(batches: "BatchStore") -> str:
    """Return the id of the newest batch that has runs to record, legs of nights aside."""
    from evalplatform.kernel.errors import InputError

    newest = next((batch for batch in batches.batches() if batch.retention != "expired" and not batch.is_leg), None)
    if newest is None:
        raise InputError("there is no batch: `evalplatform push` stores one, and --batch takes the file of a bundle.", field="--batch")
    return newest.id


def _chosen(side: "BatchSide", scenario: str, run_id: str | None) -> "Run":
    """Return the run that is asked for, or the newest that passed; what did not pass is no recording to hold an agent to."""
    from evalplatform.kernel.errors import InputError, UnknownNameError

    if side.batch.retention == "expired":
        raise InputError(f"{side.batch.id} has expired: its runs are no longer kept.", field="--batch")
    runs = list(side.runs.runs())
    of_scenario = [run for run in runs if run.scenario_id == scenario]
    if not of_scenario:
        raise UnknownNameError(f"scenario of {side.batch.id}", scenario, {run.scenario_id for run in runs}, field="SCENARIO")
    named = [run for run in of_scenario if run_id in (None, run.id)]
    if not named:
        raise UnknownNameError(f"run of {scenario}", run_id or "", [run.id for run in of_scenario], field="--run")
    passing = [run for run in named if run.verdict == "passed"]
    if not passing:
        kept = "" if side.batch.retention == "whole" else f" among those that are kept of it, being {side.batch.retention}"
        said = f"{side.batch.id} has no run of {scenario} that passed{kept}" if run_id is None else f"{run_id} did not pass"
        raise InputError(f"{said}, and a recording is what the agent is held to.", field="--batch" if run_id is None else "--run")
    return passing[-1]
