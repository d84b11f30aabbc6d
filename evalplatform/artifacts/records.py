"""What an artifact is, as values: its name, its files, and the manifest that makes a version complete."""

from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, JsonValue

from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.keys import checked_key
from evalplatform.kernel.values import Value

UNPARTITIONED = "all"
MANIFEST_NAME = "manifest.json"
MAX_PARTITION_KEYS = 3

_MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "md": "text/markdown; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
_ANY_BYTES = "application/octet-stream"


def media_type_of(name: str) -> str:
    """Return the media type that a file's ending stands for; `application/octet-stream` where it stands for none."""
    return _MEDIA_TYPES.get(name.rpartition(".")[2], _ANY_BYTES)


def _key(key: str) -> str:
    return checked_key(key, what="part of an artifact's name")


def _partition(partition: str) -> str:
    keys = partition.split("/")
    if len(keys) > MAX_PARTITION_KEYS:
        raise InputError(f"partition {partition!r} has {len(keys)} keys; an artifact's partition has at most {MAX_PARTITION_KEYS}.")
    for key in keys:
        checked_key(key, what="partition key")
    return partition


def _file_name(name: str) -> str:
    if name == MANIFEST_NAME:
        raise InputError(f"{MANIFEST_NAME!r} is the name of the catalog's own file in every artifact.")
    return checked_key(name, what="file name in an artifact")


Key = Annotated[str, AfterValidator(_key)]
FileName = Annotated[str, AfterValidator(_file_name)]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class ArtifactId(Value):
    """The name of an artifact: a suite (or another group of assets), an asset, and a partition.

    A partition is one key, or up to three between slashes where an asset has several dimensions (`cell/judge`); an unpartitioned asset has
    the one partition `all`. Names that are no safe keys raise an InputError.
    """

    suite: Key
    asset: Key
    partition: Annotated[str, AfterValidator(_partition)] = UNPARTITIONED

    @property
    def path(self) -> str:
        """`suite/asset/partition`."""
        return f"{self.suite}/{self.asset}/{self.partition}"


class UpstreamVersion(Value):
    """A version of another artifact that this one was made from."""

    artifact: ArtifactId
    data_version: Key


class ArtifactFile(Value):
    """One file of an artifact."""

    digest: Digest
    size_bytes: int = Field(ge=0)
    media_type: str


class ArtifactManifest(Value):
    """What a version of an artifact is and where it comes from. A version without a manifest does not exist.

    `inputs` are the named digests that `data_version` stands for, `lineage` the artifacts it was made from, `facts` what is shown of it
    without opening its files: counts, cost.
    """

    format: Literal["artifact.v1"] = "artifact.v1"
    artifact: ArtifactId
    data_version: Key
    code_version: str = Field(min_length=1)
    created_at: AwareDatetime
    inputs: dict[str, str] = Field(default_factory=dict)
    lineage: tuple[UpstreamVersion, ...] = ()
    files: dict[FileName, ArtifactFile] = Field(default_factory=dict)
    facts: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def content_key(self) -> str:
        """12 hex digits that say which bytes the files hold: the folder that they lie in."""
        return json_digest({name: file.digest for name, file in self.files.items()}).removeprefix("sha256:")[:12]
