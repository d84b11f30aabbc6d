"""`evalplatform gate plan`: how often each scenario runs in the next gate, from the history of a branch."""

from typing import Annotated

import typer

from evalplatform.cli.project import ProjectOption


def add_commands(app: typer.Typer) -> None:
    """Add the command to the group."""
    app.command("plan")(plan)


def plan(
    branch: Annotated[str, typer.Option(help="The branch whose remembered gates hold the history.")] = "main",
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Show how often each live scenario has to run, so that its gate catches the policy's target drop 8 times in 10.

    Nothing is run. `evalplatform run --baseline-branch` follows the same plan by the policy of the scenario file.
    """
    import orjson

    from evalplatform.cli.branch_names import checked_branch
    from evalplatform.cli.console import required_project
    from evalplatform.cli.results import table_lines
    from evalplatform.reports.gate_plan_words import plan_notes, plan_sentence, plan_table
    from evalplatform.reports.gate_policy_words import policy_sentence
    from evalplatform.stages.gate_plan import branch_plan
    from evalplatform.stages.gate_policies import read_policy
    from evalplatform.wiring import OpenedProject

    checked_branch(branch, "--branch")
    with OpenedProject(required_project(project)) as opened:
        context = opened.runs_context()
        standing = read_policy(context)
        found = branch_plan(context, branch, standing.tiers(), standing.policy)
    if json_result:
        result = {
            "branch": branch,
            "policy": standing.policy.model_dump(mode="json"),
            "policy_source": standing.source,
            "history_batches": found.history.batches,
            **found.plan.model_dump(mode="json"),
            "short": [row.scenario_id for row in found.plan.short],
        }
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
        return 0
    typer.echo(plan_sentence(found.plan, branch))
    typer.echo(policy_sentence(standing))
    if found.plan.rows:
        typer.echo()
        for line in table_lines(plan_table(found.plan, found.history.pools)):
            typer.echo(line)
    for note in plan_notes(found.plan):
        typer.echo(note)
    return 0
