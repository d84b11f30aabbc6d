"""Where the files of a materialization are: links to the web app, the command that fetches them, the place in the store.

Links lead to the web app's stable address of the very version that was materialized. A link into the store would not do: a signed one stops
working while the event that shows it stays, and browsers follow no link to a file.
"""

from typing import Any
from urllib.request import url2pathname

import dagster as dg

from evalplatform.artifacts.catalog import file_key
from evalplatform.artifacts.download_paths import BundleAddress, FileAddress, bundle_address
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.stages import arms_report
from evalplatform.stages.context import ArtifactHome

FILE_PREFIX = "file://"
PAGE_ENDING = ".html"
SHOWN_FILES = 12


def report_links(home: ArtifactHome, manifest: ArtifactManifest) -> dict[str, Any]:
    """Return the link to a report's page where there is one, and of a cell's report the one to all its files in one."""
    artifact = manifest.artifact
    links = {}
    page = next((name for name in manifest.files if name.endswith(PAGE_ENDING)), None)
    if page is not None:
        links["report_page"] = _link(home, FileAddress(artifact=artifact, file=page, version=manifest.data_version))
    if artifact.asset == arms_report.ASSET:
        links["reports_zip"] = _link(home, bundle_address(artifact.suite, artifact.partition, manifest.data_version))
    return links


def where_it_is(home: ArtifactHome, manifest: ArtifactManifest) -> dict[str, Any]:
    """Return the command that fetches the files, where they lie, and the first of them with link, size and digest."""
    artifact = manifest.artifact
    folder = file_key(manifest, next(iter(manifest.files))).rpartition("/")[0]
    url = home.catalog.url
    local = url.startswith(FILE_PREFIX)
    return {
        "download": f"evalplatform assets download --suite {artifact.suite} --asset {artifact.asset} --partition {artifact.partition}",
        "stored_at": dg.MetadataValue.path(f"{url2pathname(url.removeprefix(FILE_PREFIX))}/{folder}") if local else f"{folder} in {url}",
        "files": dg.MetadataValue.md(_file_table(home, manifest)),
    }


def _file_table(home: ArtifactHome, manifest: ArtifactManifest) -> str:
    rows = []
    for name, file in sorted(manifest.files.items())[:SHOWN_FILES]:
        address = FileAddress(artifact=manifest.artifact, file=name, version=manifest.data_version)
        rows.append(f"| [{name}]({_url(home, address.path)}) | {file.size_bytes:,} | `{file.digest[:19]}…` |")
    left = len(manifest.files) - len(rows)
    more = [f"| and {left:,} more | | |"] if left else []
    return "\n".join(["| File | Bytes | Digest |", "| --- | ---: | --- |", *rows, *more])


def _link(home: ArtifactHome, address: FileAddress | BundleAddress) -> dg.UrlMetadataValue:
    return dg.MetadataValue.url(_url(home, address.path))


def _url(home: ArtifactHome, path: str) -> str:
    return home.project.deployment.web_url.rstrip("/") + path
