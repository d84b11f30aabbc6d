"""`evalplatform sentinel`: one night of the scenario file, recordings beside live runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.cli.project import ProjectOption

if TYPE_CHECKING:
    from evalplatform.runs.night import Night
    from evalplatform.stages.monitoring_context import MonitoringContext
    from evalplatform.stages.sentinel import SentinelRequest

CLEAN, DRIFT, FAILED = 0, 1, 2


def add_commands(app: typer.Typer) -> None:
    """Add the command to the root command."""
    app.command("sentinel")(sentinel)


def sentinel(
    runs: Annotated[
        int | None,
        typer.Option(min=1, max=50, show_default="sentinel.runs of the project, else 1", help="Live runs of each scenario."),
    ] = None,
    reference_fail_rate: Annotated[
        str | None,
        typer.Option(show_default="of the project file, else 10%", help="How often a run fails while nothing has changed, such as 10%."),
    ] = None,
    scenario: Annotated[list[str] | None, typer.Option(show_default="all", help="Only this scenario; repeat it.")] = None,
    max_cost_usd: Annotated[float | None, typer.Option(min=0, help="Start no live run that could pass this.")] = None,
    commit: Annotated[str | None, typer.Option(show_default="the CI's, else the checkout's", help="The commit that is checked.")] = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the night as JSON.")] = False,
    project: ProjectOption = None,
) -> int:
    """Check whether the agent still does what its recordings did, and store the night with both its legs.

    Every recording is replayed once; then every watched scenario runs live. A scenario drifts where more of its live runs fail, or take
    another tool path, than one that fails at the reference rate does on 19 of 20 nights. Exit code 0 without drift, 1 with drift, 2 when
    the check failed. A night that was interrupted is gone on with by the same command.
    """
    import asyncio
    import os
    from dataclasses import replace

    from evalplatform.adapters.run_origin import run_origin
    from evalplatform.cli.console import required_project, say, shown_progress
    from evalplatform.cli.run_scenarios import project_scenarios
    from evalplatform.stages.sentinel import SentinelRequest, free_slot, run_sentinel
    from evalplatform.wiring import OpenedProject

    opened_project = required_project(project)
    settings = opened_project.settings.sentinel
    rate = settings.reference_fail_rate if reference_fail_rate is None else _rate(reference_fail_rate)
    scenario_set = project_scenarios(opened_project)
    origin = run_origin(opened_project.root, environ=os.environ, commit=commit, branch=None)
    if origin.note is not None:
        say(f"note: {origin.note}")
    with OpenedProject(opened_project) as opened, shown_progress() as on_progress:
        context = opened.monitoring_context()
        request = SentinelRequest(
            scenario_set=scenario_set,
            slot=free_slot(context, opened.clock.now(), settings.timezone),
            runs=runs or settings.runs,
            fail_rate=rate,
            max_cost_usd=settings.max_cost_usd if max_cost_usd is None else max_cost_usd,
            only=tuple(scenario or ()),
            commit=origin.commit,
            goes_on=False,
        )
        night = asyncio.run(run_sentinel(context, _resumed(context, request), on_progress=on_progress))
        while night.state == "pending":  # another process took the same second
            another = replace(request, slot=free_slot(context, opened.clock.now(), settings.timezone))
            night = asyncio.run(run_sentinel(context, another, on_progress=on_progress))
    return _printed(night, as_json=json_result)


def _resumed(context: "MonitoringContext", request: "SentinelRequest") -> "SentinelRequest":
    """Return the request for the night that was interrupted, where there is one that it goes on with."""
    from dataclasses import replace

    from evalplatform.cli.console import say
    from evalplatform.stages.sentinel import resumable_slot

    slot = resumable_slot(context, request)
    if slot is None:
        return request
    say(f"going on with the night of {slot.at:%Y-%m-%d %H:%M} UTC, which was interrupted")
    return replace(request, slot=slot, goes_on=True)


def _rate(text: str) -> float:
    """Return a rate that is written as a percentage or a fraction of one; InputError where it is none between 0 and 1."""
    from evalplatform.kernel.errors import InputError

    try:
        rate = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1:
        raise InputError(f"must be a rate above 0 and below 1, such as 10% or 0.1 (got {text!r}).", field="--reference-fail-rate")
    return rate


def _printed(night: "Night", *, as_json: bool) -> int:
    import orjson

    from evalplatform.reports.sentinel_words import night_json, sentinel_lines

    if as_json:
        typer.echo(orjson.dumps(night_json(night), option=orjson.OPT_INDENT_2).decode())
    else:
        for line in sentinel_lines(night):
            typer.echo(line)
    return {"checked_clean": CLEAN, "checked_flagged": DRIFT}.get(night.state, FAILED)
