"""Runs as processes of the code server, with an eye on whether they are still there.

Dagster's default launcher has no answer to run monitoring: the code server fails the runs of which it sees the process die, but nobody
fails those that died with the code server itself. They would read as going on for ever, hold their place in the queue, and keep a night
from being started again.
"""

import json
import time

import dagster as dg
import grpc  # type: ignore[import-untyped]  # it ships no types

# What a launcher answers run monitoring with, and where the default one notes the server of a run: documented, and not exported.
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._grpc.client import DagsterGrpcClient
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult

ASKED_TIMES = 3
ASKED_AGAIN_SECONDS = 1.0
REPLY_SECONDS = 5


class WatchedRunLauncher(dg.DefaultRunLauncher):
    """Dagster's default launcher, whose runs fail when the server that executes them is gone, or no longer has them."""

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Whether run monitoring may ask; it may."""
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Return what became of a started run's process, as the server that it was launched at says."""
        noted = run.tags.get(GRPC_INFO_TAG)
        if noted is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "No code server executes it: a process of its own does, and ends it itself.")
        server = json.loads(noted)
        client = DagsterGrpcClient(
            port=server.get("port"), socket=server.get("socket"), host=server["host"], use_ssl=bool(server.get("use_ssl", False))
        )
        for _ in range(ASKED_TIMES):
            try:
                reply = client.can_cancel_execution(CanCancelExecutionRequest(run_id=run.run_id), timeout=REPLY_SECONDS)
            except DagsterUserCodeUnreachableError as error:
                if _is_slow(error):
                    return CheckRunHealthResult(WorkerStatus.RUNNING, "Its code server is there, and too busy to answer.")
                time.sleep(ASKED_AGAIN_SECONDS)
                continue
            if dg.deserialize_value(reply, CanCancelExecutionResult).can_cancel:
                return CheckRunHealthResult(WorkerStatus.RUNNING)
            return CheckRunHealthResult(WorkerStatus.FAILED, "Its code server no longer has the run's process.")
        return CheckRunHealthResult(WorkerStatus.FAILED, "The code server that executed the run does not answer.")


def _is_slow(error: DagsterUserCodeUnreachableError) -> bool:
    """Whether a server did not answer in time; one that is gone refuses the connection at once."""
    return isinstance(error.__cause__, grpc.RpcError) and error.__cause__.code() == grpc.StatusCode.DEADLINE_EXCEEDED
