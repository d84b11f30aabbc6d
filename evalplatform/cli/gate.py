"""`evalplatform gate`: the decision of a gate, and the group of commands around it."""

import typer

app = typer.Typer(help="Gates: whether a batch is worse than its baseline, what a gate can catch, and what it was.", invoke_without_command=True)


@app.callback()
def gate(context: typer.Context) -> int:
    """Decide whether a batch is worse than its baseline."""
    from evalplatform.kernel.errors import InputError

    if context.invoked_subcommand is not None:
        return 0
    raise InputError("names no batches: `evalplatform diff` compares two.", field="gate")
