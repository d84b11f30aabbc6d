"""What `evalplatform diff` prints and writes, of two batches as a whole or of one scenario."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from itertools import chain
from pathlib import Path

import orjson
import typer

from evalplatform.cli.console import say
from evalplatform.cli.diff import Sides
from evalplatform.cli.diff_outputs import DiffOutputs
from evalplatform.cli.files import write_if_changed
from evalplatform.cli.results import table_lines
from evalplatform.comparisons.batches.compare import compare_batches
from evalplatform.comparisons.batches.records import BatchComparison, ScenarioChange
from evalplatform.comparisons.label_records import VerdictAgreement
from evalplatform.kernel.errors import UnknownNameError
from evalplatform.kernel.text import plural
from evalplatform.reports.batch_comparison_html import batch_comparison_html
from evalplatform.reports.batch_comparison_markdown import batch_comparison_markdown, lines_above, lines_below
from evalplatform.reports.batch_comparison_report import batch_comparison_report
from evalplatform.reports.batch_comparison_v3 import V3Writer
from evalplatform.reports.batch_comparison_view import BatchComparisonReport
from evalplatform.reports.headline_words import baseline_words
from evalplatform.reports.scenario_diff_lines import scenario_diff_lines
from evalplatform.reports.trajectory_columns import trajectory_columns
from evalplatform.stages.batch_diff import RunDiff, diff_page, diff_page_names, diff_pages, first_divergence, opened_run_diff
from evalplatform.stages.batch_gate import NOTHING_PINNED
from evalplatform.stages.gate import GatedComparison, gated_comparison
from evalplatform.stages.gate_baseline import GateBaseline
from evalplatform.stages.gate_view import gate_view
from evalplatform.stages.run_judge_agreement import judge_agreement

PASSES, FAILS, NOT_ANSWERED = 0, 1, 2


def report_batches(sides: Sides, outputs: DiffOutputs) -> int:
    """Compare two batches, write what was asked for, print the result, and return the exit code."""
    data = BytesIO()
    wants_json = outputs.prints_json or outputs.json_file is not None
    writer = V3Writer(data) if wants_json else None
    pinned = sides.pinned or NOTHING_PINNED
    gated = gated_comparison(
        sides.baseline.runs,
        sides.candidate.runs,
        pools=pinned.pools,
        history_error=pinned.history_error,
        on_row=None if writer is None else writer.add,
    )
    comparison = gated.comparison
    baseline = GateBaseline(comparison.baseline, sides.choice, pinned.branch)
    gate = gate_view(gated, baseline, history=pinned.history, judge_agreement=agreement_with_labels(gated, sides))
    divergence = first_divergence(comparison, sides.baseline, sides.candidate)
    if writer is not None:
        writer.finish(comparison, choice=sides.choice, divergence=divergence, gate=gate)

    def report(pages: Mapping[str, str] | None = None) -> BatchComparisonReport:
        return batch_comparison_report(comparison, choice=sides.choice, divergence=divergence, diff_pages=pages, gate=gate)

    write_reports(comparison, sides, outputs, report)
    if outputs.json_file is not None:
        write_and_say(outputs.json_file, data.getvalue())
    if outputs.prints_json:
        typer.echo(data.getvalue().decode(), nl=False)
    else:
        if sides.choice != "named":
            typer.echo(baseline_words(comparison.baseline, comparison.candidate, sides.choice))
        for line in report_lines(report()):
            typer.echo(line)
    return _exit_code(gated)


def print_scenario(sides: Sides, scenario_id: str, outputs: DiffOutputs) -> int:
    """Print where the two runs of one scenario part, write the page if asked for, and return the exit code.

    Raises:
        UnknownNameError: neither batch has the scenario.
    """
    rows: dict[str, ScenarioChange] = {}
    comparison = compare_batches(sides.baseline.runs, sides.candidate.runs, on_row=lambda row: rows.update({row.scenario_id: row}))
    if comparison.counts and scenario_id not in rows:
        raise UnknownNameError("scenario", scenario_id, rows, field="--scenario")
    row = rows.get(scenario_id)
    if row is None:
        for line in lines_above(batch_comparison_report(comparison, choice=sides.choice)):
            typer.echo(line)
        _say_page_is_left_out(outputs)
        return NOT_ANSWERED
    found = opened_run_diff(row, sides.baseline, sides.candidate)
    if found is None:
        _say_page_is_left_out(outputs)
    elif outputs.page is not None:
        write_and_say(outputs.page, diff_page(row, found, comparison).encode())
    if outputs.prints_json:
        typer.echo(orjson.dumps(_scenario_payload(row, found, comparison), option=orjson.OPT_INDENT_2).decode())
    else:
        for line in scenario_diff_lines(row, found):
            typer.echo(line)
        if found is not None:
            typer.echo()
            for line in trajectory_columns(found.baseline, found.candidate, found.diff, width_chars=_terminal_chars()):
                typer.echo(line)
    if row.change == "newly_failing":
        return FAILS
    return NOT_ANSWERED if found is None or row.change == "not_compared" else PASSES


def _say_page_is_left_out(outputs: DiffOutputs) -> None:
    if outputs.page is not None:
        say(f"{outputs.page} was not written: there are no two trajectories to set side by side")


def _terminal_chars() -> int:
    """The terminal's width; 120 where the output is no terminal and COLUMNS is not set."""
    return shutil.get_terminal_size((120, 40)).columns


def agreement_with_labels(gated: GatedComparison, sides: Sides) -> VerdictAgreement | None:
    """Return how far the judge agrees with labels, where a gate policy decides and a project is open."""
    if gated.decision is None or sides.labels is None:
        return None
    return judge_agreement(chain(sides.baseline.runs.runs(), sides.candidate.runs.runs()), sides.labels)


def _exit_code(gated: GatedComparison) -> int:
    if not gated.is_answered:
        return NOT_ANSWERED
    return FAILS if gated.fails else PASSES


def report_lines(report: BatchComparisonReport) -> Iterator[str]:
    """Yield a report as the lines of a terminal."""
    yield from lines_above(report)
    if report.table.rows:
        yield ""
        yield from table_lines(report.table)
    yield from lines_below(report)


def _scenario_payload(row: ScenarioChange, found: RunDiff | None, comparison: BatchComparison) -> dict[str, object]:
    return {
        "baseline": comparison.baseline.id,
        "candidate": comparison.candidate.id,
        "scenario": row.model_dump(mode="json"),
        "trajectory_diff": None
        if found is None
        else {**found.diff.model_dump(mode="json", exclude={"lines"}), "differing_steps": found.diff.differing_steps},
    }


def write_reports(
    comparison: BatchComparison, sides: Sides, outputs: DiffOutputs, report: Callable[[Mapping[str, str]], BatchComparisonReport]
) -> None:
    """Write the diff pages first, then the reports, so that no report leads to a page that there is not yet.

    `report` is given the address of the diff page of each scenario that has one.
    """
    pages = _write_diff_pages(comparison, sides, outputs)
    for path, render in ((outputs.markdown, batch_comparison_markdown), (outputs.page, batch_comparison_html)):
        if path is not None:
            links = {scenario_id: outputs.address(file_name, seen_from=path) for scenario_id, file_name in pages.items()}
            write_and_say(path, render(report(links)).encode())


def _write_diff_pages(comparison: BatchComparison, sides: Sides, outputs: DiffOutputs) -> dict[str, str]:
    """Write the pages of the rows, and return the file names of those that there are, by scenario id."""
    if outputs.diff_folder is None:
        return {}
    names = diff_page_names(comparison)
    written: dict[str, str] = {}
    pages = diff_pages(comparison, sides.baseline, sides.candidate, names=names, comparison_file=outputs.back_link)
    for page in pages:
        write_if_changed(outputs.diff_folder / page.file_name, page.html.encode())
        written[page.scenario_id] = page.file_name
    if written:
        say(f"wrote {plural(len(written), 'trajectory diff')} to {outputs.diff_folder}")
    if len(written) < len(names):
        say(f"{plural(len(names) - len(written), 'row')} without a diff page: a trajectory is no longer kept")
    return written


def write_and_say(path: Path, data: bytes) -> None:
    """Write a result, and say where."""
    write_if_changed(path, data)
    say(f"wrote {path}")
