"""`evalplatform judge add`: a new judge in the project file, and what to do next."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.cli.project import ProjectOption

if TYPE_CHECKING:
    from evalplatform.project.yaml_splice import Tree


def add(
    judge_id: Annotated[str, typer.Argument(metavar="ID", help="The new judge's id: a-z, 0-9, '.', '_' and '-'.")],
    kind: Annotated[str, typer.Option(help="The judge kind, such as rubric.")],
    model: Annotated[str, typer.Option(help="The model that grades.")],
    endpoint: Annotated[str, typer.Option(help="An endpoint id of the project file.")],
    rubric: Annotated[Path | None, typer.Option(help="A text file with further instructions.")] = None,
    role: Annotated[list[str] | None, typer.Option(help="Who votes, of a panel; may be repeated. All of its roles unless given.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help="Sampling temperature.")] = None,
    seed: Annotated[int | None, typer.Option(help="Sampling seed.")] = None,
    suite: Annotated[
        list[str] | None, typer.Option(help="The suite that it grades; may be repeated. Needed where there are several.")
    ] = None,
    project: ProjectOption = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Add a judge to the project file, with everything else in it kept as it is. It never edits a judge that is there. Asks nothing."""
    from evalplatform.cli.console import required_project
    from evalplatform.project.add_judge import add_judge

    found = required_project(project)
    declaration = _declaration(
        found.root, kind=kind, model=model, endpoint=endpoint, rubric=rubric, roles=role, temperature=temperature, seed=seed
    )
    changed = add_judge(found, judge_id, declaration, suites=suite)
    judge = changed.judge(judge_id)
    graded = [suite_id for suite_id, settings in changed.settings.suites.items() if judge_id in settings.judges]
    following = f"evalplatform backfill --judge {judge_id}"
    if json_result:
        import orjson

        result = {
            "id": judge.id,
            "key": judge.key,
            "kind": judge.settings.kind,
            "model": judge.settings.model,
            "prompt_digest": judge.prompt_digest,
            "suites": graded,
            "file": os.fspath(changed.file or ""),
            "next": following,
        }
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo(f"added judge {judge.id} to {os.path.relpath(changed.file or '')}, grading {', '.join(graded) or 'no suite yet'}")
        typer.echo(f"key: {judge.key}")
        typer.echo(f"prompt digest: {judge.prompt_digest}")
        typer.echo(f"next: {following}")
    return 0


def _declaration(
    root: Path,
    *,
    kind: str,
    model: str,
    endpoint: str,
    rubric: Path | None,
    roles: list[str] | None,
    temperature: float | None,
    seed: int | None,
) -> "Mapping[str, Tree]":
    """Return the judge as the project file has it; the rubric's path, which is from here, becomes one from the project's folder."""
    sampling = {name: value for name, value in (("temperature", temperature), ("seed", seed)) if value is not None}
    declaration: dict[str, Tree] = {"kind": kind, "model": model, "endpoint": endpoint}
    if rubric is not None:
        declaration["rubric"] = Path(os.path.relpath(rubric.resolve(), root)).as_posix()
    if roles:
        declaration["roles"] = roles
    if sampling:
        declaration["sampling"] = sampling
    return declaration
