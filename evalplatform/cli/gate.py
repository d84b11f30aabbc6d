"""`evalplatform gate`: the decision of a gate, and the group of commands around it."""

from pathlib import Path
from typing import Annotated

import typer

from evalplatform.cli import gate_history, gate_plan, gate_policy, gate_readiness, gate_verify
from evalplatform.cli.project import ProjectOption
from evalplatform.cli.replication import ReplicationOption

app = typer.Typer(invoke_without_command=True)

BATCH_HELP = "A batch id, or what only one id begins or ends with; or the file of a bundle."


@app.callback()
def gate(
    context: typer.Context,
    baseline: Annotated[str | None, typer.Option(show_default="the batch recorded just before", help=BATCH_HELP)] = None,
    baseline_branch: Annotated[str | None, typer.Option(help="Gate against this branch: its last remembered gate and its history.")] = None,
    candidate: Annotated[str | None, typer.Option(show_default="the newest that is not partial", help=BATCH_HELP)] = None,
    branch: Annotated[str | None, typer.Option(show_default="of a push build in CI", help="The branch that is gated.")] = None,
    record: Annotated[bool, typer.Option("--record", help="Remember this gate.")] = False,
    require_replay_determinism: Annotated[
        bool, typer.Option("--require-replay-determinism", help="Run compared replays again; a difference fails the gate.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="JUnit XML: one test case a scenario.")] = None,
    out_json: Annotated[Path | None, typer.Option(help="The comparison with the decision as JSON, schema version 3.")] = None,
    out_md: Annotated[Path | None, typer.Option(help="Markdown report.")] = None,
    out_html: Annotated[Path | None, typer.Option(help="HTML report (a file, or a folder for report.html), and its diff pages.")] = None,
    out_certificate: Annotated[Path | None, typer.Option(help="The certificate, which `gate verify` checks.")] = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    project: ProjectOption = None,
    _replication: ReplicationOption = False,
) -> int:
    """Decide whether a batch is worse than its baseline.

    Run sets decide where either batch ran under a gate policy: single scenarios by their tier, then the suite as a whole. Without one, a
    scenario that passed and does not pass any more fails the gate. Exit code 0 when the gate passes, 1 when it fails, 2 when it could not
    be decided.
    """
    if context.invoked_subcommand is not None:
        _refuse_options_before_a_command(context)
        return 0
    from evalplatform.cli.gate_outputs import GateOutputs
    from evalplatform.cli.gate_run import asked_gate, decide_gate

    asked = asked_gate(
        baseline=baseline,
        baseline_branch=baseline_branch,
        candidate=candidate,
        branch=branch,
        records=record,
        requires_determinism=require_replay_determinism,
    )
    outputs = GateOutputs(
        markdown=out_md, html=out_html, json_file=out_json, prints_json=json_result, junit=junit, certificate=out_certificate
    )
    return decide_gate(asked, outputs, project=project, records=record)


def _refuse_options_before_a_command(context: typer.Context) -> None:
    """Refuse what would be dropped without a word: options of the gate itself that stand before another command of the group."""
    from evalplatform.kernel.errors import InputError

    given = [name for name in context.params if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise InputError(f"is an option of `gate` itself; options of `{context.invoked_subcommand}` stand behind it.", field=option)


for module in (gate_history, gate_plan, gate_policy, gate_readiness, gate_verify):
    module.add_commands(app)
