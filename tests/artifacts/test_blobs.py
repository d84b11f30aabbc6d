import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.adapters.stores.memory import MemoryStore
from evalplatform.artifacts import blobs
from evalplatform.artifacts.blobs import blob_key, get_blob, missing_blobs, put_blob, put_blobs, remove_blobs
from evalplatform.kernel.digests import bytes_digest
from evalplatform.kernel.errors import DigestMismatchError, InputError, ObjectNotFoundError, StorageUnavailableError


class CountingStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        self.written.append(key)
        super().put(key, data, if_absent=if_absent)


def test_a_blob_lies_under_its_digest_and_is_written_once() -> None:
    store = CountingStore()
    digest = put_blob(store, b"a prompt")
    assert put_blob(store, b"a prompt") == digest == bytes_digest(b"a prompt")
    hex_digits = digest.removeprefix("sha256:")
    assert store.written == [f"blobs/{hex_digits[:2]}/{hex_digits}"]
    assert get_blob(store, digest) == b"a prompt"


@given(st.lists(st.binary(max_size=8), max_size=40))
def test_many_blobs_come_back_in_order_and_equal_ones_are_written_once(many: list[bytes]) -> None:
    store = CountingStore()
    digests = put_blobs(store, iter(many))
    assert [get_blob(store, digest) for digest in digests] == many
    assert len(store.written) == len(set(many))


@given(st.lists(st.binary(max_size=4), max_size=20), st.sets(st.binary(max_size=4), max_size=20))
def test_removed_blobs_are_the_ones_that_are_missing_and_removing_them_again_is_fine(kept: list[bytes], removed: set[bytes]) -> None:
    store = MemoryStore()
    digests = put_blobs(store, [*kept, *removed])
    gone = {bytes_digest(data) for data in removed}
    assert missing_blobs(store, digests) == frozenset()
    for _ in range(2):
        remove_blobs(store, gone)
        assert missing_blobs(store, digests) == gone
        assert {info.key for info in store.list("blobs/")} == {blob_key(digest) for digest in {*digests} - gone}


def test_many_blobs_are_looked_for_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "ASKED_AT_ONCE", 2)
    store = MemoryStore()
    digests = put_blobs(store, [b"a", b"b", b"c", b"d", b"e"])
    remove_blobs(store, digests[1::2])
    assert missing_blobs(store, digests) == set(digests[1::2])


def test_bytes_that_changed_in_the_store_are_never_handed_out() -> None:
    store = MemoryStore()
    digest = put_blob(store, b"what was written")
    store.put(blob_key(digest), b"what was not")
    with pytest.raises(DigestMismatchError, match=digest):
        get_blob(store, digest)


def test_a_blob_that_was_never_stored_is_named() -> None:
    digest = bytes_digest(b"never")
    with pytest.raises(ObjectNotFoundError, match=digest.removeprefix("sha256:")):
        get_blob(MemoryStore(), digest)


@pytest.mark.parametrize(
    "text", ["", "abc", "sha256:ABC", "sha256:../../etc/passwd", "sha256:" + "a" * 63, "md5:" + "a" * 64, "sha256:" + "a" * 64 + "\n"]
)
def test_a_text_that_is_no_digest_reaches_no_store(text: str) -> None:
    with pytest.raises(InputError, match="is no digest"):
        get_blob(MemoryStore(), text)


class FullStore(MemoryStore):
    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        raise StorageUnavailableError("the disk is full")


def test_one_blob_that_cannot_be_stored_stops_the_many() -> None:
    with pytest.raises(StorageUnavailableError, match="full"):
        put_blobs(FullStore(), [b"a", b"b"])
