"""`evalplatform monitor add` and `monitor test-call`: an agent is asked before it is watched."""

from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.cli.project import ProjectOption

if TYPE_CHECKING:
    from evalplatform.monitoring.overview import AgentAnswer, ListedSchedule

ANSWERS, ANSWERS_NOT = 0, 1
EndpointOption = Annotated[str | None, typer.Option(metavar="URL", help="Where the agent is asked; https, at a public address.")]
AuthOption = Annotated[str | None, typer.Option(metavar="VARIABLE", help="The variable that holds the whole Authorization value.")]
TimeoutOption = Annotated[int | None, typer.Option(metavar="SECONDS", show_default="60", help="How long one call may take.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands to the group."""
    app.command("add")(add)
    app.command("test-call")(try_endpoint)


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name; one that is there already is changed.")],
    endpoint: EndpointOption = None,
    auth_env: AuthOption = None,
    clear_auth: Annotated[bool, typer.Option("--clear-auth", help="Forget the stored Authorization value.")] = False,
    pin: Annotated[
        list[str] | None,
        typer.Option(metavar="SCENARIO=BATCH/RUN", help="Watch a scenario, held to this run (`monitor scenarios`). Repeat it."),
    ] = None,
    unpin: Annotated[list[str] | None, typer.Option(metavar="SCENARIO", help="Watch a scenario no more. Repeat it.")] = None,
    runs: Annotated[int | None, typer.Option(show_default="1", help="Live runs of each scenario a night, 1 to 4.")] = None,
    every: Annotated[str | None, typer.Option(metavar="SPAN", show_default="1d", help="Time between checks: 1h to 7d.")] = None,
    at: Annotated[str | None, typer.Option(metavar="HH:MM", show_default="now", help="Time of day that checks are counted from.")] = None,
    timezone: Annotated[str | None, typer.Option(show_default="sentinel.timezone of the project", help="The clock of --at.")] = None,
    timeout: TimeoutOption = None,
    recipient: Annotated[list[str] | None, typer.Option(metavar="ADDRESS", help="Who is mailed; all of them. Repeat it.")] = None,
    on: Annotated[bool | None, typer.Option("--on/--paused", show_default="on", help="Whether checks are due.")] = None,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Have an agent checked on a schedule, or change how. What is left out stays as it is stored.

    A schedule that is on is saved after one test call, and only where an agent answers; a paused one is saved without.
    """
    import asyncio

    from evalplatform.cli.console import required_project
    from evalplatform.cli.monitor_values import authorization_value, run_choices, span_seconds, time_of_day
    from evalplatform.cli.system_user import system_user
    from evalplatform.monitoring.schedule_rules import ScheduleRequest
    from evalplatform.stages.schedules import listed_schedule, save_schedule
    from evalplatform.wiring import OpenedProject

    request = ScheduleRequest(
        id=name,
        pins=run_choices(pin or ()),
        unpin=tuple(unpin or ()),
        runs=runs,
        cadence_seconds=None if every is None else span_seconds(every),
        at=None if at is None else time_of_day(at),
        timezone=timezone,
        endpoint_url=endpoint,
        timeout_seconds=timeout,
        authorization=authorization_value(auth_env, is_cleared=clear_auth),
        recipients=None if recipient is None else tuple(recipient),
        is_on=on,
    )
    with OpenedProject(required_project(project)) as opened:
        context = opened.monitoring_context()
        saved = asyncio.run(save_schedule(context, request, actor=system_user()))
        listed = listed_schedule(context, saved.schedule)
    print_schedule(listed, answer=saved.answer, as_json=json_result)
    return 0


def try_endpoint(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A schedule that is stored.")] = None,
    endpoint: EndpointOption = None,
    auth_env: AuthOption = None,
    timeout: TimeoutOption = None,
    scenario: Annotated[str | None, typer.Option(show_default="the first", help="The scenario that is asked.")] = None,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Ask an agent once, as a night does, and store nothing: a schedule's, or any with --endpoint.

    Exit code 0 when it answers as an agent, 1 when it does not, 2 when it could not be tried.
    """
    import asyncio

    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.cli.monitor_values import authorization_value
    from evalplatform.kernel.errors import EndpointRefusedError
    from evalplatform.reports.schedule_words import answer_sentence
    from evalplatform.stages.endpoint_trial import ANSWERED_CODES, TrialRequest, asked_once
    from evalplatform.wiring import OpenedProject

    authorization = authorization_value(auth_env, is_cleared=False)
    request = TrialRequest(name, endpoint, timeout_seconds=timeout, scenario_id=scenario, authorization=authorization)
    with OpenedProject(required_project(project)) as opened:
        try:
            answer = asyncio.run(asked_once(opened.monitoring_context(), request))
        except EndpointRefusedError as error:
            if error.code not in ANSWERED_CODES:
                raise
            refused = {"answers": False, "code": error.code, "problem": error.rule}
            typer.echo(orjson.dumps(refused).decode() if json_result else str(error))
            return ANSWERS_NOT
    typer.echo(orjson.dumps({"answers": True, **answer.model_dump()}).decode() if json_result else answer_sentence(answer))
    return ANSWERS


def print_schedule(listed: "ListedSchedule", *, answer: "AgentAnswer | None" = None, as_json: bool) -> None:
    """Print a schedule, and before it what a test call was answered."""
    import orjson

    from evalplatform.reports.schedule_words import answer_sentence, listed_json, schedule_lines

    if as_json:
        result = {"schedule": listed_json(listed), "test_call": None if answer is None else answer.model_dump()}
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
        return
    if answer is not None:
        typer.echo(answer_sentence(answer))
    for line in schedule_lines(listed):
        typer.echo(line)
