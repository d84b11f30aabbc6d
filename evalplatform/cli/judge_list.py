"""`evalplatform judge list`: every judge that the project has or had."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.cli.project import ProjectOption

if TYPE_CHECKING:
    from evalplatform.stages.judge_list import JudgeEntry

DIGEST_CHARS = 19  # `sha256:` and 12 hex digits
TITLES = ("Judge", "Key", "State", "Kind", "Model", "Prompt", "Suites", "Cells scored", "First scored (UTC)")


def list_judges(
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """List the project's judges and those that were retired: key, kind, model, prompt digest, suites, cells scored. Exit 1 without any.

    An edited rubric, model or sampling is another key: it stands beside the old one, whose scores stay under it.
    """
    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.stages.judge_list import graded_by_judge, judge_entries
    from evalplatform.wiring import OpenedProject

    with OpenedProject(required_project(project)) as opened:
        entries = judge_entries(opened.project, opened.key_register.list("judge"), graded_by_judge(opened.catalog))
    if json_result:
        typer.echo(orjson.dumps([entry.model_dump(mode="json") for entry in entries], option=orjson.OPT_INDENT_2).decode())
    else:
        for line in judge_lines(entries):
            typer.echo(line)
    return 0 if entries else 1


def judge_lines(entries: "Sequence[JudgeEntry]") -> Iterator[str]:
    """Yield the judges as a table, columns aligned; nothing where there is none."""
    if not entries:
        return
    table = [TITLES, *(_cells(entry) for entry in entries)]
    widths = [max(len(row[column]) for row in table) for column in range(len(TITLES))]
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cells(entry: "JudgeEntry") -> tuple[str, ...]:
    first = "-" if entry.first_scored is None else f"{entry.first_scored:%Y-%m-%d %H:%M}"
    return (
        entry.id,
        entry.key,
        entry.state,
        entry.kind,
        entry.model,
        entry.prompt_digest[:DIGEST_CHARS],
        ", ".join(entry.suites) or "-",
        f"{entry.cells_scored:,}",
        first,
    )
