"""`evalplatform arms plugin-delta`: what a plugin set does to every arm, from two arms.v1 files."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalplatform.stats.multiplicity import Correction

if TYPE_CHECKING:
    from evalplatform.comparisons.plugin_delta_records import PluginDelta
    from evalplatform.comparisons.refusals import Refused
    from evalplatform.reports.page import Page

ANSWERED = 0
NOT_ANSWERED = 2
RESULTS = Path("results/arms")
FILE_STEM = "plugin_delta"


def plugin_delta(
    baseline_json: Annotated[Path, typer.Option(help="arms.v1 file of the control, most often the cell without plugins.")],
    plugin_json: Annotated[Path, typer.Option(help="arms.v1 file of the same cell with the plugins.")],
    out_json: Annotated[Path | None, typer.Option(show_default=f"{RESULTS}/{FILE_STEM}.json", help="plugin_delta.v1 file.")] = None,
    out_md: Annotated[Path | None, typer.Option(show_default=f"{RESULTS}/{FILE_STEM}.md", help="Markdown report.")] = None,
    out_html: Annotated[Path | None, typer.Option(help="HTML report, with a plot; none is written without.")] = None,
    stats_correction: Annotated[Correction, typer.Option(help="Of the p-values, over the arms.")] = "holm",
    json_result: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Compare two runs of one cell, with and without a plugin set: points, costs and lengths, arm by arm. No model is called.

    Runs that differ in anything but their plugin set are refused: every reason is named, nothing is written, and the exit code is 2. It is
    2 as well, with everything written, when an arm was scored in both runs for under 95% of the questions.
    """
    from evalplatform.comparisons.plugin_delta import plugin_delta as compared
    from evalplatform.comparisons.refusals import Refused
    from evalplatform.reports.compared_run_file import read_compared_run
    from evalplatform.reports.plugin_delta_report import plugin_delta_page

    targets = _targets(out_json=out_json, out_md=out_md, out_html=out_html, inputs=(baseline_json, plugin_json))
    names = _run_names(baseline_json, plugin_json)
    baseline, plugin = (read_compared_run(path, name=name) for path, name in zip((baseline_json, plugin_json), names, strict=True))
    delta = compared(baseline, plugin, correction=stats_correction)
    if isinstance(delta, Refused):
        return _told_refused(delta, targets, as_json=json_result)
    page = plugin_delta_page(delta)
    return _told(delta, page, _written(delta, page, targets), as_json=json_result)


def _targets(*, out_json: Path | None, out_md: Path | None, out_html: Path | None, inputs: Sequence[Path]) -> dict[str, Path]:
    """Return where each form of the delta goes, no two of them to one place, and none to that of a file that is read."""
    from evalplatform.cli.console import found_project_file
    from evalplatform.cli.files import check_places

    project_file = found_project_file()
    # Beside the project file, not in the working directory: that may be a folder of documents, which the report would then be one of.
    folder = RESULTS if project_file is None else Path(os.path.relpath(project_file.parent / RESULTS))
    targets = {"--out-json": out_json or folder / f"{FILE_STEM}.json", "--out-md": out_md or folder / f"{FILE_STEM}.md"}
    if out_html is not None:
        targets["--out-html"] = out_html
    check_places(targets.items(), inputs=[*inputs, *([] if project_file is None else [project_file])])
    return targets


def _run_names(*paths: Path) -> list[str]:
    """Return what reports call the files: their names without ending, or with as many folders as tell them apart."""
    parts = [path.absolute().with_suffix("").parts for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(of_path[-length:]) for of_path in parts]
        if len(set(names)) == len(names):
            return names
    return [path.stem for path in paths]


def _written(delta: "PluginDelta", page: "Page", targets: dict[str, Path]) -> list[Path]:
    """Write the delta's forms where they go, and return their paths."""
    from evalplatform.cli.files import check_writable, write_if_changed
    from evalplatform.reports.page import page_html, page_markdown
    from evalplatform.reports.plugin_delta_v1 import plugin_delta_bytes

    for option, path in targets.items():
        check_writable(path, field=option)
    forms = {"--out-json": plugin_delta_bytes(delta), "--out-md": page_markdown(page).encode()}
    if "--out-html" in targets:
        forms["--out-html"] = page_html(page).encode()
    for option, path in targets.items():
        write_if_changed(path, forms[option])
    return list(targets.values())


def _told(delta: "PluginDelta", page: "Page", written: list[Path], *, as_json: bool) -> int:
    from evalplatform.cli.console import say
    from evalplatform.comparisons.plugin_delta_records import FewPairs
    from evalplatform.reports.plugin_delta_v1 import plugin_delta_payload
    from evalplatform.reports.plugin_delta_words import delta_warning
    from evalplatform.reports.visible import one_line

    few = next((warning for warning in delta.warnings if isinstance(warning, FewPairs)), None)
    shortfall = None if few is None else delta_warning(few)
    for notice in page.notices:
        if notice.text != shortfall:
            say(f"{'note' if notice.level == 'note' else 'warning'}: {one_line(notice.text)}")
    if as_json:
        _echo_json({"delta": plugin_delta_payload(delta), "refusals": [], "files": [os.fspath(path) for path in written]})
    else:
        typer.echo(one_line(f"{page.title} ({page.subtitle})"))
        for found in page.findings:
            typer.echo(one_line(f"{found.sentence}: {found.evidence}"))
        for path in written:
            say(f"wrote {path}")
    if shortfall is None:
        return ANSWERED
    say(f"error: {one_line(shortfall)}")
    return NOT_ANSWERED


def _told_refused(refused: "Refused", targets: dict[str, Path], *, as_json: bool) -> int:
    from evalplatform.cli.console import say
    from evalplatform.reports.refusal_words import refusal_sentence
    from evalplatform.reports.visible import one_line

    sentences = [one_line(refusal_sentence(refusal)) for refusal in refused.refusals]
    if as_json:
        refusals = [{**refusal.model_dump(), "sentence": text} for refusal, text in zip(refused.refusals, sentences, strict=True)]
        _echo_json({"delta": None, "refusals": refusals, "files": []})
    for sentence in sentences:
        say(f"error: {sentence}")
    say("No delta was computed, and nothing was written.")
    for path in targets.values():
        if path.exists():
            say(f"warning: {path} is of an earlier comparison and stays as it is.")
    return NOT_ANSWERED


def _echo_json(result: dict[str, object]) -> None:
    import orjson

    typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
