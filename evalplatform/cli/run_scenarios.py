"""`evalplatform run`: run the scenarios of the project, and record a batch."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.cli.project import ProjectOption

if TYPE_CHECKING:
    from evalplatform.project.load import Project
    from evalplatform.project.scenario_set import ScenarioSet
    from evalplatform.stages.run_batch import BatchRequest, BegunBatch, RanBatch

DONE, NOT_ANSWERED = 0, 2


def add_commands(app: typer.Typer) -> None:
    """Add the command to the root command."""
    app.command("run")(run)


def run(
    runs: Annotated[
        int | None, typer.Option(min=1, max=50, show_default="gate.runs of the file, else 1", help="How often each live scenario runs.")
    ] = None,
    baseline_branch: Annotated[
        str | None, typer.Option(help="Run each live scenario as often as its history on this branch and the gate policy ask for.")
    ] = None,
    scenario: Annotated[list[str] | None, typer.Option(show_default="all", help="Only this scenario; repeat it.")] = None,
    max_cost_usd: Annotated[
        float | None, typer.Option(min=0, help="Start no run that could pass this; the first runs alone, its cost being unknown.")
    ] = None,
    commit: Annotated[str | None, typer.Option(show_default="the CI's, else the checkout's", help="The commit that is evaluated.")] = None,
    branch: Annotated[str | None, typer.Option(show_default="of a push build in CI", help="The branch that is evaluated.")] = None,
    out: Annotated[Path | None, typer.Option(show_default="in .evalplatform/bundles", help="The bundle's file.")] = None,
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Run the project's scenarios, grade every run, and record them as a bundle; `evalplatform push` stores it as a batch.

    A run is kept the moment it ends. Where a commit is recorded, the same command goes on with a bundle that was interrupted;
    `--out BUNDLE` goes on with any that lacks runs. Exit code 2 when the batch was cut short, or no run could be graded.
    """
    import os
    from functools import partial

    from evalplatform.adapters.run_origin import moved_since, run_origin
    from evalplatform.cli.console import required_project, say
    from evalplatform.cli.files import check_places
    from evalplatform.stages.open_bundles import FOLDER
    from evalplatform.stages.run_batch import BatchRequest

    opened_project = required_project(project)
    scenario_set = project_scenarios(opened_project)
    check_places([("--out", out)], inputs=[path for path in (opened_project.file, scenario_set.file) if path is not None])
    planned_runs = _planned_runs(opened_project, scenario_set, baseline_branch, runs=runs, only=scenario or ())
    origin = run_origin(opened_project.root, environ=os.environ, commit=commit, branch=branch)
    if origin.note is not None:
        say(f"note: {origin.note}")
    request = BatchRequest(
        scenario_set=scenario_set,
        bundles_folder=opened_project.state_folder / FOLDER,
        only=tuple(scenario or ()),
        runs=runs,
        planned_runs=planned_runs,
        max_cost_usd=max_cost_usd,
        commit=origin.commit,
        branch=origin.branch,
        ci_event=origin.ci_event,
        flaw_at_end=partial(moved_since, origin, opened_project.root),
        out=out,
    )
    done = _recorded(request, opened_project)
    _print(done, as_json=json_result)
    return DONE if done.recorded.truncated_reason is None and done.bundle.batch.graded_runs else NOT_ANSWERED


def _planned_runs(
    project: "Project", scenario_set: "ScenarioSet", branch: str | None, *, runs: int | None, only: Sequence[str]
) -> dict[str, int] | None:
    """Return the run plan of the scenarios that are run, by a branch's history and the scenario file's policy, and say it.

    None where none is asked for, or the history cannot be read, which is said.
    """
    from evalplatform.cli.branch_names import checked_branch
    from evalplatform.cli.console import say
    from evalplatform.gates.gate_plan import plan_gate
    from evalplatform.kernel.errors import InputError, StorageError
    from evalplatform.reports.gate_plan_words import plan_notes, plan_sentence, unavailable_sentence
    from evalplatform.stages.gate_history import read_history
    from evalplatform.stages.gate_plan import plan_scenarios
    from evalplatform.wiring import OpenedProject

    if branch is None:
        return None
    if runs is not None:
        raise InputError("asks for a run plan, and --runs for a number of runs: leave one out.", field="--baseline-branch")
    if scenario_set.policy is None:
        raise InputError(
            "asks for a run plan, and the scenario file has no gate policy to plan by: add a `gate:` block.", field="--baseline-branch"
        )
    checked_branch(branch, "--baseline-branch")
    wanted = {scenario_set.scenario(scenario_id).id for scenario_id in only}
    tiers = {name: tier for name, tier in scenario_set.live_tiers.items() if not wanted or name in wanted}
    try:
        with OpenedProject(project) as opened:
            history = read_history(opened.runs_context(), branch=branch, candidate=None, scenario_ids=tuple(tiers))
    except (StorageError, InputError) as error:  # an InputError: what is stored is damaged
        say(unavailable_sentence(scenario_set.default_runs, str(error)))
        return None
    plan = plan_gate(plan_scenarios(history, tiers), scenario_set.policy)
    say(plan_sentence(plan, branch))
    for note in plan_notes(plan):
        say(note)
    return plan.runs_by_scenario


def project_scenarios(project: "Project") -> "ScenarioSet":
    """Return the scenario set of a project, or raise ProjectFileError where it names none."""
    from evalplatform.kernel.errors import ProjectFileError
    from evalplatform.project.scenario_file import load_scenario_set

    if project.scenario_file is None:
        raise ProjectFileError(
            "names the scenario file, and is missing: the project has no scenarios to run.", file=project.file, field="scenarios"
        )
    return load_scenario_set(project.scenario_file, project=project)


def _recorded(request: "BatchRequest", project: "Project") -> "RanBatch":
    """Run the batch; what stops it is said with what goes on with it, where the same command does not."""
    import asyncio

    from evalplatform.cli.console import say, shown_progress
    from evalplatform.kernel.errors import InterruptedRecordingError, StorageError, StorageUnavailableError
    from evalplatform.stages.run_batch import run_batch
    from evalplatform.wiring import OpenedProject

    begun: list[BegunBatch] = []

    def on_begun(batch: "BegunBatch") -> None:
        begun.append(batch)
        for line in _begun_lines(batch):
            say(line)

    try:
        with OpenedProject(project) as opened, shown_progress() as on_progress:
            return asyncio.run(run_batch(request, opened, on_progress=on_progress, on_begun=on_begun))
    except (KeyboardInterrupt, StorageUnavailableError) as stop:
        if not begun or begun[0].goes_on_by_itself:
            raise
        kept = f"what is finished is kept; {_going_on(begun[0].path)}."
        if isinstance(stop, KeyboardInterrupt):
            raise InterruptedRecordingError(kept) from None
        raise StorageError(f"{stop} Once that is mended: {kept}") from stop


def _begun_lines(batch: "BegunBatch") -> Iterator[str]:
    from evalplatform.kernel.text import plural

    if batch.left_open is not None:
        yield f"note: {batch.left_open} is unfinished, and left as it is: without a commit, the agent may have been edited since."
        yield f"note: {_going_on(batch.left_open)}."
    if not batch.kept and not batch.made_again:
        yield f"recording into {batch.path}"
    else:
        again = f"; {plural(batch.made_again, 'run')} that could not run will be made again" if batch.made_again else ""
        yield f"going on with {batch.path}: {plural(batch.kept, 'run')} there already{again}"
    if not batch.goes_on_by_itself:
        yield f"should it be stopped: {_going_on(batch.path)}."


def _going_on(path: Path) -> str:
    return f"the same command with `--out {path}` goes on with it"


def _print(done: "RanBatch", *, as_json: bool) -> None:
    import orjson

    from evalplatform.cli.console import say
    from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
    from evalplatform.comparisons.batches.scenario_runs import runs_by_scenario
    from evalplatform.reports.batch_overview import batch_json, batch_lines
    from evalplatform.reports.run_lines import run_failure_lines

    batch = done.bundle.batch
    if as_json:
        result = {
            "batch": batch_json(batch),
            "bundle": str(done.path),
            "made_runs": done.recorded.made,
            "kept_runs": done.recorded.kept,
            "runs": [{"id": run.id, **run.model_dump(mode="json")} for run in done.bundle.runs],
        }
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        for line in (
            *batch_lines(batch, runs_by_scenario(BatchRuns(batch, lambda: iter(done.bundle.runs)))),
            *run_failure_lines(done.bundle.runs),
        ):
            typer.echo(line)
    if done.recorded.truncated_reason is not None:
        say(f"error: the batch is truncated: {done.recorded.truncated_reason}")
        if not done.bundle.is_whole:
            say(f"`--out {done.path}` goes on with it.")
    elif not batch.graded_runs:
        say("error: no run could be graded; the reasons stand above.")
    if done.recorded.truncated_reason is None and done.bundle.could_not_run:
        say(f"`--out {done.path}` makes the runs again that could not run.")
    say(f"`evalplatform push {done.path}` stores the batch.")
