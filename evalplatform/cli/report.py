"""`evalplatform report`: reports over several runs, from their files."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.cli.many_values import ManyValuesCommand
from evalplatform.stats.multiplicity import Correction

if TYPE_CHECKING:
    from evalplatform.reports.model_comparison_report import Compared

app = typer.Typer(help="Reports over several runs.", no_args_is_help=True)

DONE = 0
NO_ANSWER = 2


class _ModelCompare(ManyValuesCommand):
    many = ("--regular-runs", "--golden-runs")


@app.command("model-compare", cls=_ModelCompare)
def model_compare(
    run_ids: Annotated[str, typer.Option(metavar="A,B", help="What to call the runs, in the order of the files.")],
    out: Annotated[Path, typer.Option(help="Markdown report.")],
    regular_runs: Annotated[
        list[Path] | None, typer.Option(metavar="FILE ...", help="arms.v1 files of regular questions, one a run.")
    ] = None,
    golden_runs: Annotated[
        list[Path] | None, typer.Option(metavar="FILE ...", help="arms.v1 files of golden questions, one a run.")
    ] = None,
    out_html: Annotated[Path | None, typer.Option(help="HTML report.")] = None,
    out_json: Annotated[Path | None, typer.Option(help="The numbers, unrounded, as JSON.")] = None,
    treatment_arm: Annotated[str | None, typer.Option(help="The arm that every run is scored on, where one has several.")] = None,
    stats_correction: Annotated[Correction, typer.Option(help="Of the p-values, over the runs.")] = "holm",
    pool_replicates: Annotated[bool, typer.Option("--pool-replicates", help="Average runs of one configuration into one row.")] = False,
    json_result: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> int:
    """Put runs beside each other over a shared baseline: what an arm adds to each, and which answers best with it. It asks no model.

    Runs that would look fine side by side and mean nothing are not compared: exit code 2, every reason is said, and nothing is written.
    Where nobody judged, or a run has points for too few questions, the report is written, says so, and the exit code is 2 all the same.
    """
    from evalplatform.cli.files import check_places
    from evalplatform.comparisons.model_comparison import compare_models
    from evalplatform.comparisons.refusals import Refused
    from evalplatform.reports.compared_run_file import read_compared_run
    from evalplatform.reports.model_comparison_report import model_comparison_json, shortfall_sentences

    paths = {"regular": list(regular_runs or ()), "golden": list(golden_runs or ())}
    names = checked_run_ids(run_ids, paths)
    places = {"--out": out, "--out-html": out_html, "--out-json": out_json}
    check_places(places.items(), inputs=[file for files in paths.values() for file in files])
    sections: Compared = {
        section: compare_models(
            [read_compared_run(path, name=name, lengths=False) for path, name in zip(files, names, strict=True)],
            treatment_arm=treatment_arm,
            pool_replicates=pool_replicates,
            correction=stats_correction,
        )
        for section, files in paths.items()
        if files
    }
    is_refused = any(isinstance(found, Refused) for found in sections.values())
    if not is_refused:
        _write(sections, {option: place for option, place in places.items() if place is not None})
    if json_result:
        typer.echo(model_comparison_json(sections), nl=False)
    elif not is_refused:
        for place in places.values():
            if place is not None:
                typer.echo(f"wrote {place}")
    _say(sections, is_refused=is_refused)
    is_answer = not is_refused and not any(any(shortfall_sentences(found)) for found in sections.values() if not isinstance(found, Refused))
    return DONE if is_answer else NO_ANSWER


def checked_run_ids(text: str, paths: dict[str, list[Path]]) -> list[str]:
    """Return the run ids of a comma list.

    Raises:
        InputError: an empty one, two that are equal, no files at all, or not one file a run.
    """
    from evalplatform.comparisons.run_names import check_run_names
    from evalplatform.kernel.errors import InputError
    from evalplatform.kernel.text import plural

    names = [name.strip() for name in text.split(",")]
    check_run_names(names, field="--run-ids")
    if not any(paths.values()):
        raise InputError("name the files of some runs with --regular-runs or --golden-runs.", field="--regular-runs")
    for section, files in paths.items():
        if files and len(files) != len(names):
            rule = f"{plural(len(files), 'file')} for {plural(len(names), 'run id')} ({', '.join(names)}); each run has one file."
            raise InputError(rule, field=f"--{section}-runs")
    return names


def _write(sections: "Compared", places: Mapping[str, Path]) -> None:
    """Write every report that has a place, by its option; none is written unless all can be."""
    from evalplatform.cli.files import check_writable, write_if_changed
    from evalplatform.reports.model_comparison_report import model_comparison_json, model_comparison_page
    from evalplatform.reports.page import page_html, page_markdown

    for option, place in places.items():
        check_writable(place, field=option)
    page = model_comparison_page(sections)
    forms: dict[str, Callable[[], bytes]] = {
        "--out": lambda: page_markdown(page).encode(),
        "--out-html": lambda: page_html(page).encode(),
        "--out-json": lambda: model_comparison_json(sections),
    }
    for option, place in places.items():
        write_if_changed(place, forms[option]())


def _say(sections: "Compared", *, is_refused: bool) -> None:
    from evalplatform.cli.console import say
    from evalplatform.comparisons.refusals import Refused
    from evalplatform.reports.model_comparison_report import section_warning_sentences, shortfall_sentences, warning_sentence
    from evalplatform.reports.refusal_words import refusal_sentence

    for sentence in section_warning_sentences(sections):
        say(f"warning: {sentence}")
    for section, found in sections.items():
        if isinstance(found, Refused):
            for refusal in found.refusals:
                say(f"error: {section}: {refusal_sentence(refusal)}")
        else:
            for sentence in shortfall_sentences(found):
                say(f"error: {section}: {sentence}")
            for warning in found.warnings:
                say(f"warning: {section}: {warning_sentence(warning)}")
    if is_refused:
        say("error: the runs were not compared, and nothing was written.")
