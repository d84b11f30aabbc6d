"""`evalplatform batch`: whether a folder of runs is what it should be, before a number is read out of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evalplatform.comparisons.batch_check import BatchCheck
    from evalplatform.stages.batch_check import BatchFolder

app = typer.Typer(help="Batches: folders of arms.v1 files.", no_args_is_help=True)

EXPECTED_QUESTIONS = "regular=40,golden=20"


@app.command("check")
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds the arms.v1 files.")],
    baseline_arm: Annotated[str, typer.Option(help="The arm that every file measures from.")] = "baseline",
    treatment_arm: Annotated[str, typer.Option(help="The arm that every file treats, as a glob such as 'skill:*'.")] = "profile:*",
    judge_model: Annotated[str, typer.Option(help="The judge that every file must have.")] = "claude-sonnet-5-5",
    judge_provider: Annotated[str, typer.Option(help="Its provider.")] = "anthropic",
    profile: Annotated[Path | None, typer.Option(help="The profile that the answers must have been given with, as it is now.")] = None,
    expect_n: Annotated[str, typer.Option(help="How many questions a file has, by how its name ends.")] = EXPECTED_QUESTIONS,
    expect_files: Annotated[int | None, typer.Option(help="How many files the batch has.")] = None,
    out_md: Annotated[Path | None, typer.Option(help="Markdown report.")] = None,
    out_html: Annotated[Path | None, typer.Option(help="HTML report.")] = None,
    junit: Annotated[Path | None, typer.Option(help="JUnit XML: one test case a file and check.")] = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Check every arms.v1 file of a folder, and take the deltas over questions that both arms scored. It asks no model.

    Exit code 0 when every check passed, 1 when one failed, 2 when there is nothing to check.
    """
    from evalplatform.cli.files import check_places
    from evalplatform.comparisons.batch_check import check_batch
    from evalplatform.comparisons.batch_rules import BatchRules
    from evalplatform.stages.batch_check import files_of_batch, profile_now, read_batch_folder

    inputs = [*files_of_batch(folder), *([] if profile is None else [profile])]
    places = {"--out-md": out_md, "--out-html": out_html, "--junit": junit}
    check_places([("--junit", junit)], inputs=inputs)
    with _junit_of_errors(junit, folder):
        check_places(places.items(), inputs=inputs)
        rules = BatchRules(
            baseline_arm=_named(baseline_arm, "--baseline-arm"),
            treatment_arm=_named(treatment_arm, "--treatment-arm"),
            judge_model=_named(judge_model, "--judge-model"),
            judge_provider=_named(judge_provider, "--judge-provider"),
            expected_questions=expected_questions(expect_n),
            expected_files=_file_count(expect_files),
            profile=None if profile is None else profile_now(profile),
        )
        outputs = [path for path in places.values() if path is not None]
        read = read_batch_folder(folder, expected_questions=rules.expected_questions, outputs=outputs)
        found = check_batch(read.files, rules)
        _write(found, read, folder=folder, out_md=out_md, out_html=out_html, junit=junit)
        _print(found, read, folder=folder, as_json=json_result)
    return 0 if found.passed else 1


def expected_questions(text: str) -> dict[str, int]:
    """Return counts by suffix, of `SUFFIX=COUNT,...`.

    Raises:
        InputError: a piece is no such pair, a count is no whole number from 1, or a suffix is there twice.
    """
    from evalplatform.kernel.errors import InputError

    counts: dict[str, int] = {}
    for piece in (part.strip() for part in text.split(",") if part.strip()):
        suffix, equals, count = (part.strip() for part in piece.rpartition("="))
        if not equals or not suffix or not count.isascii() or not count.isdigit() or int(count) < 1:
            raise InputError(f"takes SUFFIX=COUNT with a count from 1, such as {EXPECTED_QUESTIONS}; not {piece!r}.", field="--expect-n")
        if suffix in counts:
            raise InputError(f"has the suffix {suffix!r} twice.", field="--expect-n")
        counts[suffix] = int(count)
    if not counts:
        raise InputError(f"needs at least one SUFFIX=COUNT, such as {EXPECTED_QUESTIONS}.", field="--expect-n")
    return counts


def _named(name: str, option: str) -> str:
    from evalplatform.kernel.errors import InputError

    if not name.strip():
        raise InputError("is empty, and no file fits that; leave the option out for its default.", field=option)
    return name


def _file_count(count: int | None) -> int | None:
    from evalplatform.kernel.errors import InputError

    if count is not None and count < 1:
        raise InputError(f"takes a count from 1; not {count}.", field="--expect-files")
    return count


@contextmanager
def _junit_of_errors(junit: Path | None, folder: Path) -> Iterator[None]:
    """Let the JUnit file say that there was an error unless the check ends, whatever ends it: no earlier success stays behind.

    It is written at the start too, for a process that is killed; so the file is always a fresh one, which CI servers look for.
    """
    _write_error(junit, folder, "The check was started and has not ended.")
    try:
        yield
    except Exception as error:
        _write_error(junit, folder, str(error) or type(error).__name__)
        raise


def _write_error(junit: Path | None, folder: Path, text: str) -> None:
    from evalplatform.cli.files import write_if_changed
    from evalplatform.reports.junit import JUnitCase, junit_xml

    if junit is not None:
        case = JUnitCase(group="batch", name="can be checked", outcome="error", text=text)
        write_if_changed(junit, junit_xml(f"batch check of {folder}", [case]))


def _write(
    found: "BatchCheck", read: "BatchFolder", *, folder: Path, out_md: Path | None, out_html: Path | None, junit: Path | None
) -> None:
    from evalplatform.cli.console import say
    from evalplatform.cli.files import write_if_changed
    from evalplatform.reports.batch_check_report import batch_check_cases, batch_check_page
    from evalplatform.reports.junit import junit_xml
    from evalplatform.reports.page import page_html, page_markdown

    page = batch_check_page(found, folder=str(folder), skipped=read.skipped_pairs)
    contents = (
        (out_md, page_markdown(page).encode()),
        (out_html, page_html(page).encode()),
        (junit, junit_xml(f"batch check of {folder}", batch_check_cases(found))),
    )
    for path, content in contents:
        if path is not None:
            write_if_changed(path, content)
            say(f"wrote {path}")


def _print(found: "BatchCheck", read: "BatchFolder", *, folder: Path, as_json: bool) -> None:
    import orjson

    from evalplatform.reports.batch_check_report import batch_check_payload
    from evalplatform.reports.visible import one_line

    if as_json:
        payload = batch_check_payload(found, folder=str(folder), skipped=read.skipped_pairs)
        typer.echo(orjson.dumps(payload, option=orjson.OPT_INDENT_2).decode())
        return
    for line in _lines(found, read):
        typer.echo(one_line(line) if not line.startswith("  ") else f"  {one_line(line)}")


def _lines(found: "BatchCheck", read: "BatchFolder") -> Iterator[str]:
    from evalplatform.reports.batch_check_report import delta_sentence, pooled_sentence, verdict_sentence
    from evalplatform.reports.batch_check_words import finding_sentence

    for file in found.files:
        delta = "" if file.delta is None else f"  {delta_sentence(file.delta)}"
        yield f"{'FAILED' if file.findings else 'passed'} {file.file}{delta}"
        for finding in file.findings:
            yield f"  {finding.check}: {finding_sentence(finding)}"
    for result in found.results:
        if result.finding is not None:
            yield f"FAILED batch, {result.check}: {finding_sentence(result.finding)}"
    for skipped in read.skipped:
        yield f"skipped {skipped.file}: {skipped.why}"
    if found.pooled is not None:
        yield pooled_sentence(found.pooled)
    yield verdict_sentence(found)
