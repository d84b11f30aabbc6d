"""`evalplatform labels`: what people say of answers, in and out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evalplatform.kernel.errors import InputError
from evalplatform.kernel.text import plural

if TYPE_CHECKING:
    from evalplatform.stages.label_import import LabelImport

app = typer.Typer(help="Human labels: files to label answers in, and their import.", no_args_is_help=True)

ProjectOption = Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command("template")
def template(
    suite: Annotated[str, typer.Option(help="The suite whose answers are to be labelled.")],
    out: Annotated[Path, typer.Option(help="The CSV file to write.")],
    cell: Annotated[str | None, typer.Option(help="Only answers of this cell, by id or key.")] = None,
    seed: Annotated[int, typer.Option(help="Another seed gives another order.")] = 0,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Write a suite's answers for blind labelling: each once, shuffled, without arm, cell or points. Exit code 1 when there is none.

    A file that is there is never overwritten: it may hold labels.
    """
    import io

    import orjson

    from evalplatform.cli.console import required_project
    from evalplatform.cli.files import check_new, write_new
    from evalplatform.reports.label_template import write_label_template
    from evalplatform.stages.label_template import answers_to_label
    from evalplatform.wiring import OpenedProject

    check_new(out, field="--out")
    with OpenedProject(required_project(project)) as opened:
        answers = answers_to_label(opened.suite_context(suite), cell=cell, seed=seed)
    text = io.StringIO(newline="")
    write_label_template(text, answers)
    write_new(out, text.getvalue().encode(), field="--out")
    result = {"file": str(out), "answers": len(answers)}
    typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode() if json_result else f"{out}: {plural(len(answers), 'answer')}")
    return 0 if answers else 1


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or JSON Lines.")],
    labeller: Annotated[str | None, typer.Option(help="Who labelled, for rows that do not say.")] = None,
    scale: Annotated[
        Literal["points", "verdict"] | None, typer.Option(help="How to read a column `value`, for rows that do not say.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the file and say what would be imported; write nothing.")] = False,
    project: ProjectOption = None,
    json_result: JsonOption = False,
) -> int:
    """Import human labels, all rows or none; importing a file again adds nothing."""
    from evalplatform.cli.console import required_project
    from evalplatform.cli.system_user import system_user
    from evalplatform.labels.read import read_labels
    from evalplatform.labels.records import LabelDefaults
    from evalplatform.stages.label_import import import_labels
    from evalplatform.wiring import OpenedProject

    name = _checked_name(labeller)
    with OpenedProject(required_project(project)) as opened:
        now = opened.clock.now()
        read = read_labels(_bytes_of(file), file=str(file), defaults=LabelDefaults(labeller=name, scale=scale, now=now))
        done = import_labels(
            read,
            store=opened.label_store,
            contexts=[opened.suite_context(suite_id) for suite_id in opened.project.settings.suites],
            actor=name or system_user(),
            now=now,
            dry_run=dry_run,
        )
    typer.echo(done.model_dump_json(indent=2) if json_result else "\n".join(_import_lines(done)))
    _warn(done)
    return 0


def _import_lines(done: "LabelImport") -> list[str]:
    verb = "would be imported" if done.dry_run else "imported"
    unjudged = f"{plural(done.unjudged_rows, 'row')} without a judgement"
    repeated = f"{done.repeated:,} repeated in the file, " if done.repeated else ""
    lines = [f"{plural(done.added, 'label')} {verb}, {done.already_there:,} there already, {repeated}{unjudged}"]
    if done.passed_over_columns:
        lines.append(f"columns that were not read: {', '.join(done.passed_over_columns)}")
    return lines


def _warn(done: "LabelImport") -> None:
    from evalplatform.cli.console import say

    if done.unknown_answers:
        say(
            f"warning: {plural(done.unknown_answers, 'labelled answer')} of this file cannot be found among the stored answers; "
            "the labels count once such an answer is there."
        )
    if not done.added and not done.already_there:
        say("warning: no row has a judgement.")


def _checked_name(labeller: str | None) -> str | None:
    from evalplatform.labels.cells import is_name

    if labeller is not None and not is_name(labeller):
        raise InputError("must name somebody, on one line.", field="--labeller")
    return None if labeller is None else labeller.strip()


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"cannot be read: {reason[0].lower()}{reason[1:]}.", file=file) from None
