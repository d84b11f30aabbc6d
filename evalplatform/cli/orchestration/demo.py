"""`evalplatform demo`: the example project's main job through Dagster, and what came out. Dagster is imported inside functions."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evalplatform.calls.counts import CallCounts
from evalplatform.calls.progress import OnProgress
from evalplatform.cli.console import say, shown_progress, warn_of_unknown_variables
from evalplatform.cli.orchestration.home import prepare_dagster_home, register
from evalplatform.cli.orchestration.instance import open_instance
from evalplatform.cli.orchestration.runs import SuiteRuns, calls_of
from evalplatform.cli.results import counts_words, finding_lines, interaction_lines, result_lines
from evalplatform.cli.starter import copy_example
from evalplatform.kernel.errors import EvalplatformError, RunStoppedError
from evalplatform.kernel.text import plural
from evalplatform.project.cells import paired_plugin_cells
from evalplatform.project.load import PROJECT_VARIABLE, Project, load_project
from evalplatform.stages import arm_answers, arm_summary, arms_report
from evalplatform.stages.backfill import SOURCES
from evalplatform.stages.comparison_stages import wanted_comparisons
from evalplatform.stages.facts import report_facts
from evalplatform.stages.report_findings import ReportFindings, found_in_reports
from evalplatform.stages.score_stages import suite_stages
from evalplatform.wiring import OpenedProject

if TYPE_CHECKING:
    import dagster as dg

DEFAULT_DEMO_FOLDER = Path("evalplatform-demo")


def run_demo(folder: Path | None) -> int:
    """Run the example project's main job through Dagster and print what came out; a second run asks nothing."""
    warn_of_unknown_variables()
    project = load_project(copy_example(folder or DEFAULT_DEMO_FOLDER))
    home = prepare_dagster_home(project)
    os.environ["DAGSTER_HOME"] = os.fspath(home)
    os.environ[PROJECT_VARIABLE] = os.fspath(project.root)
    say(f"project {project.settings.project} in {_shown(project.root)}")
    with shown_progress() as on_progress:
        calls = materialize_project(project, home, on_progress=on_progress)
    return _print_results(project, calls)


def materialize_project(project: Project, home: Path, *, on_progress: OnProgress) -> CallCounts:
    """Materialize every asset of every suite in order: sources, each cell's answers, what is made of them under each judge, comparisons.

    Returns:
        The calls that were made; all zero where nothing had changed.

    Raises:
        EvalplatformError: whatever a stage raises, and RunStoppedError where one was stopped; what was materialized before stays.
    """
    import dagster as dg

    from assets.partitions import CELL, JUDGE

    results = []
    with open_instance(home) as instance:
        register(instance, project)
        for suite_id, settings in project.settings.suites.items():
            runs = SuiteRuns(project, suite_id, instance, on_progress)
            scored = [stage.asset for stage in suite_stages(settings)]
            results.append(_materialized(runs, SOURCES))
            for cell in project.cells_of(suite_id):
                results.append(_materialized(runs, (arm_answers.ASSET,), cell.key))
                keys = [dg.MultiPartitionKey({CELL: cell.key, JUDGE: judge.key}) for judge in project.judges_of(suite_id)]
                results += [_materialized(runs, scored, key) for key in keys]
            results += _compared(runs)
    return calls_of(results)


def _compared(runs: SuiteRuns) -> "list[dg.ExecuteInProcessResult]":
    """Make what compares the suite's cells under each judge."""
    import dagster as dg

    from assets.partitions import CELL, JUDGE

    cells = runs.project.cells_of(runs.suite_id)
    wanted = wanted_comparisons(cells)
    deltas = [stage.asset for stage in wanted if stage.of_plugin_cells]
    over_cells = [stage.asset for stage in wanted if not stage.of_plugin_cells]
    results = []
    for judge in runs.project.judges_of(runs.suite_id):
        keys = [dg.MultiPartitionKey({CELL: cell.key, JUDGE: judge.key}) for cell in paired_plugin_cells(cells)]
        results += [_materialized(runs, deltas, key) for key in keys]
        results += [_materialized(runs, over_cells, judge.key)] if over_cells else []
    return results


def _materialized(runs: SuiteRuns, names: Sequence[str], *keys: str) -> "dg.ExecuteInProcessResult":
    """Say what is made and make it; a failure is raised as what our own code raised."""
    import dagster as dg

    say(f"suite {runs.suite_id}: {', '.join(names)}{''.join(f' of {key}' for key in keys)}")
    try:
        return runs.materialize(names, keys)
    except dg.Failure as failure:
        raise failure.__cause__ if isinstance(failure.__cause__, EvalplatformError) else RunStoppedError(failure.description) from failure


def _print_results(project: Project, calls: CallCounts) -> int:
    """Print every cell's result under every judge, what it cost, and where the reports and the UI are; return the exit code."""
    complete, findings = True, ReportFindings()
    with OpenedProject(project) as opened:
        for suite_id in project.settings.suites:
            context = opened.suite_context(suite_id)
            reports = []
            for cell in project.cells_of(suite_id):
                for judge in project.judges_of(suite_id):
                    manifest = context.upstream(arms_report.ASSET, arm_summary.partition(cell, judge))
                    reports.append(manifest)
                    facts = report_facts(manifest)
                    complete = complete and facts.complete
                    typer.echo(f"\n{suite_id}: {cell.id} ({cell.provider}:{cell.model}), judged by {judge.id} ({judge.settings.kind})")
                    for line in (*result_lines(facts.result), *interaction_lines(facts.interactions)):
                        typer.echo(line)
                    typer.echo(f"report: {opened.shown_path(manifest, arms_report.HTML_FILE)}")
            findings += found_in_reports(context, reports)
    nothing = calls.paid + calls.replayed + calls.shared + calls.failed == 0
    typer.echo(f"\ncost: {plural(0, 'model call')}; nothing changed since the last run" if nothing else f"\ncost: {counts_words(calls)}")
    typer.echo(f"UI: {PROJECT_VARIABLE}={_shown(project.root)} {_this_command()} dev, then http://127.0.0.1:3000")
    if not complete:
        say("error: some answers or scores failed; the reports count them with their reasons. The same command asks only those again.")
    for line in finding_lines(findings):
        say(line)
    return 0 if complete and not findings.shortfalls else 2


def _this_command() -> str:
    """Return how this command can be typed: by its name where PATH finds it, else by its path."""
    return "evalplatform" if shutil.which("evalplatform") else _shown(Path(sys.executable).with_name("evalplatform"))


def _shown(path: Path) -> str:
    """Return a path as short as it can be said from here."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else os.fspath(path)
