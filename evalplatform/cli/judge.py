"""`evalplatform judge`: add judges, list them, and say how far they agree with people and whether they notice what is worse."""

import typer

from evalplatform.cli.judge_add import add
from evalplatform.cli.judge_agreement import agreement
from evalplatform.cli.judge_list import list_judges
from evalplatform.cli.judge_validity import validity

app = typer.Typer(
    help="Judges: add and list them, how far they agree with people, whether they notice what is worse.", no_args_is_help=True
)
app.command("add")(add)
app.command("list")(list_judges)
app.command("agreement")(agreement)
app.command("validity")(validity)
