"""An object store on Amazon S3, or on anything that speaks its protocol."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar

from evalplatform.adapters.outage import RESTART_SECONDS, Outage
from evalplatform.adapters.stores.keys import checked_object_key, checked_prefix
from evalplatform.adapters.stores.open import store_schemes
from evalplatform.adapters.stores.s3_url import S3Location, read_s3_url
from evalplatform.kernel.errors import ObjectExistsError, ObjectNotFoundError, StorageError, StorageUnavailableError
from evalplatform.kernel.text import masked_url
from evalplatform.ports.object_store import ObjectInfo

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

T = TypeVar("T")

CONNECT_TIMEOUT_SECONDS = 5
READ_TIMEOUT_SECONDS = 60
ATTEMPTS = 3
POOL_CONNECTIONS = 32
CONFLICT_PAUSE_SECONDS = 0.2

_MISSING = frozenset({"NoSuchKey", "404", "NotFound"})
_TAKEN = frozenset({"PreconditionFailed", "412"})
_RACING = frozenset({"ConditionalRequestConflict", "409", "OperationAborted"})


class S3Store:
    """The ObjectStore port over one bucket and prefix. One instance serves many threads.

    A store that goes away is waited for, `RESTART_SECONDS` from its first failure: what is paid for outlasts its restart.
    """

    def __init__(self, location: S3Location, *, url: str) -> None:
        self._bucket = location.bucket
        self._prefix = location.prefix
        self._url = masked_url(url)
        self._client = _client(location)
        self._outage = Outage(RESTART_SECONDS)

    @property
    def url(self) -> str:
        """The URL the store was opened by, without secrets."""
        return self._url

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        """Write an object in one request, which S3 applies as a whole or not at all.

        Raises:
            InputError: the key is not one of ours.
            ObjectExistsError: if `if_absent` and the key is taken. A retry after a lost response can meet its own first write, so the
                object may be this very one: a caller who minds reads it.
            StorageUnavailableError: the store does not answer.
            StorageError: it refuses: no such bucket, no access.
        """
        name = self._name(key)
        if not if_absent:
            self._asked(key, lambda: self._client.put_object(Bucket=self._bucket, Key=name, Body=data))
            return
        for _ in range(ATTEMPTS):
            if self._asked(key, lambda: self._put_if_absent(key, name, data)):
                return
            sleep(CONFLICT_PAUSE_SECONDS)  # S3 answers 409 while another writer of the key is at work: ask again once it is done
        raise StorageUnavailableError(f"{self._url} cannot say whether {key} is taken: other writers are at work on it.")

    def get(self, key: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectNotFoundError: no object has that key.
            StorageUnavailableError: the store does not answer.
            StorageError: it refuses.
        """
        name = self._name(key)
        return self._asked(key, lambda: self._again_if_cut(lambda: self._client.get_object(Bucket=self._bucket, Key=name)["Body"].read()))

    def exists(self, key: str) -> bool:
        """Say whether an object has that key."""
        try:
            self._asked(key, lambda: self._client.head_object(Bucket=self._bucket, Key=self._name(key)))
        except ObjectNotFoundError:
            return False
        return True

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Iterate over the objects whose key starts with `prefix`, in key order; all pages are read first.

        Amazon sorts by key; SeaweedFS 4.48 sorts folder by folder, which puts `a/x` before `a-b/x`, and directory buckets do not sort.
        """
        for key, size_bytes in sorted(self._asked(prefix, lambda: self._listed(self._prefix + checked_prefix(prefix)))):
            yield ObjectInfo(key=key, size_bytes=size_bytes)

    def delete(self, key: str) -> None:
        """Remove an object, if it is there: one request each, since endpoints differ over the checksum that deleting many requires."""
        self._asked(key, lambda: self._client.delete_object(Bucket=self._bucket, Key=self._name(key)))

    def download_link(self, key: str, *, expires_seconds: int) -> str | None:
        """Return a presigned link that works for a while. It is made here: nothing is asked of the store, the key may not exist."""
        name = self._name(key)
        saved = f'attachment; filename="{key.rpartition("/")[2]}"'  # no key holds what would have to be quoted
        with self._failures(key):
            return self._client.generate_presigned_url(
                "get_object",
                Params={"Bucket": self._bucket, "Key": name, "ResponseContentDisposition": saved},
                ExpiresIn=expires_seconds,
            )

    def _name(self, key: str) -> str:
        return self._prefix + checked_object_key(key)

    def _put_if_absent(self, key: str, name: str, data: bytes) -> bool:
        """Write an object, or return False where another writer of the key is at work; ObjectExistsError where it is taken."""
        try:
            self._client.put_object(Bucket=self._bucket, Key=name, Body=data, IfNoneMatch="*")
        except self._client.exceptions.ClientError as error:
            if _code(error) in _TAKEN:
                raise ObjectExistsError(f"{key} is there already.") from None
            if _code(error) in _RACING:
                return False
            raise
        return True

    def _listed(self, prefix: str) -> Sequence[tuple[str, int]]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        return [(found["Key"].removeprefix(self._prefix), found["Size"]) for page in pages for found in page.get("Contents", [])]

    def _asked(self, key: str, request: Callable[[], T]) -> T:
        """Return what a request gives. It is made again while a store that has answered before is away for a short time."""
        while True:
            try:
                with self._failures(key):
                    answer = request()
            except StorageUnavailableError:
                if not self._outage.waited():
                    raise
            except StorageError:  # a refusal is an answer
                self._outage.answered()
                raise
            else:
                self._outage.answered()
                return answer

    def _again_if_cut(self, read: Callable[[], T]) -> T:
        """Return what `read` gives, asking again where the body breaks off: botocore's retries end with the headers."""
        from botocore.exceptions import IncompleteReadError, ResponseStreamingError

        for _ in range(ATTEMPTS - 1):
            try:
                return read()
            except (IncompleteReadError, ResponseStreamingError):
                continue
        return read()

    @contextmanager
    def _failures(self, key: str) -> Iterator[None]:
        """Turn botocore's exceptions into ours."""
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, IncompleteReadError, NoCredentialsError
        from botocore.exceptions import ConnectionError as NoConnectionError

        try:
            yield
        except ClientError as error:
            raise self._answered(error, key) from error
        except NoCredentialsError as error:
            raise StorageError(f"{self._url} needs keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.") from error
        except (HTTPClientError, IncompleteReadError, NoConnectionError) as error:
            raise StorageUnavailableError(f"{self._url} does not answer: {masked_url(str(error))}") from error
        except BotoCoreError as error:
            raise StorageError(f"{self._url} cannot be used: {masked_url(str(error))}") from error

    def _answered(self, error: Any, key: str) -> StorageError:
        code, status = _code(error), error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in _MISSING:
            return ObjectNotFoundError(f"no object {key} in {self._url}")
        if status >= 500 or status == 429:
            return StorageUnavailableError(f"{self._url} does not answer: {code} ({status}) after {ATTEMPTS} attempts.")
        return StorageError(f"{self._url} refuses {key}: {code} ({status}): {error.response.get('Error', {}).get('Message', '')}")


@store_schemes.register("s3")
def open_s3_store(url: str) -> S3Store:
    """Return the store at an `s3://` URL (see `read_s3_url`)."""
    return S3Store(read_s3_url(url), url=url)


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _client(location: S3Location) -> "S3Client":
    import boto3
    from botocore.config import Config

    config = Config(
        signature_version="s3v4",  # the older signature, boto3's default for presigning, has no region and is refused by newer endpoints
        s3={"addressing_style": "path" if location.path_style else "auto"},
        request_checksum_calculation=location.checksum,
        response_checksum_validation=location.checksum,
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
        retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
        max_pool_connections=POOL_CONNECTIONS,
    )
    # A session of our own: boto3's shared one is not safe to use from several threads at once.
    return boto3.session.Session().client("s3", endpoint_url=location.endpoint_url, region_name=location.region, config=config)
