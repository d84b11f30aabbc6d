"""What an `s3://` URL says: bucket, prefix, and how to talk to the endpoint."""

from typing import Literal, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import Field

from evalplatform.adapters.stores.keys import checked_object_key
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.kernel.values import Value

ChecksumMode = Literal["when_required", "when_supported"]

OPTIONS = ("endpoint_url", "region", "path_style", "checksum")
_TRUTH = {"true": True, "false": False}
_CHECKSUM_MODES = ("when_required", "when_supported")


class S3Location(Value):
    """Where a store lies. `prefix` is empty or ends with a slash.

    `path_style` puts the bucket into the path and not into the host name. `checksum` says when uploads carry a checksum of their own:
    boto3 does so always (`when_supported`), which many S3-compatible endpoints refuse, or store as part of the body.
    """

    bucket: str = Field(min_length=1)
    prefix: str = ""
    endpoint_url: str | None = None
    region: str | None = None
    path_style: bool = False
    checksum: ChecksumMode = "when_supported"


def read_s3_url(url: str) -> S3Location:
    """Return what the URL says: `s3://bucket/prefix?endpoint_url=...&region=...&path_style=true&checksum=when_required`.

    With an endpoint of its own, `path_style` is true and `checksum` is `when_required` unless the URL says otherwise; without, both are as
    Amazon S3 takes them. Keys stay out of the URL: they come from the environment, as boto3 reads it.

    Raises:
        UnknownNameError: an option that does not exist, with the nearest one.
        InputError: no bucket, keys in the URL, a prefix that is no object key, or a value an option does not take.
    """
    if "@" in unquote(url):  # nothing else in the URL can have one; it comes first, since the other refusals repeat what they refuse
        raise InputError(
            "keys do not belong in the URL, nor in its endpoint_url: put them into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
            field="storage",
        )
    parts = urlsplit(url)
    if not parts.netloc:
        raise InputError(f"{url!r} names no bucket: write s3://bucket/prefix.", field="storage")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in options:
        if name not in OPTIONS:
            raise UnknownNameError("storage option", name, OPTIONS, field="storage")
    prefix = parts.path.strip("/")
    endpoint_url = options.get("endpoint_url")
    if endpoint_url is not None and urlsplit(endpoint_url).scheme not in ("http", "https"):
        raise InputError(f"endpoint_url {endpoint_url!r} has to start with http:// or https://.", field="storage")
    custom = endpoint_url is not None
    checksum = _one_of("checksum", options.get("checksum", "when_required" if custom else "when_supported"), _CHECKSUM_MODES)
    return S3Location(
        bucket=parts.netloc,
        prefix=f"{checked_object_key(prefix)}/" if prefix else "",
        endpoint_url=endpoint_url,
        region=options.get("region"),
        path_style=_TRUTH[_one_of("path_style", options.get("path_style", "true" if custom else "false"), tuple(_TRUTH))],
        checksum=cast("ChecksumMode", checksum),
    )


def _one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise UnknownNameError(f"value of {option}", value, known, field="storage")
    return value
