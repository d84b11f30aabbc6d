"""`evalplatform judge`: how far judges agree with people."""

import typer

from evalplatform.cli.judge_agreement import agreement

app = typer.Typer(help="Judges: how far they agree with people.", no_args_is_help=True)
app.command("agreement")(agreement)


@app.callback()
def _judge() -> None:
    """Keep `agreement` a command of its own: typer would make a lone command the whole group."""
