"""What the local launcher says of a run's process: there, gone with its code server, or not known to be either."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import dagster as dg
import grpc
import pytest
from dagster._core.launcher import WorkerStatus
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._grpc.__generated__ import dagster_api_pb2
from dagster._grpc.__generated__.dagster_api_pb2_grpc import DagsterApiServicer, add_DagsterApiServicer_to_server
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import deserialize_value, serialize_value

from resources import local_launcher as module
from resources.local_launcher import WatchedRunLauncher
from tests.support.dev_server import free_port


class _CodeServer(DagsterApiServicer):
    """Answers whether it has a run's process, as Dagster's does, or not in time."""

    def __init__(self, runs: set[str], *, is_slow: bool) -> None:
        self._runs = runs
        self._is_slow = is_slow

    def CanCancelExecution(self, request: dagster_api_pb2.CanCancelExecutionRequest, context: grpc.ServicerContext) -> object:
        if self._is_slow:
            context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "too late")
        asked = deserialize_value(request.serialized_can_cancel_execution_request, CanCancelExecutionRequest)
        answer = serialize_value(CanCancelExecutionResult(can_cancel=asked.run_id in self._runs))
        return dagster_api_pb2.CanCancelExecutionReply(serialized_can_cancel_execution_result=answer)


@contextmanager
def code_server(*runs: dg.DagsterRun, is_slow: bool = False) -> Iterator[int]:
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    add_DagsterApiServicer_to_server(_CodeServer({run.run_id for run in runs}, is_slow=is_slow), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(0).wait()


def launched(port: int) -> dg.DagsterRun:
    return dg.DagsterRun(job_name="a_job", tags={GRPC_INFO_TAG: json.dumps({"host": "127.0.0.1", "port": port})})


def status(run: dg.DagsterRun) -> WorkerStatus:
    return WatchedRunLauncher().check_run_worker_health(run).status


def test_a_run_is_there_while_its_code_server_has_it() -> None:
    run = launched(0)
    with code_server(run) as port:
        assert status(run.with_tags(launched(port).tags)) == WorkerStatus.RUNNING


def test_a_run_has_failed_where_a_new_code_server_does_not_know_it() -> None:
    with code_server() as port:
        assert status(launched(port)) == WorkerStatus.FAILED


def test_a_run_has_failed_where_its_code_server_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASKED_AGAIN_SECONDS", 0.0)
    assert status(launched(free_port())) == WorkerStatus.FAILED


def test_a_code_server_that_is_too_busy_to_answer_fails_no_run() -> None:
    with code_server(is_slow=True) as port:
        assert status(launched(port)) == WorkerStatus.RUNNING


def test_a_run_of_a_command_line_in_the_same_instance_is_left_alone() -> None:
    assert status(dg.DagsterRun(job_name="a_job")) == WorkerStatus.RUNNING
