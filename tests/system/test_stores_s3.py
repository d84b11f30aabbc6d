"""The S3 store against a real S3 server."""

import urllib.error
import urllib.request

import pytest

from evalplatform.adapters.stores.open import open_store
from evalplatform.kernel.errors import StorageError, StorageUnavailableError
from tests.support.servers import S3Server

pytestmark = pytest.mark.system


def test_a_download_link_works_for_anyone_who_has_it_and_not_without_its_signature(s3_url: str) -> None:
    store = open_store(s3_url)
    store.put("artifacts/report.html", b"<p>hello</p>")
    link = store.download_link("artifacts/report.html", expires_seconds=60)
    assert link is not None
    with urllib.request.urlopen(link) as response:
        assert response.read() == b"<p>hello</p>"
        assert response.headers["Content-Disposition"] == 'attachment; filename="report.html"'  # never shown in the store's name
    with pytest.raises(urllib.error.HTTPError) as refused, urllib.request.urlopen(link.partition("?")[0]):
        pass
    assert refused.value.code == 403
    refused.value.close()


def test_listing_goes_over_as_many_pages_as_there_are(s3_url: str) -> None:
    store = open_store(s3_url)
    names = [f"many/{number:04d}" for number in range(1_005)]
    for name in names:
        store.put(name, b"")
    assert [found.key for found in store.list("many/")] == names


def test_two_stores_in_one_bucket_do_not_see_each_other(s3_server: S3Server) -> None:
    one, other = open_store(s3_server.new_url()), open_store(s3_server.new_url())
    one.put("a", b"x")
    assert [found.key for found in other.list("")] == []
    assert not other.exists("a")


def test_a_bucket_that_does_not_exist_is_named_with_the_servers_reason(s3_server: S3Server) -> None:
    store = open_store(f"s3://no-such-bucket?endpoint_url={s3_server.endpoint_url}&region=us-east-1")
    with pytest.raises(StorageError, match="NoSuchBucket"):
        store.get("a")


def test_wrong_keys_are_refused_with_the_servers_reason(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another secret")
    store = open_store(s3_server.new_url())
    with pytest.raises(StorageError, match=r"SignatureDoesNotMatch|AccessDenied|Forbidden"):
        store.put("a", b"x")


def test_no_keys_at_all_are_asked_for_by_name(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with pytest.raises(StorageError, match="AWS_ACCESS_KEY_ID"):
        open_store(s3_server.new_url()).put("a", b"x")


def test_a_server_that_is_not_there_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    store = open_store("s3://bucket?endpoint_url=http://127.0.0.1:1&region=us-east-1")
    with pytest.raises(StorageUnavailableError, match="does not answer"):
        store.get("a")
