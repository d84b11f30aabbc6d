"""Object stores that fail: each failure is retried or said, nothing is lost, and no half artifact is ever seen.

Between boto3 and a real SeaweedFS stands a proxy that does what networks and servers do wrong.
"""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.adapters.stores import s3
from evalplatform.adapters.stores.open import check_store, open_store
from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.records import ArtifactId, ArtifactManifest
from evalplatform.kernel.errors import DigestMismatchError, ObjectExistsError, StorageError, StorageUnavailableError
from evalplatform.ports.object_store import ObjectStore
from evalplatform.project.load import load_project
from evalplatform.wiring import OpenedProject
from tests.support.command_line import Ended, run
from tests.support.fault_proxy import FOR_EVER, FaultProxy, Kind, running_fault_proxy
from tests.support.model_stub import running_stub
from tests.support.servers import S3Server
from tests.support.stub_project import RUN, calls_of_a_run, calls_seen, stored_files_are_whole, write_stub_project

pytestmark = pytest.mark.system

KEY = {"STUB_KEY": "key-of-no-value"}
ARTIFACT = ArtifactId(suite="kettle", asset="arm_answers", partition="cell")
OLD, NEW = b"old answers", b"new answers"


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process give an outage up at once; runs of the command line wait for its end as they do."""
    monkeypatch.setattr(s3, "RESTART_SECONDS", 0.0)


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultProxy]:
    with running_fault_proxy(s3_server.endpoint_url) as running:
        yield running


@pytest.fixture
def url(proxy: FaultProxy, s3_server: S3Server) -> str:
    return s3_server.new_url().replace(s3_server.endpoint_url, proxy.url)


@pytest.fixture
def store(url: str) -> ObjectStore:
    return open_store(url)


def written(store: ObjectStore, data: bytes, version: str) -> ArtifactManifest:
    return ArtifactCatalog(store).write(
        ARTIFACT, data_version=version, code_version="1", created_at=datetime(2026, 1, 1, tzinfo=UTC), files={"answers.bin": data}
    )


def current_content(store: ObjectStore) -> bytes:
    """What a reader sees, who knows nothing of what went wrong."""
    catalog = ArtifactCatalog(store)
    manifest = catalog.current(ARTIFACT)
    assert manifest is not None
    return catalog.read(manifest, "answers.bin")


@pytest.mark.parametrize("kind", ["status", "reset", "lost", "slow"])
@pytest.mark.parametrize("method", ["PUT", "GET"])
def test_a_short_fault_is_retried_and_nobody_notices(proxy: FaultProxy, store: ObjectStore, kind: Kind, method: str) -> None:
    fault = proxy.add(kind, method=method, times=2, seconds=0.5)
    written(store, OLD, "0001")
    assert current_content(store) == OLD
    assert fault.times == 0, "it did not happen"


def test_a_body_that_breaks_off_is_read_again(proxy: FaultProxy, store: ObjectStore) -> None:
    store.put("a", bytes(100_000))
    proxy.add("cut", method="GET", times=2)
    assert store.get("a") == bytes(100_000)
    proxy.add("cut", method="GET", times=FOR_EVER)
    with pytest.raises(StorageUnavailableError, match="does not answer"):
        store.get("a")


def test_bytes_that_change_on_the_way_are_read_again_and_never_used(proxy: FaultProxy, store: ObjectStore) -> None:
    written(store, OLD, "0001")
    proxy.add("changed", method="GET", path="answers.bin", times=1)
    assert current_content(store) == OLD
    proxy.add("changed", method="GET", path="answers.bin", times=FOR_EVER)
    with pytest.raises(DigestMismatchError, match=r"was written as sha256:\w+ and reads as sha256:.*run the suite again"):
        current_content(store)


def test_a_store_that_changes_what_it_gives_back_is_found_before_anything_is_paid_for(proxy: FaultProxy, url: str, tmp_path: Path) -> None:
    with running_stub() as stub:
        folder = write_stub_project(tmp_path / "project", stub.url, questions=2, storage=url)
        proxy.add("changed", method="GET", path="checks/", times=FOR_EVER)
        stopped = run(*RUN, folder=folder, environment=KEY)
        assert stopped.code == 2
        assert "gave back 100,000 bytes where 100,000 were written" in stopped.err
        assert stub.requests == 0
        proxy.faults.clear()
        assert run(*RUN, folder=folder, environment=KEY).code == 0


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_a_fault_that_lasts_is_said_and_the_same_work_goes_on_after_it(proxy: FaultProxy, store: ObjectStore, kind: Kind) -> None:
    written(store, OLD, "0001")
    proxy.add(kind, method="PUT", times=FOR_EVER)
    with pytest.raises(StorageUnavailableError, match=r"^s3://.* does not answer"):
        written(store, NEW, "0002")
    assert proxy.count("PUT") >= 3 + s3.ATTEMPTS
    assert current_content(store) == OLD
    proxy.faults.clear()
    written(store, NEW, "0002")
    assert current_content(store) == NEW


def test_an_outage_of_some_seconds_is_waited_for(proxy: FaultProxy, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "RESTART_SECONDS", 60.0)
    store = open_store(url)
    written(store, OLD, "0001")
    proxy.down = True
    back = threading.Timer(5, lambda: setattr(proxy, "down", False))
    back.start()
    written(store, NEW, "0002")
    assert current_content(store) == NEW
    assert proxy.count("GET") + proxy.count("PUT") > s3.ATTEMPTS + 10
    back.join()


def test_a_server_that_never_answers_is_given_up_on(proxy: FaultProxy, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "READ_TIMEOUT_SECONDS", 0.5)
    store = open_store(url)
    proxy.add("slow", times=FOR_EVER, seconds=2)
    with pytest.raises(StorageUnavailableError, match=r"does not answer: .*[Tt]imeout"):
        store.get("a")


WRITES_OF_A_VERSION = 3  # its file, its manifest, the pointer


@pytest.mark.parametrize("done", range(WRITES_OF_A_VERSION))
def test_an_outage_after_any_write_of_a_version_leaves_the_old_one_current(proxy: FaultProxy, store: ObjectStore, done: int) -> None:
    written(store, OLD, "0001")
    proxy.add("reset", method="PUT", after=done, times=FOR_EVER)
    with pytest.raises(StorageUnavailableError):
        written(store, NEW, "0002")
    assert current_content(store) == OLD
    proxy.faults.clear()
    assert written(store, NEW, "0002").data_version == "0002"
    assert current_content(store) == NEW


def test_an_answer_lost_by_a_conditional_write_is_found_to_be_its_own(proxy: FaultProxy, store: ObjectStore) -> None:
    proxy.add("lost", method="PUT", path="manifest.json")
    assert written(store, OLD, "0001").data_version == "0001"
    assert current_content(store) == OLD
    proxy.add("lost", method="PUT", path="checks/", times=1)
    check_store(store)
    with pytest.raises(ObjectExistsError):
        store.put("current/kettle/arm_answers/cell.json", b"", if_absent=True)


def test_a_refusal_is_not_retried_and_names_its_reason(proxy: FaultProxy, store: ObjectStore) -> None:
    proxy.add("status", status=403, times=FOR_EVER)
    with pytest.raises(StorageError, match=r"refuses a: .*403"):
        store.put("a", b"")
    assert proxy.count("PUT") == 1


def test_an_outage_midway_through_a_run_keeps_the_old_results_and_asks_no_finished_call_again(
    proxy: FaultProxy, url: str, tmp_path: Path
) -> None:
    def run_of(folder: Path, *more: str) -> Ended:
        return run(*RUN, *more, folder=folder, environment=KEY)

    with running_stub() as stub:
        folder = write_stub_project(tmp_path / "project", stub.url, questions=2, storage=url)
        assert run_of(folder).code == 0
        before = answer_versions(folder)
        ask_more_questions(folder, 5)
        proxy.add("reset", method="PUT", path="/arm_answers/", after=1, times=FOR_EVER)  # the first file of the new answers, then no more
        stopped = run_of(folder)
        assert stopped.code == 2
        assert "error: s3://" in stopped.err
        assert "does not answer" in stopped.err
        assert "the same command goes on from there" in stopped.err
        assert answer_versions(folder) == before
        assert stored_files_are_whole(folder)
        proxy.faults.clear()
        done = run_of(folder, "--json")
        assert done.code == 0, done.err
        assert set(calls_seen(stub).values()) == {1}
        assert stub.requests == calls_of_a_run(5)
        assert json.loads(done.out)["unchanged"] is False
        assert run_of(folder, "--json").out.count('"unchanged": true') == 1


def ask_more_questions(folder: Path, count: int) -> None:
    asked = [{"id": f"q{number:03}", "question": f"What does part {number} of Kettle do?"} for number in range(count)]
    (folder / "questions.json").write_text(json.dumps({"schema_version": "questions.v2", "questions": asked}))


def answer_versions(folder: Path) -> dict[str, str]:
    """The current data version of the answers, by partition."""
    with OpenedProject(load_project(folder / "evalplatform.yaml")) as opened:
        found = [opened.catalog.current(artifact) for artifact in opened.catalog.list(asset="arm_answers")]
    return {manifest.artifact.partition: manifest.data_version for manifest in found if manifest is not None}
