"""The reports bundle: the same bytes for the same files, everything named and accounted for."""

import hashlib
import io
import json
import subprocess
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalplatform.adapters.stores.memory import MemoryStore
from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.artifacts.download_paths import REPORT_ASSET
from evalplatform.artifacts.records import ArtifactId, ArtifactManifest, UpstreamVersion
from evalplatform.reports.bundle import bundle_digest
from evalplatform.stages import arms_report
from evalplatform.stages.reports_bundle import bundled_manifests, reports_bundle

PARTITION = "reader-1/facts-2"
REPORT = {"report.html": b"<p>page</p>", "report.md": b"# md", "arms.json": b"{}", "scores.csv": b"a\n", "table.parquet": b"PAR1"}


class Stored:
    """A catalog in memory with one report, and what is written beside it."""

    def __init__(self) -> None:
        self.catalog = ArtifactCatalog(MemoryStore())
        self.report = self.write("arms_report", REPORT, version="r1", read={"judged_scores": "s1"})

    def write(
        self, asset: str, files: dict[str, bytes], *, version: str, read: dict[str, str], more: tuple[UpstreamVersion, ...] = ()
    ) -> ArtifactManifest:
        return self.catalog.write(
            _artifact(asset),
            data_version=version,
            code_version="1",
            created_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
            lineage=tuple(UpstreamVersion(artifact=_artifact(name), data_version=of) for name, of in read.items()) + more,
            files=files,
        )

    def bundle(self) -> bytes:
        return reports_bundle(self.catalog, bundled_manifests(self.catalog, self.report))

    def names(self) -> set[str]:
        return set(_opened(self.bundle()).namelist())


def _artifact(asset: str) -> ArtifactId:
    return ArtifactId(suite="kettle", asset=asset, partition=PARTITION)


def _opened(data: bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(data))


@pytest.fixture
def stored() -> Stored:
    return Stored()


def test_the_same_files_give_the_same_bytes(stored: Stored) -> None:
    assert stored.bundle() == stored.bundle() == Stored().bundle()
    archive = _opened(stored.bundle())
    assert archive.namelist() == sorted(archive.namelist())
    assert {entry.date_time[0] for entry in archive.infolist()} == {1980}


def test_what_a_person_reads_is_in_it_and_tables_for_programs_are_not(stored: Stored) -> None:
    archive = _opened(stored.bundle())
    assert set(archive.namelist()) == {
        "report.html", "report.md", "arms.json", "scores.csv", "manifest.json", "README.txt", "SHA256SUMS",
    }  # fmt: skip
    assert archive.read("report.html") == REPORT["report.html"]
    readme = archive.read("README.txt").decode()
    for name in archive.namelist():
        if name != "README.txt":
            assert f"{name}: " in readme


def test_it_checks_out_with_nothing_but_sha256sum(stored: Stored, tmp_path: Path) -> None:
    _opened(stored.bundle()).extractall(tmp_path)
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (tmp_path / "scores.csv").write_text("other")
    assert subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path, capture_output=True, check=False).returncode != 0


def test_the_manifest_says_what_each_file_was_made_from(stored: Stored) -> None:
    described = json.loads(_opened(stored.bundle()).read("manifest.json"))
    assert described["format"] == "reports-bundle.v1"
    (report,) = described["artifacts"]
    assert report["lineage"][0]["data_version"] == "s1"
    assert report["files"]["scores.csv"]["digest"] == f"sha256:{hashlib.sha256(b'a' + bytes([10])).hexdigest()}"


def test_what_was_made_from_the_same_scores_goes_with_the_report(stored: Stored) -> None:
    stored.write("verdicts", {"verdicts.md": b"passed"}, version="v1", read={"judged_scores": "s1"})
    stored.write("score_moves", {"score_moves.md": b"moved", "moves.parquet": b"PAR1"}, version="m1", read={"judged_scores": "s1"})
    assert {"verdicts.md", "score_moves.md"} <= stored.names()


def test_what_was_made_from_other_scores_stays_out_but_an_earlier_version_that_fits_goes_in(stored: Stored) -> None:
    stored.write("verdicts", {"verdicts.md": b"of others"}, version="v0", read={"judged_scores": "s0"})
    assert "verdicts.md" not in stored.names()
    stored.write("verdicts", {"verdicts.md": b"of ours"}, version="v1", read={"judged_scores": "s1"})
    stored.write("verdicts", {"verdicts.md": b"of later ones"}, version="v2", read={"judged_scores": "s2"})
    assert _opened(stored.bundle()).read("verdicts.md") == b"of ours"


def test_moves_from_earlier_scores_to_the_reports_go_with_it(stored: Stored) -> None:
    earlier = UpstreamVersion(artifact=_artifact("judged_scores"), data_version="s0")
    moves = stored.write("score_moves", {"score_moves.md": b"moved"}, version="m1", read={"judged_scores": "s1"}, more=(earlier,))
    assert len(moves.lineage) == 2
    assert "score_moves.md" in stored.names()


def test_the_address_of_a_bundle_names_the_asset_of_the_report() -> None:
    assert REPORT_ASSET == arms_report.ASSET


def test_a_name_that_is_taken_goes_into_a_folder_of_its_asset(stored: Stored) -> None:
    stored.write("verdicts", {"report.md": b"verdicts"}, version="v1", read={"judged_scores": "s1"})
    archive = _opened(stored.bundle())
    assert archive.read("report.md") == REPORT["report.md"]
    assert archive.read("verdicts/report.md") == b"verdicts"


def test_its_digest_changes_with_what_goes_in(stored: Stored) -> None:
    alone = bundle_digest(bundled_manifests(stored.catalog, stored.report))
    stored.write("verdicts", {"verdicts.md": b"passed"}, version="v1", read={"judged_scores": "s1"})
    assert bundle_digest(bundled_manifests(stored.catalog, stored.report)) != alone
