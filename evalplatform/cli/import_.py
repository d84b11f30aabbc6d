"""`evalplatform import`: recorded traces of agents become a bundle."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.kernel.errors import InputError

if TYPE_CHECKING:
    from evalplatform.ports.clock import Clock
    from evalplatform.project.load import Project
    from evalplatform.runs.gate_policy import HeldPolicy
    from evalplatform.runs.records import CiEvent
    from evalplatform.stages.import_runs import ImportedTraces

BUNDLES_FOLDER = "bundles"


def add_commands(app: typer.Typer) -> None:
    """Add the command of this file to the root command."""
    app.command("import")(import_)


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Trace files: chat messages, OpenTelemetry spans, Inspect logs.")],
    format_name: Annotated[str | None, typer.Option("--format", show_default="found out", help="The files' format.")] = None,
    trial: Annotated[list[int] | None, typer.Option(min=0, help="Only runs of this trial; repeatable.", show_default="all")] = None,
    scenarios: Annotated[
        Path | None, typer.Option(help="A scenario file, whose assertions grade the runs in place of the traces' own verdicts.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Who acted.", show_default="as the traces say")] = None,
    model: Annotated[str | None, typer.Option(help="The agent's model.", show_default="as the traces say")] = None,
    commit: Annotated[str | None, typer.Option(help="The agent's commit.")] = None,
    branch: Annotated[
        str | None, typer.Option(help="The branch of that commit.", show_default="with --ci-event push: the CI build's")
    ] = None,
    ci_event: Annotated[str | None, typer.Option(metavar="push|pull_request", help="What the CI build was for.")] = None,
    recorded_at: Annotated[
        str | None, typer.Option(help="When the runs were recorded, ISO 8601.", show_default="the latest time in the traces, else now")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The bundle to write.", show_default=".evalplatform/bundles/")] = None,
    project_id: Annotated[str | None, typer.Option(help="The batch's project, where there is no project file.")] = None,
    project: Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")] = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Import recorded runs as a batch, all of them or none; `evalplatform push` stores the bundle that this writes.

    Importing the same files in the same way again gives the same batch.
    """
    import os

    from evalplatform.adapters.clock import SystemClock
    from evalplatform.adapters.run_origin import pushed_branch
    from evalplatform.cli.console import found_project, no_project
    from evalplatform.project.scenario_file import load_scenario_set
    from evalplatform.stages.import_runs import TraceImport, import_traces

    opened = found_project(project)
    if opened is None and (out is None or project_id is None):
        raise InputError(f"{no_project()} Without one, name --out and --project-id.")
    if opened is not None and project_id is not None:
        raise InputError(f"is the project file's to say: it is {opened.settings.project!r}.", file=opened.file, field="--project-id")
    event = _checked_event(ci_event)
    wanted = TraceImport(
        files=tuple(files),
        project=opened.settings.project if opened is not None else str(project_id),
        tenant=opened.settings.tenant if opened is not None else "default",
        format_name=format_name,
        trials=frozenset(trial or ()),
        scenario_set=None if scenarios is None else load_scenario_set(scenarios, project=opened),
        agent=_checked_name(agent, "--agent"),
        model=_checked_name(model, "--model"),
        commit=_checked_name(commit, "--commit"),
        branch=_checked_name(branch, "--branch") or (pushed_branch(os.environ) if event == "push" else None),
        ci_event=event,
        recorded_at=_checked_time(recorded_at),
        held_policy=None if opened is None else _held_policy(opened),
    )
    folder = Path() if opened is None else opened.state_folder / BUNDLES_FOLDER
    clock = SystemClock()
    done = import_traces(wanted, folder=folder, out=out, now=clock.now(), on_run=_said_now_and_then(clock))
    typer.echo(done.model_dump_json(indent=2) if json_result else "\n".join(_lines(done)))
    return 0


def _held_policy(project: "Project") -> "HeldPolicy | None":
    """Return the gate policy that the platform holds; that it cannot be read stops no import, which needs no database, and is said."""
    from evalplatform.adapters.gates.open import held_policy
    from evalplatform.cli.console import say
    from evalplatform.kernel.errors import StorageError
    from evalplatform.wiring import OpenedProject

    settings = project.settings
    try:
        return held_policy(OpenedProject(project).database_url, project=settings.project, tenant=settings.tenant)
    except StorageError as error:
        say(f"note: the gate policy that the platform may hold could not be read, so the batch records none: {error}")
        return None


def _said_now_and_then(clock: "Clock") -> Callable[[str], None]:
    """Return what counts runs and says every few seconds how many were read or written."""
    from evalplatform.cli.console import LOG_EVERY_SECONDS, say
    from evalplatform.kernel.text import plural

    counts: Counter[str] = Counter()
    due = clock.monotonic_seconds() + LOG_EVERY_SECONDS

    def count(what: str) -> None:
        nonlocal due
        counts[what] += 1
        if clock.monotonic_seconds() >= due:
            due = clock.monotonic_seconds() + LOG_EVERY_SECONDS
            say(f"{plural(counts[what], 'run')} {what}")

    return count


def _lines(done: "ImportedTraces") -> list[str]:
    from evalplatform.cli.results import MAX_SHOWN
    from evalplatform.kernel.text import plural
    from evalplatform.reports.visible import one_line
    from evalplatform.runs.traces.problems import PROBLEM_WORDS

    outcomes = ", ".join(f"{count:,} {outcome.replace('_', ' ')}" for outcome, count in done.outcomes.items())
    lines = [f"{plural(done.batch.run_count, 'run')} of {plural(done.scenarios, 'scenario')}: {outcomes}"]
    if done.scenarios_without_runs:
        lines.append(f"{plural(done.scenarios_without_runs, 'scenario')} of the scenario file without a run")
    if done.left_out_runs:
        lines.append(f"{plural(done.left_out_runs, 'run')} of other trials left out")
    if done.derived_ids:
        lines.append(f"{plural(done.derived_ids, 'run')} named no scenario: the file's name and the place in it are its id")
    if len(done.models) > 1:
        lines.append(f"the traces name {plural(len(done.models), 'model')}, so the batch names none: {', '.join(done.models)}")
    if done.problems:
        lines.append(f"imported with problems, in {plural(done.problem_runs, 'run')}:")
        lines += [f"  {count:,} x {PROBLEM_WORDS[kind]} ({kind})" for kind, count in done.problems.items()]
        lines += [f"    {named}" for named in done.named_problems[:MAX_SHOWN]]
        rest = sum(done.problems.values()) - min(len(done.named_problems), MAX_SHOWN)
        lines += [f"    and {rest:,} more"] if rest else []
    there = " (there already)" if done.already_there else ""
    lines.append(f"bundle {done.bundle}{there}, batch {done.batch.id}")
    return [" " * (len(line) - len(line.lstrip())) + one_line(line) for line in lines]


def _checked_name(name: str | None, field: str) -> str | None:
    if name is not None and (not name.strip() or not name.isprintable()):
        raise InputError("must be a name of one line.", field=field)
    return name


def _checked_event(name: str | None) -> "CiEvent | None":
    from typing import get_args

    from evalplatform.kernel.errors import UnknownNameError
    from evalplatform.runs.records import CiEvent

    events: dict[str, CiEvent] = {event: event for event in get_args(CiEvent)}
    if name is not None and name not in events:
        raise UnknownNameError("CI event", name, events, field="--ci-event")
    return None if name is None else events[name]


def _checked_time(text: str | None) -> datetime | None:
    from evalplatform.runs.traces.record_fields import checked_time

    return None if text is None else checked_time(text, field="--recorded-at")
