"""The reports bundle: the same bytes for the same files, everything named and accounted for."""

import hashlib
import io
import json
import subprocess
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from evalplatform.artifacts.download_paths import REPORT_ASSET
from evalplatform.artifacts.records import ArtifactFile, ArtifactId, ArtifactManifest, UpstreamVersion, media_type_of
from evalplatform.kernel.digests import bytes_digest
from evalplatform.reports.bundle import BundledArtifact, bundle_digest, bundle_zip
from evalplatform.stages import arms_report

PARTITION = "reader-1/facts-2"
REPORT = {"report.html": b"<p>page</p>", "report.md": b"# md", "arms.json": b"{}", "scores.csv": b"a\n"}


def artifact(asset: str, files: Mapping[str, bytes], *, partition: str = PARTITION) -> BundledArtifact:
    """Return an artifact that was made of scores."""
    scores = ArtifactId(suite="kettle", asset="judged_scores", partition=PARTITION)
    manifest = ArtifactManifest(
        artifact=ArtifactId(suite="kettle", asset=asset, partition=partition),
        data_version="v1",
        code_version="1",
        created_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        inputs={"judged_scores": "s1"},
        lineage=(UpstreamVersion(artifact=scores, data_version="s1"),),
        files={
            name: ArtifactFile(digest=bytes_digest(data), size_bytes=len(data), media_type=media_type_of(name))
            for name, data in files.items()
        },
    )
    return BundledArtifact(manifest=manifest, files=files)


def opened(*artifacts: BundledArtifact) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(bundle_zip(artifacts)))


def test_the_same_files_give_the_same_bytes() -> None:
    assert bundle_zip([artifact("arms_report", REPORT)]) == bundle_zip([artifact("arms_report", dict(reversed(REPORT.items())))])
    archive = opened(artifact("arms_report", REPORT))
    assert archive.namelist() == sorted(archive.namelist())
    assert {entry.date_time[0] for entry in archive.infolist()} == {1980}


def test_the_readme_says_what_each_file_is() -> None:
    archive = opened(artifact("arms_report", REPORT))
    assert set(archive.namelist()) == {*REPORT, "manifest.json", "README.txt", "SHA256SUMS"}
    assert archive.read("report.html") == REPORT["report.html"]
    readme = archive.read("README.txt").decode()
    for name in archive.namelist():
        if name != "README.txt":
            assert f"{name}: " in readme


def test_it_checks_out_with_nothing_but_sha256sum(tmp_path: Path) -> None:
    opened(artifact("arms_report", REPORT)).extractall(tmp_path)
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (tmp_path / "scores.csv").write_text("other")
    assert subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path, capture_output=True, check=False).returncode != 0


def test_the_manifest_says_what_each_file_was_made_from() -> None:
    described = json.loads(opened(artifact("arms_report", REPORT)).read("manifest.json"))
    assert described["format"] == "reports-bundle.v1"
    (report,) = described["artifacts"]
    assert report["lineage"][0]["data_version"] == "s1"
    assert report["files"]["scores.csv"]["digest"] == f"sha256:{hashlib.sha256(b'a' + bytes([10])).hexdigest()}"


def test_the_address_of_a_bundle_names_the_asset_of_the_report() -> None:
    assert REPORT_ASSET == arms_report.ASSET


def test_a_name_that_is_taken_goes_into_a_folder_of_its_asset() -> None:
    archive = opened(artifact("arms_report", REPORT), artifact("verdicts", {"report.md": b"verdicts"}, partition=f"{PARTITION}/p-3"))
    assert archive.read("report.md") == REPORT["report.md"]
    assert archive.read("verdicts/report.md") == b"verdicts"


def test_its_digest_changes_with_what_goes_in() -> None:
    report, moves = (artifact(asset, {}).manifest for asset in ("arms_report", "score_moves"))
    assert bundle_digest([report]) != bundle_digest([report, moves])
