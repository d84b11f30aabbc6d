"""The opened project as a Dagster resource."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from dagster._core.storage.tags import RETRY_NUMBER_TAG  # the tag of runs that Dagster started again; its name is not public

from evalplatform.calls.progress import OnProgress, Progress
from evalplatform.kernel.errors import EvalplatformError, InputError, ProjectFileError
from evalplatform.project.load import Project, find_project_file, load_project
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.runs_context import RunsContext
from evalplatform.wiring import OpenedProject

LOG_EVERY_SECONDS = 10.0

OpenSuite = Callable[[str], SuiteContext]
"""Opens the suite for the calls of one run id."""


def project_of_code_location() -> Project:
    """Return the project that this code location serves: by EVALPLATFORM_PROJECT, or upward from the working directory.

    Raises:
        ProjectFileError: there is none, or it cannot be used.
    """
    path = find_project_file(Path.cwd(), environ=os.environ)
    if path is None:
        raise ProjectFileError("no evalplatform.yaml here or above; set EVALPLATFORM_PROJECT to the project file or its folder.")
    return load_project(path)


class ProjectResource(dg.ConfigurableResource[None]):
    """Opens the project for a run. The file is read anew for each step, so an edited suite takes effect without a reload."""

    project_file: str

    @contextmanager
    def opened(self, suite_id: str, context: dg.AssetExecutionContext) -> Iterator[SuiteContext]:
        """Open a suite for the body. Calls are grouped as `id_of_spending` says. Raises as `opened_partitions` does."""
        with self.opened_partitions(suite_id, context) as open_suite:
            yield open_suite(id_of_spending(context.run))

    @contextmanager
    def opened_partitions(self, suite_id: str, context: dg.AssetExecutionContext) -> Iterator[OpenSuite]:
        """Open the project for a body of several partitions, and yield what opens the suite for each under a run id of its own.

        A store or a database that is just restarting is waited for: other runs of the same backfill had it before.

        Raises:
            dagster.Failure: in place of an EvalplatformError of the body, with its sentence. What a user wrote wrongly is not tried again.
        """
        try:
            with OpenedProject(load_project(Path(self.project_file)), waits_at_start=True) as opened:
                yield lambda run_id: opened.suite_context(suite_id, run_id=run_id, on_progress=self.on_progress(context))
        except EvalplatformError as error:
            raise failure_of(error) from error

    @contextmanager
    def opened_runs(self) -> Iterator[RunsContext]:
        """Open the agent side of the project for a body. Waits for stores that restart, and raises, as `opened_partitions` does."""
        with self.opened_project() as opened:
            yield opened.runs_context()

    @contextmanager
    def opened_project(self) -> Iterator[OpenedProject]:
        """Open the whole project for a body. Waits for stores that restart, and raises, as `opened_partitions` does."""
        try:
            with OpenedProject(load_project(Path(self.project_file)), waits_at_start=True) as opened:
                yield opened
        except EvalplatformError as error:
            raise failure_of(error) from error

    def on_progress(self, context: dg.AssetExecutionContext) -> OnProgress:
        """Return what is told of progress: the step's log, every ten seconds and at the end of a stage."""
        logged_at = 0.0

        def log(progress: Progress) -> None:
            nonlocal logged_at
            if progress.waits_for or progress.done == progress.total or progress.elapsed_seconds - logged_at >= LOG_EVERY_SECONDS:
                logged_at = progress.elapsed_seconds
                context.log.info(progress_words(progress))

        return log


def id_of_spending(run: dg.DagsterRun) -> str:
    """Return the id that a run's calls, and so its spend cap, are counted under.

    That is the run's own, also where a person executes a run again. A run that Dagster starts again by itself, since its worker died, goes
    on with the count of the first: retries do not raise the cap.
    """
    return run.root_run_id or run.run_id if RETRY_NUMBER_TAG in run.tags else run.run_id


def failure_of(error: Exception) -> dg.Failure:
    """Return what Dagster is told of an error: its sentence, and no retry of what a user wrote wrongly."""
    if isinstance(error, dg.Failure):
        return error
    if isinstance(error, EvalplatformError):
        return dg.Failure(description=str(error), allow_retries=not isinstance(error, InputError))
    return dg.Failure(description=f"something unforeseen went wrong: {type(error).__name__}: {error}")


def progress_words(progress: Progress) -> str:
    """Return progress as one line of a log."""
    if progress.waits_for is not None:
        return f"{progress.stage}: waiting for {progress.waits_for}"
    spent = "" if progress.spent_usd is None else f", ${progress.spent_usd:,.4f}"
    left = f", {progress.eta_seconds:,.0f} s left" if progress.eta_seconds else ""
    calls = "" if progress.paid is None else f", {progress.paid:,} paid, {progress.replayed or 0:,} replayed"
    return f"{progress.stage}: {progress.done:,}/{progress.total:,}, {progress.failed:,} failed{calls}{spent}{left}"
