"""The key register: a partition key stands for one thing for ever."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier

import pytest

from evalplatform.adapters.stores.local import LocalStore
from evalplatform.adapters.stores.memory import MemoryStore
from evalplatform.kernel.digests import canonical_json, json_digest
from evalplatform.kernel.errors import DigestMismatchError, InputError, ObjectExistsError, StorageError
from evalplatform.kernel.keys import key_with_digest
from evalplatform.project.cells import Cell, JudgeCell
from evalplatform.project.key_register import KeyMeaning, KeyRegister, meaning_of
from evalplatform.project.load import Project
from tests.support.starter import starter_project

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 4, 1, 12, tzinfo=UTC)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return starter_project(tmp_path / "project")


def other_meaning(meaning: KeyMeaning) -> KeyMeaning:
    """The same key for another model, as if the six digits were alike."""
    behaviour = {**meaning.behaviour, "model": "another"}
    return meaning.with_changes(behaviour=behaviour, digest=json_digest(behaviour))


def test_a_key_is_the_head_of_the_digest_that_is_registered_whole(project: Project) -> None:
    owners: list[Cell | JudgeCell] = [project.cell("reader"), project.judge("facts")]
    for owner in owners:
        meaning = meaning_of(owner, first_seen=NOW)
        assert meaning.digest == json_digest(meaning.behaviour)
        assert meaning.key == f"{owner.id}-{meaning.digest.removeprefix('sha256:')[:6]}" == key_with_digest(owner.id, owner.behaviour)


def test_what_is_registered_says_what_a_reader_needs(project: Project) -> None:
    register = KeyRegister(MemoryStore())
    judge = project.judge("facts")
    register.claim(meaning_of(project.cell("reader"), first_seen=NOW))
    register.claim(meaning_of(judge, first_seen=NOW))
    (cell,) = register.list("cell")
    assert (cell.id, cell.first_seen) == ("reader", NOW)
    assert cell.labels == {"model": "extractive", "provider": "offline", "endpoint": "here", "harness": "arms-runner"}
    (found,) = register.list("judge")
    assert found.labels["kind"] == "overlap"
    assert found.labels["prompt_digest"] == judge.prompt_digest
    assert register.find("judge", cell.key) is None


def test_a_second_claim_of_the_same_meaning_keeps_the_first_time_and_labels(project: Project) -> None:
    store = MemoryStore()
    register = KeyRegister(store)
    first = register.claim(meaning_of(project.cell("reader"), first_seen=NOW))
    moved = project.cell("reader").with_changes(endpoint="renamed")  # another id of the same endpoint: no other meaning
    assert register.claim(meaning_of(moved, first_seen=LATER)) == first


def test_a_key_that_stands_for_something_else_is_refused_with_both_meanings_and_the_way_out(project: Project) -> None:
    register = KeyRegister(MemoryStore())
    meaning = register.claim(meaning_of(project.cell("reader"), first_seen=NOW))
    with pytest.raises(InputError) as refused:
        register.claim(other_meaning(meaning))
    assert str(refused.value) == (
        f"cells.reader: the partition key {meaning.key!r} stands for another cell already, first seen 2026-03-01: model 'extractive' "
        "(now model 'another'). A key is never reused for another meaning: rename the cell 'reader' in the project file, which gives it "
        "a key of its own."
    )
    assert register.find("cell", meaning.key) == meaning


@pytest.mark.parametrize("differing", [False, True])
def test_of_racing_claims_one_wins_and_the_others_agree_or_are_refused(tmp_path: Path, project: Project, differing: bool) -> None:
    register = KeyRegister(LocalStore(tmp_path / "store"))
    meaning = meaning_of(project.cell("reader"), first_seen=NOW)
    claims = [other_meaning(meaning) if differing and number % 2 else meaning for number in range(8)]
    start = Barrier(len(claims))

    def claim(wanted: KeyMeaning) -> KeyMeaning | InputError:
        start.wait()
        try:
            return register.claim(wanted)
        except InputError as refused:
            return refused

    with ThreadPoolExecutor(len(claims)) as pool:
        ended = list(pool.map(claim, claims))
    kept = register.find("cell", meaning.key)
    assert kept in claims
    assert [got for got, wanted in zip(ended, claims, strict=True) if wanted == kept] == [kept] * claims.count(kept)
    assert all(isinstance(got, InputError) for got, wanted in zip(ended, claims, strict=True) if wanted != kept)


class _LateStore(MemoryStore):
    """A store in which somebody else writes the key between the look and the write."""

    def __init__(self, theirs: bytes) -> None:
        super().__init__()
        self._theirs = theirs

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        super().put(key, self._theirs)
        raise ObjectExistsError(f"{key} is taken")


def test_who_loses_the_race_is_told_what_the_winner_means(project: Project) -> None:
    meaning = meaning_of(project.cell("reader"), first_seen=NOW)
    theirs = meaning.with_changes(first_seen=LATER)
    assert KeyRegister(_LateStore(canonical_json(theirs.model_dump(mode="json")))).claim(meaning) == theirs
    with pytest.raises(InputError, match="stands for another cell already"):
        KeyRegister(_LateStore(canonical_json(other_meaning(meaning).model_dump(mode="json")))).claim(meaning)


def test_a_damaged_record_stops_and_names_itself(project: Project) -> None:
    store = MemoryStore()
    meaning = meaning_of(project.cell("reader"), first_seen=NOW)
    name = f"keys/cells/{meaning.key}.json"
    store.put(name, b"{}")
    with pytest.raises(StorageError, match=f"{name} in .* is no key record"):
        KeyRegister(store).claim(meaning)
    tampered = {**meaning.model_dump(mode="json"), "behaviour": {"model": "x"}}
    store.put(name, canonical_json(tampered))
    with pytest.raises(DigestMismatchError, match="which is not the digest of its behaviour"):
        KeyRegister(store).claim(meaning)
