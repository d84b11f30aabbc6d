"""Pushing a bundle: what goes in, what is refused and where it stands, and what a kill leaves."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evalplatform.adapters.batches import sql
from evalplatform.adapters.batches.open import open_batch_store
from evalplatform.adapters.batches.sql import SqlBatchStore
from evalplatform.adapters.stores.memory import MemoryStore
from evalplatform.adapters.stores.open import open_store
from evalplatform.artifacts.blobs import blob_key, get_blob
from evalplatform.kernel.errors import BundleError, StorageUnavailableError
from evalplatform.ports.batches import AddedBatch
from evalplatform.ports.object_store import ObjectStore
from evalplatform.runs.bundle import read_bundle
from evalplatform.runs.trajectory import trajectory_bytes
from evalplatform.stages import push as push_stage
from evalplatform.stages.push import push_bundle
from tests.support.bundle_files import trajectory_of, write_bundle
from tests.support.recorded_batches import NOW

REPOSITORY = Path(__file__).parents[2]


class RefusingStore(MemoryStore):
    """A store that is away."""

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        raise StorageUnavailableError("the store does not answer.")

    def exists(self, key: str) -> bool:
        raise StorageUnavailableError("the store does not answer.")


@pytest.fixture
def batches(tmp_path: Path) -> Iterator[SqlBatchStore]:
    store = open_batch_store(f"sqlite:///{tmp_path}/batches.db", project="probe", tenant="default")
    yield store
    store.close()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def pushed(path: Path, batches: SqlBatchStore, store: ObjectStore) -> AddedBatch:
    return push_bundle(path, project="probe", tenant="default", batches=batches, store=store, actor="ana", now=NOW)


def trajectories_are_there(batches: SqlBatchStore, store: ObjectStore, batch_id: str) -> bool:
    runs = [run for run in batches.runs(batch_id) if run.trajectory_digest is not None]
    return [get_blob(store, str(run.trajectory_digest)) for run in runs] == [trajectory_bytes(trajectory_of(run)) for run in runs]


def edited_line(path: Path, number: int, change: Callable[[str], str]) -> Path:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    path.write_text("".join(lines), encoding="utf-8")
    return path


def edited_run(path: Path, number: int, **changes: object) -> Path:
    def change(line: str) -> str:
        recorded = json.loads(line)
        recorded["run"].update(changes)
        return json.dumps(recorded) + "\n"

    return edited_line(path, number, change)


def test_a_bundle_becomes_a_batch_with_its_trajectories(tmp_path: Path, batches: SqlBatchStore, store: MemoryStore) -> None:
    path = write_bundle(tmp_path / "b.jsonl", {"refund": "PFA", "cancel": "PHU"})
    added = pushed(path, batches, store)
    assert added == AddedBatch(batch=read_bundle(path).batch, already_there=False)
    assert tuple(batches.runs(added.batch.id)) == read_bundle(path).runs
    assert trajectories_are_there(batches, store, added.batch.id)


def test_trajectories_of_many_chunks_all_arrive(
    tmp_path: Path, batches: SqlBatchStore, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_stage, "CHUNK_TRAJECTORIES", 2)
    monkeypatch.setattr(sql, "CHUNK_ROWS", 3)
    added = pushed(write_bundle(tmp_path / "b.jsonl", {"refund": "PPPPP", "cancel": "FF"}), batches, store)
    assert trajectories_are_there(batches, store, added.batch.id)


def test_the_same_bundle_again_is_there_already_and_touches_no_store(tmp_path: Path, batches: SqlBatchStore, store: MemoryStore) -> None:
    path = write_bundle(tmp_path / "b.jsonl", {"refund": "PF"})
    first = pushed(path, batches, store)
    again = pushed(path, batches, RefusingStore())
    assert again == AddedBatch(batch=first.batch, already_there=True)
    assert len(list(batches.batches())) == 1


def test_an_unfinished_bundle_is_refused_with_what_to_do_and_a_truncated_one_is_not(
    tmp_path: Path, batches: SqlBatchStore, store: MemoryStore
) -> None:
    with pytest.raises(BundleError, match=r"open\.jsonl: is not finished.*The same command with `--out .*` goes on"):
        pushed(write_bundle(tmp_path / "open.jsonl", {"refund": "PF"}, finished=False), batches, store)
    with pytest.raises(BundleError, match=r"imported\.jsonl: is not finished: .*Import the traces again into a new file"):
        pushed(write_bundle(tmp_path / "imported.jsonl", {"refund": "PF"}, finished=False, origin="import"), batches, store)
    truncated = write_bundle(tmp_path / "cut.jsonl", {"refund": "PF"}, truncated_reason="the spend cap of $1 was reached")
    assert pushed(truncated, batches, store).batch.truncated_reason == "the spend cap of $1 was reached"


def refused(path: Path, batches: SqlBatchStore, store: MemoryStore, match: str) -> None:
    with pytest.raises(BundleError, match=match):
        pushed(path, batches, store)
    assert list(batches.batches()) == list(store.list("blobs/")) == [], "nothing of a bundle that cannot be used is stored"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tools": ["look\x00up"]}, r"b\.jsonl:3: run\.tools\.0: holds a NUL character, which a database cannot store"),
        ({"tools": ["a"]}, r"b\.jsonl:3: names other tools than its trajectory calls"),
        ({"violations": [{"policy": "ssn", "step": 5}]}, r"b\.jsonl:3: has a violation at step 5, and its trajectory ends at step 4"),
        ({"step_count": 5}, r"b\.jsonl:3: says 5 steps, and its trajectory has 4"),
        ({"trajectory_digest": "sha256:1"}, r"b\.jsonl:3: names the trajectory sha256:1, and the one beside it is sha256:"),
        ({"scenario_id": "cancel"}, r"b\.jsonl:3: holds run 0 of 'cancel' twice"),
        ({"outcome": "fine"}, r"b\.jsonl:3: run\.outcome: is no line of a bundle"),
        ({"order": 50}, r"b\.jsonl:3: run\.order: is no line of a bundle"),
    ],
)
def test_what_is_wrong_with_a_run_is_said_by_its_line_and_nothing_is_stored(
    tmp_path: Path, batches: SqlBatchStore, store: MemoryStore, changes: dict[str, object], message: str
) -> None:
    path = write_bundle(tmp_path / "b.jsonl", {"cancel": "P", "refund": "P"})
    refused(edited_run(path, 3, **changes), batches, store, message)


def test_a_run_without_the_trajectory_that_it_names_is_refused(tmp_path: Path, batches: SqlBatchStore, store: MemoryStore) -> None:
    path = write_bundle(tmp_path / "b.jsonl", {"refund": "P"})
    without = edited_line(path, 2, lambda line: json.dumps(json.loads(line) | {"trajectory": None}) + "\n")
    refused(without, batches, store, r"b\.jsonl:2: names a trajectory that the line does not hold")


def test_a_lone_surrogate_is_refused_by_its_line(tmp_path: Path, batches: SqlBatchStore, store: MemoryStore) -> None:
    path = write_bundle(tmp_path / "b.jsonl", {"refund": "PF"})
    refused(edited_run(path, 3, reason="half \udc00 a pair"), batches, store, r"b\.jsonl:3: is no line of a bundle: .*surrogate")


def test_a_nul_in_the_header_is_refused_by_its_field(tmp_path: Path, batches: SqlBatchStore, store: MemoryStore) -> None:
    path = write_bundle(tmp_path / "b.jsonl", {"refund": "P"}, policy={"note": "a\x00b"})
    refused(path, batches, store, r"b\.jsonl:1: header\.policy\.note: holds a NUL character")


@pytest.mark.parametrize(("what", "name"), [("project", "shop"), ("tenant", "acme")])
def test_a_bundle_of_another_project_or_tenant_is_refused_by_name(
    tmp_path: Path, batches: SqlBatchStore, store: MemoryStore, what: str, name: str
) -> None:
    path = write_bundle(tmp_path / "b.jsonl", {"refund": "P"}, **{what: name})
    refused(path, batches, store, rf"b\.jsonl:1: header\.{what}: was recorded for the {what} '{name}', and this is")


def test_a_bundle_without_a_run_is_refused(tmp_path: Path, batches: SqlBatchStore, store: MemoryStore) -> None:
    refused(write_bundle(tmp_path / "b.jsonl", {}), batches, store, "holds no run")


@pytest.mark.parametrize("text", ["", "{}\n", "not JSON\n", '{"bundle": "bundle.v2"}\n'])
def test_a_file_that_is_no_bundle_is_refused(tmp_path: Path, batches: SqlBatchStore, store: MemoryStore, text: str) -> None:
    (tmp_path / "b.jsonl").write_text(text)
    refused(tmp_path / "b.jsonl", batches, store, r"b\.jsonl:1: .*is no (line of a )?bundle")


def test_without_the_trajectories_there_is_no_batch(tmp_path: Path, batches: SqlBatchStore) -> None:
    path = write_bundle(tmp_path / "b.jsonl", {"refund": "PF"})
    with pytest.raises(StorageUnavailableError):
        pushed(path, batches, RefusingStore())
    assert list(batches.batches()) == []


def killed_push(path: Path, database: str, folder: Path, point: str) -> int:
    command = [sys.executable, "-m", "tests.support.bundle_files", str(path), database, str(folder), point]
    return subprocess.run(command, cwd=REPOSITORY, check=False).returncode


@pytest.mark.parametrize("point", ["put:0", "put:3", "row:0", "row:3", "end", "committed"])
def test_a_push_that_is_killed_leaves_no_batch_or_all_of_it_and_can_be_repeated(tmp_path: Path, point: str) -> None:
    check_killed(tmp_path, f"sqlite:///{tmp_path}/batches.db", point)


@pytest.mark.parametrize("point", ["row:3", "end"])
def test_a_push_into_postgres_that_is_killed_leaves_no_batch(tmp_path: Path, postgres_url: str, point: str) -> None:
    check_killed(tmp_path, postgres_url, point)


def check_killed(tmp_path: Path, database: str, point: str) -> None:
    path, folder = write_bundle(tmp_path / "b.jsonl", {"refund": "PFP", "cancel": "PPF"}), tmp_path / "store"
    assert killed_push(path, database, folder, point) == -signal.SIGKILL
    batches, store = open_batch_store(database, project="probe", tenant="default"), open_store(str(folder))
    try:
        assert [batch.run_count for batch in batches.batches()] == ([6] if point == "committed" else [])
        again = pushed(path, batches, store)
        assert again.already_there is (point == "committed")
        assert tuple(batches.runs(again.batch.id)) == read_bundle(path).runs
        assert trajectories_are_there(batches, store, again.batch.id)
    finally:
        batches.close()


def test_a_trajectory_lies_in_the_store_under_its_digest(tmp_path: Path, batches: SqlBatchStore, store: MemoryStore) -> None:
    added = pushed(write_bundle(tmp_path / "b.jsonl", {"refund": "P"}), batches, store)
    (run,) = batches.runs(added.batch.id)
    assert [info.key for info in store.list("blobs/")] == [blob_key(str(run.trajectory_digest))]
