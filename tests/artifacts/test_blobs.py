import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.adapters.stores.memory import MemoryStore
from evalplatform.artifacts.blobs import blob_key, get_blob, put_blob, put_blobs
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
def test_many_blobs_come_back_in_order_and_equal_ones_are_written_once(blobs: list[bytes]) -> None:
    store = CountingStore()
    digests = put_blobs(store, iter(blobs))
    assert [get_blob(store, digest) for digest in digests] == blobs
    assert len(store.written) == len(set(blobs))


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
