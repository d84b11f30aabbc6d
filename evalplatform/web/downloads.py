"""`/download/...`: any file of any stored artifact, and the reports of a partition as one zip.

The address is stable: it is what Dagster's metadata links to. What answers it is a link that the store signs at the moment of the click,
or, where the store has none (a local folder), the bytes, checked against their digest. Pages that a browser shows come from here with
either store, also to be saved, under their own policy and with the files they link to beside them: a signed link would bring neither.
"""

import base64
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from evalplatform.artifacts.download_paths import BundleAddress, FileAddress, read_address
from evalplatform.artifacts.records import ArtifactFile, ArtifactManifest
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.keys import checked_key
from evalplatform.reports.bundle import bundle_digest
from evalplatform.stages.reports_bundle import bundled_manifests, reports_bundle
from evalplatform.web.addressed import addressed_file, addressed_version
from evalplatform.web.dependencies import Opened
from evalplatform.web.errors import AddressError
from evalplatform.web.headers import STORED_FILE_POLICY
from evalplatform.wiring import OpenedProject

SHOWN_ENDINGS = frozenset({"html", "md", "svg"})
FOR_EVER = "private, max-age=31536000, immutable"  # a version's files never change
ASK_AGAIN = "private, no-cache"

router = APIRouter(prefix="/download")


@router.api_route("/{address:path}", methods=["GET", "HEAD"])
def download(
    address: str,
    request: Request,
    opened: Opened,
    version: Annotated[str | None, Query(description="A data version instead of the current one.")] = None,
    as_file: Annotated[bool, Query(alias="download", description="Save the file, also where a browser could show it.")] = False,
) -> Response:
    """Answer with a stored file: a signed link to it, or its bytes."""
    wanted = _read(address, version)
    manifest = addressed_version(opened, wanted)
    if isinstance(wanted, BundleAddress):
        return _bundle(request, opened, wanted, manifest)
    file = addressed_file(manifest, wanted)
    if _is_page(wanted) and not as_file and wanted.version is None:
        # A page's links are relative: under the address of its version they lead to the files that were made with it.
        return RedirectResponse(wanted.pinned(manifest.data_version).path, headers={"Cache-Control": "no-store"})
    return _file(request, opened, manifest, file, wanted, saved=as_file or not _is_page(wanted))


def _is_page(wanted: FileAddress) -> bool:
    """Say whether a browser shows the file, unless it is told to save it."""
    return wanted.file.rpartition(".")[2] in SHOWN_ENDINGS


def _read(address: str, version: str | None) -> FileAddress | BundleAddress:
    try:
        wanted = read_address(address)
        return wanted if version is None else wanted.pinned(checked_key(version, what="version"))
    except InputError as error:
        raise AddressError(error.rule, nearest=error.nearest) from error


def _file(
    request: Request, opened: OpenedProject, manifest: ArtifactManifest, file: ArtifactFile, wanted: FileAddress, *, saved: bool
) -> Response:
    headers = {
        **_described(file.digest, pinned=wanted.version is not None),
        "Content-Disposition": f'{"attachment" if saved else "inline"}; filename="{wanted.file}"',
    }
    if _known(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if request.method == "HEAD":  # a link is signed for GET alone, and the manifest knows all that is asked
        return Response(media_type=file.media_type, headers={**headers, "Content-Length": str(file.size_bytes)})
    if not _is_page(wanted):
        link = opened.catalog.download_link(manifest, wanted.file, expires_seconds=opened.project.deployment.download_link_seconds)
        if link is not None:
            return RedirectResponse(link, headers={"Cache-Control": "no-store", "Repr-Digest": headers["Repr-Digest"]})
    return Response(opened.catalog.read(manifest, wanted.file), media_type=file.media_type, headers=headers)


def _bundle(request: Request, opened: OpenedProject, wanted: BundleAddress, report: ArtifactManifest) -> Response:
    manifests = bundled_manifests(opened.catalog, report)
    artifact = report.artifact
    name = "-".join((artifact.suite, *artifact.partition.split("/"), "reports.zip"))
    # Not for ever even where the version is named: what is told of its scores beside the report may come later.
    headers = {
        "ETag": f'"bundle-{bundle_digest(manifests).removeprefix("sha256:")}"',  # of what is in it, so no digest of the bytes
        "Cache-Control": ASK_AGAIN,
        "Content-Disposition": f'attachment; filename="{name}"',
    }
    if _known(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    data = reports_bundle(opened.catalog, manifests)
    return Response(data, media_type="application/zip", headers=headers)


def _described(digest: str, *, pinned: bool) -> dict[str, str]:
    """Return the headers that say which bytes a file has (RFC 9110, RFC 9530) and how long they may be kept."""
    sha256 = base64.b64encode(bytes.fromhex(digest.removeprefix("sha256:"))).decode()
    return {
        "ETag": f'"{digest}"',
        "Repr-Digest": f"sha-256=:{sha256}:",
        "Cache-Control": FOR_EVER if pinned else ASK_AGAIN,
        "Content-Security-Policy": STORED_FILE_POLICY,
    }


def _known(request: Request, etag: str) -> bool:
    """Say whether the client has these bytes already (If-None-Match compares weakly: RFC 9110, 13.1.2)."""
    named = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    return etag in named or "*" in named
