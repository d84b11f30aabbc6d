"""`evalplatform gate history`: when a scenario changed, over the remembered gates."""

from typing import Annotated

import typer

from evalplatform.cli.project import ProjectOption

FOUND, NEVER_GATED = 0, 1


def add_commands(app: typer.Typer) -> None:
    """Add the command to the group."""
    app.command("history")(history)


def history(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="The scenario's id.")],
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """List every remembered gate that compared a scenario, oldest first, and mark where its verdict flipped and its path changed first.

    Exit code 1 when no remembered gate compared it yet.
    """
    from evalplatform.cli.console import required_project, say
    from evalplatform.cli.results import table_lines
    from evalplatform.gates.scenario_history import scenario_history
    from evalplatform.kernel.errors import UnknownNameError
    from evalplatform.reports.scenario_history_words import history_sentence, history_table
    from evalplatform.stages.gate_policies import read_policy
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        context = opened.runs_context()
        found = scenario_history(scenario, context.gates.of_scenario(scenario))
        known = () if found.entries else read_policy(context).scenario_ids()
    if not found.entries and scenario not in known:
        raise UnknownNameError("scenario", scenario, known, field="SCENARIO")
    if json_result:
        typer.echo(found.model_dump_json(indent=2))
    elif found.entries:
        typer.echo(history_sentence(found))
        for line in table_lines(history_table(found)):
            typer.echo(line)
    if not found.entries:
        say(f"no remembered gate compared {scenario} yet; `evalplatform gate --record` remembers one.")
    return FOUND if found.entries else NEVER_GATED
