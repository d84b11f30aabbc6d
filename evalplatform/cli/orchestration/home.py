"""The project's Dagster home: its settings, its instance.

Dagster is imported inside functions: it costs two seconds, and most commands need none of it.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from evalplatform.kernel.errors import StorageUnavailableError
from evalplatform.project.load import Project

if TYPE_CHECKING:
    import dagster as dg

# Telemetry and the newsletter pop-up are off; a slot of a cancelled run is freed, which Dagster otherwise keeps for ever.
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
    max_concurrent_runs: 1 # each is a process of its own; more where the machine bears it
  pools: # one run at a time asks an endpoint, since its limits hold inside a run
    granularity: run
    default_limit: 1
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


def dagster_home(project: Project, *, environ: Mapping[str, str]) -> Path:
    """Return the Dagster home that DAGSTER_HOME names, as a deployment does, else the project's own, made where it is missing."""
    named = environ.get("DAGSTER_HOME")
    return Path(named) if named else prepare_dagster_home(project)


def register_project(project: Project, home: Path) -> None:
    """Register the project's cells and judges as partitions in the Dagster instance of `home`."""
    with open_instance(home) as instance:
        register(instance, project)


def open_instance(home: Path) -> "dg.DagsterInstance":
    """Open the Dagster instance of a home; use it as a context manager."""
    import dagster as dg

    return dg.DagsterInstance.from_config(os.fspath(home))


def register(instance: "dg.DagsterInstance", project: Project) -> None:
    """Register the project's cells and judges as partitions in an instance."""
    from assets.partitions import register_partitions

    register_partitions(instance, project)
