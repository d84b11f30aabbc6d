"""`evalplatform cross-judge`: stored answers under several judges."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evalplatform.calls.progress import OnProgress
    from evalplatform.comparisons.refusals import Refused
    from evalplatform.project.cells import Cell, JudgeCell
    from evalplatform.project.load import Project
    from evalplatform.stages.context import SuiteContext
    from evalplatform.stages.cross_judge import CrossJudged
    from evalplatform.wiring import OpenedProject

DONE, JUDGE_DEPENDENT, NOT_ANSWERED = 0, 1, 2


def add_commands(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command("cross-judge")(cross_judge)


def cross_judge(
    judges: Annotated[str, typer.Option(help="Comma list of judges of the project file.")],
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="arms.v1 files of any tool.", show_default=False)] = None,
    suite: Annotated[str | None, typer.Option(help="Suite whose stored answers are judged.")] = None,
    cell: Annotated[str | None, typer.Option(show_default="all of the suite", help="Only this cell, by id or key.")] = None,
    no_stored: Annotated[bool, typer.Option("--no-stored", help="Leave out the scores that the files hold.")] = False,
    max_cost_usd: Annotated[float | None, typer.Option(min=0, help="Stop before the call that could pass this.")] = None,
    out_json: Annotated[Path | None, typer.Option(help="Write the whole result, with every question's points.")] = None,
    out_md: Annotated[Path | None, typer.Option(help="Write the Markdown report.")] = None,
    out_html: Annotated[Path | None, typer.Option(help="Write the HTML report.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 when an arm's verdict depends on the judge.")] = False,
    project: Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")] = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Judge stored answers by several judges with the material that the first judge saw, and say which verdicts depend on the judge.

    No answer is asked for, and a judge is not asked twice. Exit code 2 when answers cannot be judged again, too few were scored, or one
    measure alone has a say.
    """
    from evalplatform.cli.console import required_project, shown_progress
    from evalplatform.cli.suite_inputs import project_inputs, suite_inputs
    from evalplatform.comparisons.refusals import Refused
    from evalplatform.wiring import OpenedProject

    opened_project = required_project(project)
    _refuse_mixed_sources(files or [], suite=suite, cell=cell, no_stored=no_stored)
    chosen = _judges(opened_project, judges)
    inputs = project_inputs(opened_project) if suite is None else suite_inputs(opened_project, opened_project.suite(suite))
    targets = _targets({"--out-json": out_json, "--out-md": out_md, "--out-html": out_html}, inputs=[*inputs, *(files or ())])
    with OpenedProject(opened_project) as opened, shown_progress() as on_progress:
        if suite is not None:
            context = opened.suite_context(suite, max_cost_usd=max_cost_usd, on_progress=on_progress)
            done: CrossJudged | Refused = _of_suite(context, cell, chosen)
        else:
            done = _of_files(opened, files or [], chosen, with_stored=not no_stored, max_cost_usd=max_cost_usd, on_progress=on_progress)
        if isinstance(done, Refused):
            return _refused(done, as_json=json_result)
        _write(opened, done, targets)
        return _told(opened, done, list(targets), strict=strict, as_json=json_result)


def _refuse_mixed_sources(files: Sequence[Path], *, suite: str | None, cell: str | None, no_stored: bool) -> None:
    """Raise InputError unless either files or a suite are named, with flags that belong to them."""
    from evalplatform.kernel.errors import InputError

    if bool(files) == (suite is not None):
        raise InputError("name either arms.v1 files or a suite, whose stored answers are to be judged.", field="--suite")
    if files and cell is not None:
        raise InputError("belongs to --suite; a file holds one cell.", field="--cell")
    if suite is not None and no_stored:
        raise InputError("belongs to files; a suite's own scores are those of its judges.", field="--no-stored")


def _judges(project: "Project", named: str) -> "list[JudgeCell]":
    from evalplatform.kernel.errors import InputError, UnknownNameError

    ids = [name.strip() for name in named.split(",") if name.strip()]
    if not ids:
        raise InputError("names no judge.", field="--judges")
    if len(set(ids)) < len(ids):
        raise InputError(f"names {next(name for name in ids if ids.count(name) > 1)!r} twice.", field="--judges")
    for name in ids:
        if name not in project.settings.judges:
            raise UnknownNameError("judge", name, project.settings.judges, field="--judges")
    return [project.judge(name) for name in ids]


def _targets(wanted: dict[str, Path | None], *, inputs: Sequence[Path]) -> dict[Path, str]:
    """Return where each file goes and from which file of the artifact, every place writable and free before anything is paid for."""
    from evalplatform.cli.files import check_outputs
    from evalplatform.stages.cross_judge import HTML_FILE, JSON_FILE, MARKDOWN_FILE

    names = {"--out-json": JSON_FILE, "--out-md": MARKDOWN_FILE, "--out-html": HTML_FILE}
    check_outputs(wanted.items(), inputs=inputs)
    return {path: names[option] for option, path in wanted.items() if path is not None}


def _of_suite(context: "SuiteContext", cell: str | None, judges: "Sequence[JudgeCell]") -> "CrossJudged":
    import asyncio

    from evalplatform.stages.cross_judge import cross_judge_cells

    return asyncio.run(cross_judge_cells(context, _cells(context, cell), judges))


def _cells(context: "SuiteContext", named: str | None) -> "list[Cell]":
    from evalplatform.kernel.errors import UnknownNameError

    cells = context.project.cells_of(context.suite_id)
    if named is None:
        return cells
    chosen = [cell for cell in cells if named in (cell.id, cell.key)]
    if not chosen:
        names = {name for cell in cells for name in (cell.id, cell.key)}
        raise UnknownNameError(f"cell of the suite {context.suite_id!r}", named, names, field="--cell")
    return chosen


def _of_files(
    opened: "OpenedProject",
    files: Sequence[Path],
    judges: "Sequence[JudgeCell]",
    *,
    with_stored: bool,
    max_cost_usd: float | None,
    on_progress: "OnProgress",
) -> "CrossJudged | Refused":
    import asyncio

    from evalplatform.cli.console import say
    from evalplatform.project.schema import SuiteSettings
    from evalplatform.reports.visible import one_line
    from evalplatform.stages.cross_judge import GROUP, cross_judge_files
    from evalplatform.stages.cross_judge_files import read_file_runs

    read = read_file_runs(files)
    for warning in read.warnings:
        say(f"warning: {one_line(warning)}")
    if read.refused is not None:
        return read.refused
    first = read.runs[0].first
    settings = SuiteSettings(
        product=first.library_name or read.runs[0].name,
        questions=first.source,
        arms=first.arms,
        baseline_arm=first.baseline_arm,
        cells=(GROUP,),  # a suite names at least one; nothing looks it up
    )
    context = opened.suite_context(GROUP, suite=settings, max_cost_usd=max_cost_usd, on_progress=on_progress)
    return asyncio.run(cross_judge_files(context, read.runs, judges, with_stored=with_stored))


def _refused(refused: "Refused", *, as_json: bool) -> int:
    from evalplatform.cli.console import say
    from evalplatform.reports.refusal_words import refusal_sentence

    if as_json:
        typer.echo(refused.model_dump_json(indent=2))
    for refusal in refused.refusals:
        say(f"error: {refusal_sentence(refusal)}")
    return NOT_ANSWERED


def _write(opened: "OpenedProject", done: "CrossJudged", targets: dict[Path, str]) -> None:
    from evalplatform.cli.files import write_if_changed

    for path, name in targets.items():
        write_if_changed(path, opened.catalog.read(done.manifest, name))


def _told(opened: "OpenedProject", done: "CrossJudged", written: Sequence[Path], *, strict: bool, as_json: bool) -> int:
    """Print labels, agreement and calls, and return the exit code."""
    from evalplatform.cli.console import say
    from evalplatform.cli.results import counts_words
    from evalplatform.kernel.text import plural
    from evalplatform.reports.cross_judge_lines import cross_judge_lines, odd_measure_lines
    from evalplatform.stages.cross_judge import HTML_FILE

    for line in odd_measure_lines(done.result):
        say(f"warning: {line}")
    if as_json:
        typer.echo(_json(done, written))
    else:
        for line in cross_judge_lines(done.result):
            typer.echo(line)
    for path in written:
        say(f"wrote {path}")
    say(f"report: {opened.shown_path(done.manifest, HTML_FILE)}")
    say(f"nothing changed since the last run: {plural(0, 'model call')}" if done.unchanged else counts_words(done.counts))
    return _exit_code(done, strict=strict)


def _json(done: "CrossJudged", written: Sequence[Path]) -> str:
    import orjson

    result = {
        **orjson.loads(done.result.model_dump_json()),
        "labels": done.facts.labels,
        "partition": done.manifest.artifact.partition,
        "data_version": done.manifest.data_version,
        "unchanged": done.unchanged,
        "calls": orjson.loads(done.counts.model_dump_json()),
        "answer_calls": done.answer_calls,
        "truncated": done.facts.truncated_message,
        "failed_calls": done.facts.failed_calls.model_dump(),
        "files": [os.fspath(path) for path in written],
    }
    return orjson.dumps(result, option=orjson.OPT_INDENT_2).decode()


def _exit_code(done: "CrossJudged", *, strict: bool) -> int:
    from evalplatform.cli.console import say
    from evalplatform.reports import words
    from evalplatform.reports.cross_judge_words import one_measure_words
    from evalplatform.reports.visible import one_line

    facts = done.facts
    if facts.truncated_message is not None:
        say(f"error: the judging is truncated. {facts.truncated_message}")
    if facts.failed_calls.counts:
        say(f"error: {one_line(words.failures('score', facts.failed_calls))}")
    if not facts.complete:
        say("A rerun asks only what is missing.")
    shortfalls = list(done.shortfalls)
    for run, measure, shortfall in shortfalls:
        say(f"error: {one_line(run)} under {one_line(measure)}: {one_line(shortfall.sentence)}")
    alone = [one for one in done.result.runs if not one.dependence_is_known]
    for one in alone:
        say(f"error: {one_line(one_measure_words(one))} Name another judge with --judges.")
    if alone or shortfalls or not facts.complete:
        return NOT_ANSWERED
    return JUDGE_DEPENDENT if strict and done.result.judge_dependent else DONE
