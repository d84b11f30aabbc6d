"""`evalplatform judge agreement`: how far judges agree with human labels."""

from pathlib import Path
from typing import Annotated

import typer

SHOWN = 0
NOTHING_TO_SHOW = 2


def agreement(
    suite: Annotated[str | None, typer.Option(help="Only this suite.")] = None,
    judge: Annotated[str | None, typer.Option(help="Only judges of this id, or the one of this key, retired or not.")] = None,
    cell: Annotated[str | None, typer.Option(help="Only answers of this cell, by id or key.")] = None,
    project: Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")] = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Compare judges' stored scores with human labels of the same answers, without a call. Exit code 2 when there is nothing to show."""
    import orjson

    from evalplatform.cli.console import required_project, say
    from evalplatform.reports.agreement_words import agreement_lines
    from evalplatform.stages.judge_agreement import judge_agreements
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        suites = list(opened.project.settings.suites) if suite is None else [suite]
        contexts = [opened.suite_context(suite_id) for suite_id in suites]
        found = judge_agreements(contexts, opened.label_store, judge=judge, cell=cell)
    if json_result:
        rows = [orjson.loads(of_judge.model_dump_json()) for of_judge in found]
        typer.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
    else:
        for of_judge in found:
            for line in agreement_lines(of_judge):
                typer.echo(line)
    if any(of_judge.found.is_shown for of_judge in found):
        return SHOWN
    if not found:
        say("error: no judge's scores are stored; run a suite with a judge first.")
    elif not any(of_judge.found.labelled for of_judge in found):
        say("error: none of these answers is labelled; `evalplatform labels template` writes a file to label them in.")
    else:
        say("error: no agreement can be shown; the reasons stand beside the numbers.")
    return NOTHING_TO_SHOW
