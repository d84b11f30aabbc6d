"""Runs as Celery tasks, with an eye on the workers that execute them.

A task is acknowledged when it starts, never redelivered while it runs: Redis hands an unacknowledged task to a second worker after a fixed
time, dead or alive, and Dagster fails a run that starts twice. What a killed worker leaves is found by asking it instead, after which run
monitoring fails the run and run retries start it again: finished calls are in the ledger, so that only the missing ones are asked.
"""

from typing import Any

import dagster as dg

# What a launcher answers run monitoring with; the interface of launchers is documented and not exported.
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

ASKED_TIMES = 3
REPLY_SECONDS = 2.0
DAY_SECONDS = 86_400

WORKER_SETTINGS: dict[str, Any] = {
    "worker_prefetch_multiplier": 1,
    "worker_disable_prefetch": True,  # a task that a busy worker holds back dies with it, while another one is idle
    "worker_max_tasks_per_child": 1,  # a process for each run, as everywhere else
    "result_expires": 30 * DAY_SECONDS,  # a run whose state expired while it goes on would read as lost
    "broker_connection_retry_on_startup": True,
}


class WatchedCeleryRunLauncher(CeleryRunLauncher):
    """Dagster's Celery launcher, whose runs fail when their worker is gone. Dagster's own reports a killed worker as running for ever."""

    def app_args(self) -> dict[str, Any]:
        """Return the arguments of the Celery app, for the launcher and for the workers that take it from here."""
        arguments: dict[str, Any] = super().app_args()
        return {**arguments, "config_source": {**arguments["config_source"], **WORKER_SETTINGS}}

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Return what became of a started run's worker: a worker that does not answer, or no longer has the task, has failed."""
        reported: CheckRunHealthResult = super().check_run_worker_health(run)
        if reported.status != WorkerStatus.RUNNING:
            return reported
        task_id = run.tags[DAGSTER_CELERY_TASK_ID_TAG]
        started = self.celery.AsyncResult(task_id).info
        worker = started.get("hostname") if isinstance(started, dict) else None
        if worker is None:
            return reported  # the task has just ended; the next check reads its new state
        for _ in range(ASKED_TIMES):
            answers = self.celery.control.inspect(destination=[worker], timeout=REPLY_SECONDS).query_task(task_id) or {}
            if task_id in answers.get(worker, {}):
                return reported
            if worker in answers:
                return self._without_the_task(run, worker)
        return CheckRunHealthResult(WorkerStatus.FAILED, f"The Celery worker {worker} does not answer.")

    def _without_the_task(self, run: dg.DagsterRun, worker: str) -> CheckRunHealthResult:
        """Return the state that the task ended in while it was asked for; one that still reads as started died with its process."""
        reported: CheckRunHealthResult = super().check_run_worker_health(run)
        if reported.status != WorkerStatus.RUNNING:
            return reported
        return CheckRunHealthResult(WorkerStatus.FAILED, f"The Celery worker {worker} no longer has the run's task.")
