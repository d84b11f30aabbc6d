"""`evalplatform secrets`: what is stored encrypted, and the keys it is encrypted with."""

from typing import Annotated

import typer

from evalplatform.cli.project import ProjectOption

app = typer.Typer(help="Stored secrets: encrypt them anew when the deployment's keys change.", no_args_is_help=True)


@app.callback()
def _secrets() -> None:
    pass


@app.command("rotate")
def rotate(
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Encrypt every stored Authorization value with the newest key, in all projects of the database, or in none of them.

    Put the new key before the old ones in EVALPLATFORM_SECRET_KEYS, wherever the platform runs; then rotate; then take the old ones out.
    """
    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.cli.system_user import system_user
    from evalplatform.kernel.text import plural
    from evalplatform.stages.stored_secrets import rotate_secrets
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        count = rotate_secrets(opened.monitoring_context(), actor=system_user())
    if json_result:
        typer.echo(orjson.dumps({"values": count}).decode())
    else:
        typer.echo(f"{plural(count, 'stored value')} encrypted with the newest key; older keys can be taken out.")
    return 0
