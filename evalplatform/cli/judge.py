"""`evalplatform judge`: add judges, list them, and say how far they agree with people."""

import typer

from evalplatform.cli.judge_add import add
from evalplatform.cli.judge_agreement import agreement
from evalplatform.cli.judge_list import list_judges

app = typer.Typer(help="Judges: add and list them, and how far they agree with people.", no_args_is_help=True)
app.command("add")(add)
app.command("list")(list_judges)
app.command("agreement")(agreement)
