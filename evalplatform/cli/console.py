"""What every command shares: where output goes, how progress looks, how a project is opened."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evalplatform.calls.progress import OnProgress, Progress
from evalplatform.kernel.errors import ProjectFileError
from evalplatform.project.deployment import unknown_variables
from evalplatform.project.load import PROJECT_FILE_NAME, Project, find_project_file, load_project

if TYPE_CHECKING:
    from rich.progress import TaskID

LOG_EVERY_SECONDS = 5.0


def found_project(file: Path | None = None) -> Project | None:
    """Return the project of `--project`, of EVALPLATFORM_PROJECT, or of a folder above the working directory; None where there is none.

    Variables that are misspelt are warned of: what they were to change goes on as if they were not set.
    """
    warn_of_unknown_variables()
    path = found_project_file(file)
    return None if path is None else load_project(path)


def found_project_file(file: Path | None = None) -> Path | None:
    """Return the file of the project that `found_project` returns."""
    path = file if file is not None else find_project_file(Path.cwd(), environ=os.environ)
    return path / PROJECT_FILE_NAME if path is not None and path.is_dir() else path


def warn_of_unknown_variables() -> None:
    """Say which EVALPLATFORM_ variables nothing reads, with the nearest that exists."""
    for name, nearest in unknown_variables(os.environ).items():
        say(f"warning: {name} is set, and nothing reads it.{f' Did you mean {nearest}?' if nearest else ''}")


def required_project(file: Path | None = None) -> Project:
    """Return the project, or raise ProjectFileError that says how to get one."""
    project = found_project(file)
    if project is None:
        raise no_project()
    return project


def no_project() -> ProjectFileError:
    """Return the error of a command that needs a project and finds none."""
    return ProjectFileError(
        f"no {PROJECT_FILE_NAME} here or in any folder above; `evalplatform init DIR` starts a project, "
        "and EVALPLATFORM_PROJECT can name one."
    )


def say(text: str) -> None:
    """Print a line about what is going on; to standard error, so that standard output holds results alone."""
    typer.echo(text, err=True)


@contextmanager
def shown_progress() -> Iterator[OnProgress]:
    """Show progress while the body runs: bars on a terminal, otherwise a log line every few seconds and at each stage's end."""
    if sys.stderr.isatty():
        with _bars() as on_progress:
            yield on_progress
    else:
        yield _log_lines()


def progress_words(progress: Progress) -> str:
    """Return rate, time left, failures and spend as one line, or what is waited for."""
    if progress.waits_for is not None:
        return f"waiting for {progress.waits_for}"
    parts = [f"{progress.done:,}/{progress.total:,}"]
    if progress.per_second is not None:
        parts.append(f"{progress.per_second:,.1f}/s")
    if progress.eta_seconds and progress.done < progress.total:
        parts.append(f"{progress.eta_seconds:,.0f} s left")
    parts.append(f"{progress.failed:,} failed")
    if progress.paid is not None:
        parts.append(f"{progress.paid:,} paid, {progress.replayed or 0:,} replayed")
    if progress.spent_usd is not None:
        parts.append(f"${progress.spent_usd:,.4f}")
    return ", ".join(parts)


def _log_lines() -> OnProgress:
    logged_at: dict[str, float] = {}

    def log(progress: Progress) -> None:
        due = progress.elapsed_seconds - logged_at.get(progress.stage, 0.0) >= LOG_EVERY_SECONDS
        if due or progress.done == progress.total or progress.waits_for is not None:
            logged_at[progress.stage] = progress.elapsed_seconds
            say(f"{progress.stage}: {progress_words(progress)}")

    return log


@contextmanager
def _bars() -> Iterator[OnProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    tasks: dict[str, TaskID] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
    with Bars(*columns, console=Console(stderr=True)) as bars:

        def show(progress: Progress) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bars.add_task(progress.stage, total=progress.total or None, words="")
            bars.update(tasks[progress.stage], total=progress.total or None, completed=progress.done, words=progress_words(progress))

        yield show
