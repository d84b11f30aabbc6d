from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evalplatform.adapters.stores.local import LocalStore
from evalplatform.adapters.stores.memory import MemoryStore
from evalplatform.artifacts.catalog import ArtifactCatalog, file_key
from evalplatform.artifacts.records import ArtifactId, ArtifactManifest, UpstreamVersion
from evalplatform.kernel.errors import DigestMismatchError, InputError, ObjectNotFoundError, StorageError, UnknownNameError
from evalplatform.ports.object_store import ObjectStore

ANSWERS = ArtifactId(suite="docs", asset="arm_answers", partition="small-1a2b3c")
SCORES = ArtifactId(suite="docs", asset="judged_scores", partition="small-1a2b3c/points-4d5e6f")
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def write(
    store: ObjectStore, files: dict[str, bytes], *, artifact: ArtifactId = ANSWERS, data_version: str = "aaaa000000000001", hour: int = 0
) -> ArtifactManifest:
    return ArtifactCatalog(store).write(
        artifact,
        data_version=data_version,
        code_version="1",
        created_at=NOON + timedelta(hours=hour),
        files=files,
        inputs={"question_set": "sha256:" + "1" * 64},
        lineage=(UpstreamVersion(artifact=ArtifactId(suite="docs", asset="question_set"), data_version="bbbb000000000001"),),
        facts={"answers": 2, "cost_usd": None, "arms": ["plain", "skill"]},
    )


def test_a_written_artifact_is_current_and_reads_back_whole() -> None:
    store = MemoryStore()
    catalog = ArtifactCatalog(store)
    written = write(store, {"answers.parquet": b"PAR1", "report.md": b"# Report", "empty.bin": b""})
    current = catalog.current(ANSWERS)
    assert current == written
    assert current is not None
    assert {name: catalog.read(current, name) for name in current.files} == {
        "answers.parquet": b"PAR1",
        "report.md": b"# Report",
        "empty.bin": b"",
    }
    assert {name: file.media_type for name, file in current.files.items()} == {
        "answers.parquet": "application/vnd.apache.parquet",
        "report.md": "text/markdown; charset=utf-8",
        "empty.bin": "application/octet-stream",
    }
    assert (current.facts["answers"], current.lineage[0].artifact.partition) == (2, "all")


def test_an_artifact_that_was_never_written_has_no_version() -> None:
    catalog = ArtifactCatalog(MemoryStore())
    assert catalog.current(ANSWERS) is None
    assert catalog.version(ANSWERS, "aaaa000000000001") is None
    assert catalog.versions(ANSWERS) == []
    assert list(catalog.list()) == []


def test_writing_the_same_version_again_changes_nothing() -> None:
    store = MemoryStore()
    first = write(store, {"a.json": b"1"})
    before = {found.key: store.get(found.key) for found in store.list("")}
    assert write(store, {"a.json": b"1"}, hour=5) == first
    assert {found.key: store.get(found.key) for found in store.list("")} == before


def test_a_complete_version_wins_over_other_bytes_under_its_name() -> None:
    store = MemoryStore()
    first = write(store, {"a.json": b"1"})
    assert write(store, {"a.json": b"2"}) == first
    assert ArtifactCatalog(store).read(first, "a.json") == b"1"


def test_going_back_to_an_old_version_moves_the_pointer_alone() -> None:
    store = MemoryStore()
    catalog = ArtifactCatalog(store)
    old = write(store, {"a.json": b"old"})
    new = write(store, {"a.json": b"new"}, data_version="aaaa000000000002", hour=1)
    assert catalog.current(ANSWERS) == new
    write(store, {"a.json": b"old"}, hour=2)
    assert catalog.current(ANSWERS) == old
    assert catalog.versions(ANSWERS) == [old, new]


class KilledError(Exception):
    """The process ends here."""


class StoreThatKills(MemoryStore):
    """Lets a number of writes through and ends the process at the next."""

    def __init__(self) -> None:
        super().__init__()
        self.writes_left = 1_000

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        if self.writes_left == 0:
            raise KilledError
        self.writes_left -= 1
        super().put(key, data, if_absent=if_absent)


@pytest.mark.parametrize("writes", range(4))
def test_killed_before_any_write_the_old_version_stays_and_a_rerun_completes_the_new_one(writes: int) -> None:
    store = StoreThatKills()
    catalog = ArtifactCatalog(store)
    old = write(store, {"a.json": b"old", "b.json": b"old"})
    store.writes_left = writes  # two files, the manifest, the pointer
    with pytest.raises(KilledError):
        write(store, {"a.json": b"new, first try", "b.json": b"same"}, data_version="aaaa000000000002")
    assert catalog.current(ANSWERS) == old
    for manifest in catalog.versions(ANSWERS):
        for name in manifest.files:
            catalog.read(manifest, name)
    store.writes_left = 1_000
    new = write(store, {"a.json": b"new, second try", "b.json": b"same"}, data_version="aaaa000000000002")
    assert catalog.current(ANSWERS) == new
    manifest_was_there = writes == 3
    assert catalog.read(new, "a.json") == (b"new, first try" if manifest_was_there else b"new, second try")


def test_of_racing_writers_with_different_bytes_one_version_comes_out_whole(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda number: write(store, {"a.json": b"%d" % number, "b.json": b"%d" % number}, hour=number), range(8)))
    assert len({manifest.created_at for manifest in written}) == 1
    current = ArtifactCatalog(store).current(ANSWERS)
    assert current == written[0]
    assert ArtifactCatalog(store).read(written[0], "a.json") == ArtifactCatalog(store).read(written[0], "b.json")


def test_artifacts_are_listed_by_name_and_narrowed_down() -> None:
    store = MemoryStore()
    others = [ArtifactId(suite="docs-2", asset="arm_answers"), ArtifactId(suite="docs", asset="arm_answers2"), SCORES, ANSWERS]
    for artifact in others:
        write(store, {"a.json": b"1"}, artifact=artifact)
    catalog = ArtifactCatalog(store)
    assert {artifact.path for artifact in catalog.list()} == {artifact.path for artifact in others}
    assert list(catalog.list(suite="docs", asset="arm_answers")) == [ANSWERS]
    assert [artifact.suite for artifact in catalog.list(asset="arm_answers")] == ["docs-2", "docs"]
    assert list(catalog.list(suite="docs", asset="judged_scores")) == [SCORES]


def test_the_partitions_of_one_cell_are_listed_without_those_of_a_cell_whose_key_starts_alike() -> None:
    store = MemoryStore()
    partitions = ("small/a", "small/b", "small-2/a", "small")
    for partition in partitions:
        write(store, {"a.json": b"1"}, artifact=ArtifactId(suite="docs", asset="judged_scores", partition=partition))
    listed = ArtifactCatalog(store).list(suite="docs", asset="judged_scores", first_key="small")
    assert [artifact.partition for artifact in listed] == ["small/a", "small/b"]


def test_versions_of_a_partition_are_not_mixed_with_those_of_a_partition_below_it() -> None:
    store = MemoryStore()
    above = write(store, {"a.json": b"1"}, artifact=ArtifactId(suite="docs", asset="x", partition="cell"))
    below = write(store, {"a.json": b"2"}, artifact=ArtifactId(suite="docs", asset="x", partition="cell/judge"))
    catalog = ArtifactCatalog(store)
    assert catalog.versions(above.artifact) == [above]
    assert catalog.versions(below.artifact) == [below]


def test_a_file_that_changed_in_the_store_is_never_handed_out() -> None:
    store = MemoryStore()
    manifest = write(store, {"a.json": b"1"})
    store.put(file_key(manifest, "a.json"), b"tampered")
    with pytest.raises(DigestMismatchError):
        ArtifactCatalog(store).read(manifest, "a.json")


def test_an_unknown_file_is_answered_with_the_near_name() -> None:
    store = MemoryStore()
    with pytest.raises(UnknownNameError, match=r"Did you mean 'answers\.parquet'"):
        ArtifactCatalog(store).read(write(store, {"answers.parquet": b"1"}), "answer.parquet")


@pytest.mark.parametrize(
    ("suite", "asset", "partition"),
    [
        ("a/b", "x", "all"),
        ("a", "X", "all"),
        ("a", "x", "cell|judge"),
        ("a", "x", ""),
        ("a", "x", "../up"),
        ("a", "x", "a/b/c/d"),
        ("", "x", "all"),
    ],
)
def test_a_name_that_is_no_safe_key_is_refused(suite: str, asset: str, partition: str) -> None:
    with pytest.raises(InputError):
        ArtifactId(suite=suite, asset=asset, partition=partition)


@pytest.mark.parametrize("name", ["manifest.json", "a/b.json", "../x", "Report.md", ""])
def test_a_file_name_that_is_no_safe_key_or_the_catalogs_own_is_refused(name: str) -> None:
    store = MemoryStore()
    with pytest.raises(InputError):
        write(store, {name: b"1"})
    assert list(store.list("")) == []


def test_facts_that_json_cannot_hold_are_refused_by_name_before_anything_is_written() -> None:
    store = MemoryStore()
    with pytest.raises(InputError, match=r"facts\.mean"):
        ArtifactCatalog(store).write(
            ANSWERS, data_version="v1", code_version="1", created_at=NOON, files={"a.json": b"1"}, facts={"mean": float("nan")}
        )
    assert list(store.list("")) == []


def test_a_damaged_pointer_or_manifest_is_an_error_and_not_an_absent_artifact() -> None:
    store = MemoryStore()
    manifest = write(store, {"a.json": b"1"})
    folder = f"artifacts/{ANSWERS.path}/{manifest.data_version}"
    store.put(f"{folder}/manifest.json", b"{}")
    with pytest.raises(StorageError, match=f"{folder}/manifest.json in memory: is no manifest") as failure:
        ArtifactCatalog(store).current(ANSWERS)
    assert f"Remove {folder}/ and run the suite again: what is still in the ledger" in str(failure.value)
    assert "pydantic" not in str(failure.value)
    store.delete(f"{folder}/manifest.json")
    with pytest.raises(ObjectNotFoundError, match="is gone"):
        ArtifactCatalog(store).current(ANSWERS)
    store.put(f"current/{ANSWERS.path}.json", b"half a poin")
    with pytest.raises(StorageError, match=f"current/{ANSWERS.path}.json in memory: is no pointer. Remove it and run the suite") as failure:
        ArtifactCatalog(store).current(ANSWERS)
    assert "pydantic" not in str(failure.value)


def test_who_looks_at_many_artifacts_passes_over_a_version_that_is_gone_and_over_no_damage() -> None:
    store = MemoryStore()
    manifest = write(store, {"a.json": b"1"})
    catalog = ArtifactCatalog(store)
    assert catalog.find_current(ANSWERS) == manifest
    folder = f"artifacts/{ANSWERS.path}/{manifest.data_version}"
    store.put(f"{folder}/manifest.json", b"{}")
    with pytest.raises(StorageError, match="no manifest"):
        catalog.find_current(ANSWERS)
    store.delete(f"{folder}/manifest.json")
    assert catalog.find_current(ANSWERS) is None
