"""Commands about a whole project: init, plan, demo, dev."""

import os
from pathlib import Path
from typing import Annotated

import typer

ProjectOption = Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this file to the root command."""
    app.command("init")(init)
    app.command("plan")(plan)
    app.command("demo")(demo)
    app.command("dev")(dev)


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the project is to stand; made if missing.")],
) -> int:
    """Start a project: a small evaluation that runs offline, to be changed into one's own."""
    import shlex

    from evalplatform.cli.console import say
    from evalplatform.cli.starter import write_starter

    for path in write_starter(folder):
        typer.echo(str(path))
    say(f"next: cd {shlex.quote(os.fspath(folder))} && evalplatform plan && evalplatform dev")
    return 0


def plan(
    suite: Annotated[str | None, typer.Option(help="Only this suite.")] = None,
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Resolve everything without a model call: what would be asked, what is in the ledger already, tokens and price."""
    import asyncio

    from evalplatform.cli.console import required_project
    from evalplatform.cli.results import plan_lines
    from evalplatform.kernel.errors import ProjectFileError
    from evalplatform.stages.plan import plan_suite
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        suites = list(opened.project.settings.suites) if suite is None else [suite]
        if not suites:
            raise ProjectFileError("the project has no suite, so there is nothing to plan.", file=opened.project.file, field="suites")
        plans = [asyncio.run(plan_suite(opened.suite_context(suite_id))) for suite_id in suites]
    if json_result:
        import orjson

        result = [{**planned.model_dump(mode="json"), "price_usd": planned.price_usd} for planned in plans]
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        for planned in plans:
            for line in plan_lines(planned):
                typer.echo(line)
    return 0


def demo(
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", show_default="evalplatform-demo", help="The demo's folder.")] = None,
) -> int:
    """Run the main job on the example project through Dagster, offline and keyless, and show what came out."""
    from evalplatform.cli.orchestration.demo import run_demo

    return run_demo(folder)


def dev(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the Dagster UI.")] = 3000,
    web_port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the web app: reports and downloads.")] = 8787,
    host: Annotated[str, typer.Option(help="Address that both listen on.")] = "127.0.0.1",
    project: ProjectOption = None,
) -> int:
    """Open the Dagster UI, with its daemon, on the project, and the web app that its links lead to."""
    from evalplatform.cli.console import required_project
    from evalplatform.cli.dev import run_dev

    return run_dev(required_project(project), host=host, port=port, web_port=web_port, environ=os.environ)
