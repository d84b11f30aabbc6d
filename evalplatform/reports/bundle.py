"""The reports of a partition as one zip: it opens offline, says what is in it, and can be checked without this program.

The same files give the same bytes: names are sorted, times are fixed, and no name or id of a machine goes in.
"""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.kernel.digests import bytes_digest, canonical_json, json_digest

FORMAT = "reports-bundle.v1"
MANIFEST_FILE = "manifest.json"
README_FILE = "README.txt"
SUMS_FILE = "SHA256SUMS"

_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say
_FILE_MODE = 0o100644 << 16

_MEANINGS = {
    "report.html": "the whole report as one page: open it in a browser, no network is needed",
    "report.md": "the same results as Markdown",
    "scores.csv": "one row per question, arm and draw, for a spreadsheet",
    MANIFEST_FILE: "where each file comes from: asset, versions, inputs, what it was made from, digests",
    SUMS_FILE: "digests of all the other files, for `sha256sum -c`",
}


@dataclass(frozen=True)
class BundledArtifact:
    """One artifact of a bundle: its manifest, and the files of it that go in, by name."""

    manifest: ArtifactManifest
    files: Mapping[str, bytes]


def bundle_digest(manifests: Sequence[ArtifactManifest]) -> str:
    """Return the digest of what a bundle of these artifacts would hold, without reading their files."""
    return json_digest([FORMAT, *(manifest.model_dump(mode="json") for manifest in manifests)])


def bundle_zip(artifacts: Sequence[BundledArtifact]) -> bytes:
    """Return the bundle: the artifacts' files side by side, `manifest.json`, `README.txt` and `SHA256SUMS`.

    The first artifact is the report. Where another has a file of a name that is taken, it goes into a folder named by its asset.
    """
    files: dict[str, bytes] = {}
    for artifact in artifacts:
        for name, data in sorted(artifact.files.items()):
            files[name if name not in files else f"{artifact.manifest.artifact.asset}/{name}"] = data
    described = {"format": FORMAT, "artifacts": [artifact.manifest.model_dump(mode="json") for artifact in artifacts]}
    files[MANIFEST_FILE] = canonical_json(described)
    files[README_FILE] = _readme(artifacts[0].manifest, sorted([*files, SUMS_FILE])).encode()
    files[SUMS_FILE] = "".join(f"{bytes_digest(data).removeprefix('sha256:')}  {name}\n" for name, data in sorted(files.items())).encode()
    return _zipped(files)


def _zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, date_time=_NO_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, whatever this machine is
            entry.external_attr = _FILE_MODE
            archive.writestr(entry, data)
    return out.getvalue()


def _readme(report: ArtifactManifest, names: Sequence[str]) -> str:
    artifact = report.artifact
    named = f"--suite {artifact.suite} --partition {artifact.partition} --version {report.data_version}"
    lines = [
        f"Reports of {artifact.suite}, partition {artifact.partition}",
        f"Version {report.data_version}, made {report.created_at:%Y-%m-%d %H:%M} UTC",
        "",
        *(f"{name}: {_meaning(name)}" for name in names),
        "",
        "To verify, in this folder: sha256sum -c SHA256SUMS",
        f"The digests of the report's own files stand in {MANIFEST_FILE} too, as they were recorded when the files were made.",
        "The same version can be fetched again and compared:",
        f"  evalplatform assets download --bundle {named}",
    ]
    return "\n".join(lines) + "\n"


def _meaning(name: str) -> str:
    if name in _MEANINGS:
        return _MEANINGS[name]
    if name.startswith("arms.") and name.endswith(".json"):
        return "arms.v1: every answer, score and comparison, for programs"
    asset = name.rpartition("/")[2].rpartition(".")[0].replace("_", " ")
    return f"{asset}, made from the same scores"
