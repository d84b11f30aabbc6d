import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from evalplatform.adapters.stores.local import LocalStore
from evalplatform.adapters.stores.memory import MemoryStore
from evalplatform.adapters.stores.open import check_store, open_store
from evalplatform.adapters.stores.s3 import S3Store
from evalplatform.adapters.stores.s3_url import S3Location, read_s3_url
from evalplatform.kernel.errors import DigestMismatchError, InputError, StorageError, StorageUnavailableError, UnknownNameError


def test_a_bare_path_and_a_file_url_open_the_same_folder(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    open_store(str(folder)).put("a/b", b"x")
    assert open_store(folder.as_uri()).get("a/b") == b"x"
    assert open_store(str(folder)).url == folder.as_uri()


def test_a_mistyped_scheme_is_answered_with_the_near_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'file'"):
        open_store("flie:///data")
    with pytest.raises(UnknownNameError, match="known: file, memory, s3"):
        open_store("gs://bucket")


@pytest.mark.parametrize(
    "url", ["file://", "", "file://host/path", "memory:name", "s3://", "s3://key:secret@bucket/x", "s3://b/UPPER case"]
)
def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(InputError):
        open_store(url)


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket/x?endpoint_url=http://admin:S3CRET@127.0.0.1:1",
        "s3://bucket/x?endpoint_url=http%3A%2F%2Fadmin%3AS3CRET%40127.0.0.1",
        "s3://bucket/x?endpoint_url=http://admin:S3CRET#more@127.0.0.1",
        "s3://bucket/x?endpoint_url=admin:S3CRET@127.0.0.1",
        "s3:///x?endpoint_url=http://admin:S3CRET@127.0.0.1",
        "s3://bucket/x?region=eu&path_style=me:S3CRET@host",
        "s3://key:S3CRET@bucket/x",
    ],
)
def test_keys_anywhere_in_a_url_are_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InputError, match="AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY") as refusal:
        open_store(url)
    assert "S3CRET" not in str(refusal.value)


def test_a_store_shows_its_url_and_its_failures_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    endpoint = "http://admin:S3CRET@127.0.0.1:1"  # given by code, past the check of the URL
    store = S3Store(S3Location(bucket="b", endpoint_url=endpoint, region="r", path_style=True), url=f"s3://b?endpoint_url={endpoint}")
    assert store.url == "s3://b?endpoint_url=http://admin:***@127.0.0.1:1"
    with pytest.raises(StorageUnavailableError, match=r"does not answer: .*127\.0\.0\.1") as failure:
        store.get("a")
    assert "S3CRET" not in str(failure.value)


def test_amazon_is_spoken_to_as_amazon_takes_it() -> None:
    assert read_s3_url("s3://bucket/some/prefix/?region=eu-west-1") == S3Location(
        bucket="bucket", prefix="some/prefix/", region="eu-west-1", path_style=False, checksum="when_supported"
    )


def test_an_endpoint_of_its_own_gets_no_checksum_trailers_unless_asked_for() -> None:
    # Pitfall G12: boto3 since 1.36 adds a checksum to every upload.
    assert read_s3_url("s3://bucket?endpoint_url=http://127.0.0.1:9000").checksum == "when_required"
    assert read_s3_url("s3://bucket?endpoint_url=http://127.0.0.1:9000").path_style
    switched = read_s3_url("s3://bucket?endpoint_url=https://x.test&checksum=when_supported&path_style=false")
    assert (switched.checksum, switched.path_style) == ("when_supported", False)


@pytest.mark.parametrize(
    ("query", "near"), [("endpointurl=http://x", "endpoint_url"), ("checksum=when_require", "when_required"), ("path_style=True", "true")]
)
def test_a_mistyped_option_is_answered_with_the_near_one(query: str, near: str) -> None:
    with pytest.raises(UnknownNameError, match=f"Did you mean '{near}'"):
        read_s3_url(f"s3://bucket?{query}")


class FramedStore(MemoryStore):
    """Keeps the framing of a chunked upload as part of the body, as some endpoints do."""

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        super().put(key, b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data), if_absent=if_absent)


class CarelessStore(MemoryStore):
    """Ignores the condition of a conditional write, as some endpoints do."""

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        super().put(key, data)


def test_a_store_that_changes_bodies_is_caught_before_any_data() -> None:
    store = FramedStore()
    with pytest.raises(DigestMismatchError, match="checksum=when_required"):
        check_store(store)
    assert list(store.list("")) == []


def test_a_store_that_ignores_conditional_writes_is_caught_before_any_data() -> None:
    with pytest.raises(StorageError, match="If-None-Match"):
        check_store(CarelessStore())


def test_a_local_store_leaves_nothing_unfinished_and_hides_what_a_crash_left(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.put("a", b"x")
    (tmp_path / ".unfinished" / "left-by-a-crash").write_bytes(b"half")
    assert [found.key for found in store.list("")] == ["a"]
    assert [path.name for path in (tmp_path / ".unfinished").iterdir()] == ["left-by-a-crash"]


def test_a_local_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageUnavailableError, match="cannot be used"):
        LocalStore(tmp_path / "file" / "store").put("a", b"x")


class OneBucket(BaseHTTPRequestHandler):
    """Answers every upload with 200 and keeps its headers; breaks off the first body it is asked for."""

    uploads: list[dict[str, str]]
    downloads: int

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        type(self).uploads.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        type(self).downloads += 1
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b"half " if self.downloads == 1 else b"whole body")
        self.close_connection = True

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def one_bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, type[OneBucket]]]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    handler = type("Handler", (OneBucket,), {"uploads": [], "downloads": 0})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"s3://bucket?region=us-east-1&endpoint_url=http://127.0.0.1:{server.server_port}", handler
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("option", "has_checksum"), [("", False), ("&checksum=when_supported", True)])
def test_an_upload_carries_a_checksum_only_where_it_was_asked_for(
    one_bucket: tuple[str, type[OneBucket]], option: str, has_checksum: bool
) -> None:
    url, server = one_bucket
    open_store(url + option).put("a", b"body")
    assert any(name.startswith("x-amz-checksum") for name in server.uploads[0]) is has_checksum


def test_a_body_that_breaks_off_is_asked_for_again(one_bucket: tuple[str, type[OneBucket]]) -> None:
    url, server = one_bucket
    assert open_store(url).get("a") == b"whole body"
    assert server.downloads == 2
