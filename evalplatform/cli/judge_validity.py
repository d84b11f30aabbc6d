"""`evalplatform judge validity`: whether a judge ranks intact answers above copies that were made worse."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

if TYPE_CHECKING:
    from evalplatform.project.cells import Cell, JudgeCell
    from evalplatform.stages.judge_validity import TriedValidity

VALID, NOT_VALID, NOT_ANSWERED = 0, 1, 2

Owner = TypeVar("Owner", "Cell", "JudgeCell")


def validity(
    suite: Annotated[str | None, typer.Option(help="Suite whose stored answers are used; needed where there are several.")] = None,
    cell: Annotated[str | None, typer.Option(help="Cell whose answers are used, by id or key.")] = None,
    judge: Annotated[str | None, typer.Option(help="Judge that is tried, by id or key.")] = None,
    bases: Annotated[int, typer.Option(min=1, help="Most intact answers, one a question.")] = 20,
    material: Annotated[Literal["with", "without", "both"], typer.Option(help="Whether the judge sees the treatment material.")] = "both",
    degradation: Annotated[list[str] | None, typer.Option(show_default="all", help="One degradation to try; repeat it.")] = None,
    min_accuracy: Annotated[float, typer.Option(min=0, max=1, help="Least pairwise accuracy of a judge that passes.")] = 0.8,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 also where the pairs are too few to decide.")] = False,
    out_json: Annotated[Path | None, typer.Option(help="Write the result with every pair as JSON.")] = None,
    out_md: Annotated[Path | None, typer.Option(help="Write the report as Markdown.")] = None,
    out_html: Annotated[Path | None, typer.Option(help="Write the report as HTML.")] = None,
    project: Annotated[Path | None, typer.Option(show_default="found upward", help="Project file or its folder.")] = None,
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Grade stored answers and copies made worse on purpose, and say how often the judge ranks the intact one higher.

    What was graded before is not asked again. Exit code 1 when a degradation is not noticed reliably, or padding is rewarded; 2 when that
    could not be found out: too few pairs, or a judge that fails.
    """
    import asyncio

    from evalplatform.cli.console import required_project, say, shown_progress
    from evalplatform.cli.files import check_outputs
    from evalplatform.cli.results import counts_words
    from evalplatform.cli.suite_inputs import suite_inputs
    from evalplatform.stages.judge_validity import tried_validity
    from evalplatform.wiring import OpenedProject

    outputs = {"--out-json": out_json, "--out-md": out_md, "--out-html": out_html}
    opened_project = required_project(project)
    suite_id = _named_suite(list(opened_project.settings.suites), suite)
    chosen_cell = _owner("cell", opened_project.cells_of(suite_id), cell)
    chosen_judge = _owner("judge", opened_project.judges_of(suite_id), judge)
    check_outputs(outputs.items(), inputs=suite_inputs(opened_project, opened_project.suite(suite_id)))
    with OpenedProject(opened_project) as opened, shown_progress() as on_progress:
        context = opened.suite_context(suite_id, on_progress=on_progress)
        found = asyncio.run(
            tried_validity(
                context,
                chosen_cell,
                chosen_judge,
                bases=bases,
                material=material,
                min_accuracy_rate=min_accuracy,
                probes=tuple(dict.fromkeys(degradation or ())),
            )
        )
    _write(found, outputs)
    _print(found, as_json=json_result)
    say(counts_words(found.calls))
    return _exit_code(found, bases=bases, strict=strict)


def _named_suite(known: list[str], named: str | None) -> str:
    from evalplatform.kernel.errors import InputError, UnknownNameError

    if named is None and len(known) != 1:
        rule = (
            f"says whose answers, since there are several suites ({', '.join(known)})."
            if known
            else "has none to name: the project has no suite."
        )
        raise InputError(rule, field="--suite")
    if named is not None and named not in known:
        raise UnknownNameError("suite", named, known, field="--suite")
    return named or known[0]


def _owner(noun: str, known: "list[Owner]", named: str | None) -> "Owner":
    """Return the suite's cell or judge of that id or key; the only one where none is named."""
    from evalplatform.kernel.errors import InputError, UnknownNameError

    if named is None:
        if len(known) != 1:
            several = f"the suite has several ({', '.join(owner.id for owner in known)})" if known else "the suite has none"
            raise InputError(f"says which {noun}: {several}.", field=f"--{noun}")
        return known[0]
    found = next((owner for owner in known if named in {owner.id, owner.key}), None)
    if found is None:
        raise UnknownNameError(noun, named, [owner.id for owner in known], field=f"--{noun}")
    return found


def _print(found: "TriedValidity", *, as_json: bool) -> None:
    from evalplatform.reports.judge_validity_report import judge_validity_lines, judge_validity_payload, verdict_sentence

    if as_json:
        typer.echo(judge_validity_payload(found.tried, found.validity, found.pairs).decode())
        return
    for line in (*judge_validity_lines(found.tried, found.validity), verdict_sentence(found.tried, found.validity)):
        typer.echo(line)


def _write(found: "TriedValidity", outputs: dict[str, Path | None]) -> None:
    from evalplatform.cli.console import say
    from evalplatform.cli.files import write_if_changed
    from evalplatform.reports.judge_validity_report import judge_validity_page, judge_validity_payload
    from evalplatform.reports.page import page_html, page_markdown

    told = (found.tried, found.validity, found.pairs)
    forms = {
        "--out-json": lambda: judge_validity_payload(*told),
        "--out-md": lambda: page_markdown(judge_validity_page(*told)).encode(),
        "--out-html": lambda: page_html(judge_validity_page(*told)).encode(),
    }
    for flag, path in outputs.items():
        if path is not None:
            write_if_changed(path, forms[flag]())
            say(f"wrote {path}")


def _exit_code(found: "TriedValidity", *, bases: int, strict: bool) -> int:
    from evalplatform.cli.console import say
    from evalplatform.reports import words

    stopped = found.tried.stopped_message
    if stopped is not None:
        say(f"error: the run was stopped: {stopped} What is finished is kept; a rerun goes on.")
        return NOT_ANSWERED
    if found.validity.verdict == "unanswered":
        by_state = {
            state: [each.probe.name for each in found.validity.gate if each.state == state] for state in ("too_few_pairs", "unscored")
        }
        if short := by_state["too_few_pairs"]:
            say(f"error: {words.listed(short)} could not be tried: too few pairs. {_for_more_pairs(found, bases)}")
        if unscored := by_state["unscored"]:
            say(f"error: {words.listed(unscored)} could not be tried: too many pairs have no points; the reasons stand above.")
        return NOT_ANSWERED
    return {"passed": VALID, "failed": NOT_VALID, "inconclusive": NOT_VALID if strict else VALID}[found.validity.verdict]


def _for_more_pairs(found: "TriedValidity", bases: int) -> str:
    """Return what helps where pairs are too few; more intact answers than there are do not."""
    from evalplatform.kernel.text import plural

    others = "name the others with --degradation."
    if found.candidates > bases:
        return f"Raise --bases, or {others}"
    return f"All {plural(found.candidates, 'question')} with an answer are tried; ask more questions, or {others}"
