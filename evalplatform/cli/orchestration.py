"""The commands that drive Dagster. It is imported inside functions: it costs two seconds, and most commands need none of it."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evalplatform.calls.counts import CallCounts
from evalplatform.calls.progress import OnProgress
from evalplatform.cli.console import say, shown_progress
from evalplatform.cli.results import counts_words, result_lines
from evalplatform.cli.starter import copy_example
from evalplatform.kernel.errors import EvalplatformError, RunStoppedError, StorageUnavailableError
from evalplatform.kernel.text import plural
from evalplatform.kernel.usage import known_sum
from evalplatform.project.load import PROJECT_FILE_NAME, PROJECT_VARIABLE, Project, load_project
from evalplatform.stages import arm_summary, arms_report
from evalplatform.stages.facts import report_facts
from evalplatform.stages.score_stages import SCORE_STAGES
from evalplatform.wiring import OpenedProject

if TYPE_CHECKING:
    import dagster as dg

DEFAULT_DEMO_FOLDER = Path("evalplatform-demo")

# Telemetry and the newsletter pop-up are off; a slot of a cancelled run is freed, which Dagster otherwise keeps for ever.
# Endpoint limits hold inside a run, so one run at a time keeps them whatever is launched.
INSTANCE_SETTINGS = """\
telemetry:
  enabled: false
nux:
  enabled: false
run_monitoring:
  enabled: true
  free_slots_after_run_end_seconds: 60
concurrency:
  runs:
    max_concurrent_runs: 1 # an endpoint's limits hold inside a run; raise it where cells do not share endpoints
"""
WORKSPACE = """\
load_from:
  - python_module: evalplatform.definitions
"""


def prepare_dagster_home(project: Project) -> Path:
    """Return the project's Dagster home, with its settings and a workspace file written where they are missing.

    Raises:
        StorageUnavailableError: the folder cannot be made or written.
    """
    home = project.state_folder / "dagster"
    try:
        home.mkdir(parents=True, exist_ok=True)
        for name, text in (("dagster.yaml", INSTANCE_SETTINGS), ("workspace.yaml", WORKSPACE)):
            if not (home / name).exists():
                (home / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageUnavailableError(f"the folder {home} cannot be written: {error.strerror or error}.") from error
    return home


def register_project(project: Project, home: Path) -> None:
    """Register the project's cells and judges as partitions in the Dagster instance of `home`."""
    with _instance(home) as instance:
        _register(instance, project)


def run_demo(folder: Path | None) -> int:
    """Run the example project's main job through Dagster and print what came out; a second run asks nothing."""
    project = load_project(copy_example(folder or DEFAULT_DEMO_FOLDER))
    home = prepare_dagster_home(project)
    os.environ["DAGSTER_HOME"] = os.fspath(home)
    os.environ[PROJECT_VARIABLE] = os.fspath(project.root)
    say(f"project {project.settings.project} in {_shown(project.root)}")
    with shown_progress() as on_progress:
        calls = materialize_project(project, home, on_progress=on_progress)
    return _print_results(project, calls)


def materialize_project(project: Project, home: Path, *, on_progress: OnProgress) -> CallCounts:
    """Materialize every asset of every suite in order: sources, each cell's answers, each judge's scores, summary and report.

    Returns:
        The calls that were made; all zero where nothing had changed.

    Raises:
        EvalplatformError: whatever a stage raises, and RunStoppedError where one was stopped; what was materialized before stays.
    """
    import dagster as dg

    from assets.partitions import CELL, JUDGE
    from assets.suites import suite_assets

    results = []
    with _instance(home) as instance:
        _register(instance, project)
        for suite_id in project.settings.suites:
            assets = suite_assets(suite_id, description="")
            resources = _resources(project, on_progress)
            materialize = partial(_materialize, assets, suite_id=suite_id, instance=instance, resources=resources)
            results.append(materialize(("question_set", "corpus")))
            for cell in project.cells_of(suite_id):
                results.append(materialize(("arm_answers",), cell.key))
                for judge in project.judges_of(suite_id):
                    key = dg.MultiPartitionKey({CELL: cell.key, JUDGE: judge.key})
                    results.append(materialize([stage.asset for stage in SCORE_STAGES], key))
    return _calls_of(results)


def _materialize(
    assets: "Sequence[dg.AssetsDefinition]",
    names: Sequence[str],
    partition_key: str | None = None,
    *,
    suite_id: str,
    instance: "dg.DagsterInstance",
    resources: Mapping[str, object],
) -> "dg.ExecuteInProcessResult":
    import dagster as dg

    from assets.declared import SUITE_TAG, asset_key

    say(f"suite {suite_id}: {', '.join(names)}{'' if partition_key is None else f' of {partition_key}'}")
    try:
        return dg.materialize(
            list(assets),
            selection=[asset_key(suite_id, name) for name in names],
            partition_key=partition_key,
            resources=resources,
            instance=instance,
            tags={SUITE_TAG: suite_id},
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},  # what fails is raised, and said once
        )
    except dg.Failure as failure:
        raise failure.__cause__ if isinstance(failure.__cause__, EvalplatformError) else RunStoppedError(failure.description) from failure


def _resources(project: Project, on_progress: OnProgress) -> dict[str, object]:
    """Return the project's resources, progress shown here instead of in each step's log."""
    import dagster as dg

    from resources import project_resources
    from resources.project import ProjectResource

    class ShownProjectResource(ProjectResource):
        def on_progress(self, context: dg.AssetExecutionContext) -> OnProgress:
            return on_progress

    file = project.file or project.root / PROJECT_FILE_NAME
    return {**project_resources(file), "project": ShownProjectResource(project_file=os.fspath(file))}


def _calls_of(results: "Sequence[dg.ExecuteInProcessResult]") -> CallCounts:
    """Return the calls that the materializations report."""
    tallies = dict.fromkeys(("paid", "replayed", "shared", "failed", "unpriced"), 0)
    paid_usd = []
    for result in results:
        for event in result.get_asset_materialization_events():
            metadata = event.materialization.metadata
            for name in tallies:
                if f"calls_{name}" in metadata:
                    tallies[name] += int(str(metadata[f"calls_{name}"].value))
            if "paid_usd" in metadata:
                paid_usd.append(float(str(metadata["paid_usd"].value)))
    return CallCounts(**tallies, paid_usd=known_sum(paid_usd))


def _instance(home: Path) -> "dg.DagsterInstance":
    import dagster as dg

    return dg.DagsterInstance.from_config(os.fspath(home))


def _register(instance: "dg.DagsterInstance", project: Project) -> None:
    from assets.partitions import register_partitions

    register_partitions(instance, project)


def _print_results(project: Project, calls: CallCounts) -> int:
    """Print every cell's result under every judge, what it cost, and where the reports and the UI are; return the exit code."""
    complete = True
    with OpenedProject(project) as opened:
        for suite_id in project.settings.suites:
            context = opened.suite_context(suite_id)
            for cell in project.cells_of(suite_id):
                for judge in project.judges_of(suite_id):
                    manifest = context.upstream(arms_report.ASSET, arm_summary.partition(cell, judge))
                    facts = report_facts(manifest)
                    complete = complete and facts.complete
                    typer.echo(f"\n{suite_id}: {cell.id} ({cell.provider}:{cell.model}), judged by {judge.id} ({judge.settings.kind})")
                    for line in result_lines(facts.result):
                        typer.echo(line)
                    typer.echo(f"report: {opened.shown_path(manifest, arms_report.HTML_FILE)}")
    nothing = calls.paid + calls.replayed + calls.shared + calls.failed == 0
    typer.echo(f"\ncost: {plural(0, 'model call')}; nothing changed since the last run" if nothing else f"\ncost: {counts_words(calls)}")
    typer.echo(f"UI: {PROJECT_VARIABLE}={_shown(project.root)} {_this_command()} dev, then http://127.0.0.1:3000")
    if not complete:
        say("error: some answers or scores failed; the reports count them with their reasons. The same command asks only those again.")
    return 0 if complete else 2


def _this_command() -> str:
    """Return how this command can be typed: by its name where PATH finds it, else by its path."""
    return "evalplatform" if shutil.which("evalplatform") else _shown(Path(sys.executable).with_name("evalplatform"))


def _shown(path: Path) -> str:
    """Return a path as short as it can be said from here."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else os.fspath(path)
