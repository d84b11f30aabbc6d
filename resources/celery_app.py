"""The Celery app of a worker: `celery -A resources.celery_app worker -Q dagster`.

Broker and result store are those of `run_launcher` in the instance's dagster.yaml, so that they stand in one place. `dagster-celery worker`
reads its broker from elsewhere.
"""

import dagster as dg
from celery import Celery  # type: ignore[import-untyped]  # it ships no types
from dagster_celery.tasks import create_execute_job_task, create_resume_job_task

from evalplatform.kernel.errors import InputError
from resources.celery_launcher import WatchedCeleryRunLauncher


def worker_app() -> Celery:
    """Return the app of the instance that DAGSTER_HOME names, with the tasks that execute runs.

    Raises:
        InputError: the instance launches runs in another way.
    """
    with dg.DagsterInstance.get() as instance:
        launcher = instance.run_launcher
        if not isinstance(launcher, WatchedCeleryRunLauncher):
            raise InputError(
                f"must be resources.celery_launcher.WatchedCeleryRunLauncher for a Celery worker (is {type(launcher).__name__}).",
                file="dagster.yaml",
                field="run_launcher",
            )
        celery = launcher.celery
    create_execute_job_task(celery)
    create_resume_job_task(celery)
    return celery


app = worker_app()
