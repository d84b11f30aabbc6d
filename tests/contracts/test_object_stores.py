"""What every object store promises, over every store there is."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evalplatform.adapters.stores.open import check_store, open_store, store_schemes
from evalplatform.kernel.digests import bytes_digest
from evalplatform.kernel.errors import InputError, ObjectExistsError, ObjectNotFoundError
from evalplatform.ports.object_store import ObjectStore


@pytest.fixture(params=["memory", "file", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    urls = {"memory": lambda: "memory:", "file": lambda: (tmp_path / "store").as_uri(), "s3": lambda: request.getfixturevalue("s3_url")}
    return open_store(urls[request.param]())


def keys(store: ObjectStore, prefix: str) -> list[str]:
    return [found.key for found in store.list(prefix)]


def test_every_shipped_scheme_is_held_to_this_contract() -> None:
    assert store_schemes.names() == ["file", "memory", "s3"]


@pytest.mark.parametrize("data", [b"", b"text", bytes(range(256)) * 40_000], ids=["empty", "short", "10 MB of every byte"])
def test_an_object_comes_back_as_it_was_written(store: ObjectStore, data: bytes) -> None:
    store.put("blobs/ab/abc", data)
    assert store.get("blobs/ab/abc") == data
    assert [(found.key, found.size_bytes) for found in store.list("blobs/")] == [("blobs/ab/abc", len(data))]


def test_a_store_passes_its_own_check_and_keeps_nothing_of_it(store: ObjectStore) -> None:
    check_store(store)
    assert keys(store, "") == []


def test_text_of_any_kind_comes_back_as_it_was(store: ObjectStore, awkward_texts: list[str]) -> None:
    for number, text in enumerate(awkward_texts):
        store.put(f"texts/{number}", text.encode())
    assert [store.get(f"texts/{number}").decode() for number in range(len(awkward_texts))] == awkward_texts


def test_a_missing_object_is_named(store: ObjectStore) -> None:
    with pytest.raises(ObjectNotFoundError, match="blobs/no/none"):
        store.get("blobs/no/none")
    assert not store.exists("blobs/no/none")


def test_a_second_write_replaces_the_first(store: ObjectStore) -> None:
    store.put("pointer", b"old and long")
    store.put("pointer", b"new")
    assert store.get("pointer") == b"new"


def test_a_write_that_is_to_be_the_first_never_replaces(store: ObjectStore) -> None:
    store.put("manifest", b"first", if_absent=True)
    with pytest.raises(ObjectExistsError, match="manifest"):
        store.put("manifest", b"second", if_absent=True)
    assert store.get("manifest") == b"first"


def test_of_sixteen_racing_writers_exactly_one_wins(store: ObjectStore) -> None:
    def write(number: int) -> int | None:
        try:
            store.put("race/manifest", f"writer {number}".encode(), if_absent=True)
        except ObjectExistsError:
            return None
        return number

    with ThreadPoolExecutor(16) as pool:
        winners = [number for number in pool.map(write, range(16)) if number is not None]
    assert len(winners) == 1
    assert store.get("race/manifest") == f"writer {winners[0]}".encode()


def test_a_deleted_object_is_gone_and_deleting_again_is_fine(store: ObjectStore) -> None:
    store.put("a/b", b"x")
    store.delete("a/b")
    store.delete("a/b")
    assert not store.exists("a/b")
    assert keys(store, "") == []


def test_listing_goes_by_key_order_and_by_the_start_of_the_key(store: ObjectStore) -> None:
    written = ["a/x", "a-b/x", "a.c", "a0", "ab/2", "b/1", "a/y/z"]
    for key in written:
        store.put(key, b"")
    assert keys(store, "") == sorted(written)
    assert keys(store, "a") == sorted(set(written) - {"b/1"})
    assert keys(store, "a/") == ["a/x", "a/y/z"]
    assert keys(store, "a/y/z") == ["a/y/z"]
    assert keys(store, "c/") == []


@pytest.mark.parametrize(
    "key",
    # Pitfall G14, and ways out of the store.
    [
        "a b",
        "a+b",
        "ü",
        "a?b#c",
        "a%2Fb",
        "[x]",
        "x" * 1025,
        "",
        "/etc/passwd",
        "../up",
        "a/../../up",
        "a//b",
        "a/",
        ".hidden",
        "A",
        "a\x00b",
        "a\n",
    ],
)
def test_keys_that_are_not_ours_reach_no_store(store: ObjectStore, key: str) -> None:
    for use in (lambda: store.put(key, b"x"), lambda: store.get(key), lambda: store.exists(key), lambda: store.delete(key)):
        with pytest.raises(InputError):
            use()


def test_concurrent_writes_of_many_objects_are_all_there(store: ObjectStore) -> None:
    bodies = {f"blobs/{number % 7}/{number}": f"body {number}".encode() * number for number in range(120)}
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda item: store.put(*item), bodies.items()))
    assert {found.key: bytes_digest(store.get(found.key)) for found in store.list("")} == {
        key: bytes_digest(body) for key, body in bodies.items()
    }
