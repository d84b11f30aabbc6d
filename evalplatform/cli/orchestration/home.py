"""The project's Dagster home: its settings, its instance.

Dagster is imported inside functions: it costs two seconds, and most commands need none of it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from evalplatform.cli.orchestration.instance import open_instance
from evalplatform.kernel.errors import InputError, StorageUnavailableError
from evalplatform.project.load import Project

if TYPE_CHECKING:
    import dagster as dg

HOME_VARIABLE = "DAGSTER_HOME"

# Telemetry and the newsletter pop-up are off; a slot of a cancelled run is freed, which Dagster otherwise keeps for ever.
INSTANCE_SETTINGS = """\
telemetry:
  enabled: false
nux:
  enabled: false
run_monitoring:
  enabled: true
  poll_interval_seconds: 30
  free_slots_after_run_end_seconds: 60
concurrency:
  runs:
    max_concurrent_runs: 2 # each is a process of its own; more where the machine bears it
    tag_concurrency_limits:
      - key: evalplatform/night
        limit: 1 # less than the above: nights leave places to everything else
  pools: # one run at a time asks an endpoint, since its limits hold inside a run
    granularity: run
    default_limit: 1
run_launcher: # Dagster's own, but for runs that died with their code server: those it would take for going on
  module: resources.local_launcher
  class: WatchedRunLauncher
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
    """Return the Dagster home that DAGSTER_HOME names, as a deployment does, else the project's own, made where it is missing.

    Raises:
        InputError: DAGSTER_HOME is set, and is not the absolute path of a folder that is there.
        StorageUnavailableError: the project's own cannot be made.
    """
    return named_home(environ) or prepare_dagster_home(project)


def named_home(environ: Mapping[str, str]) -> Path | None:
    """Return the folder that DAGSTER_HOME names, or None where it is not set.

    Raises:
        InputError: it is not the absolute path of a folder that is there; Dagster makes none.
    """
    named = environ.get(HOME_VARIABLE)
    if not named:
        return None
    home = Path(named).expanduser()
    if not home.is_absolute() or not home.is_dir():
        found = "is no folder that is there" if home.is_absolute() else "is a relative path"
        raise InputError(f"must be the absolute path of a folder that is there; {named!r} {found}.", field=HOME_VARIABLE)
    return home


def register_project(project: Project, home: Path) -> None:
    """Register the project's cells and judges as partitions in the Dagster instance of `home`."""
    with open_instance(home) as instance:
        register(instance, project)


def register(instance: "dg.DagsterInstance", project: Project) -> None:
    """Register the project's cells and judges as partitions in an instance."""
    from assets.partitions import register_partitions

    register_partitions(instance, project)
