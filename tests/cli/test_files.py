"""Files that a user asked for: whole or not at all, with nothing left beside them."""

from pathlib import Path

import pytest

from evalplatform.cli.files import check_outputs, check_places, check_writable, write_if_changed, write_new
from evalplatform.kernel.errors import InputError
from tests.support.small_disk import grow, small_disk


@pytest.mark.system
def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    with small_disk(folder, kibibytes=64):
        file = folder / "kettle.md"
        assert write_if_changed(file, b"old")
        with pytest.raises(InputError, match=r"kettle\.md: cannot be written: no space left on device"):
            write_if_changed(file, bytes(100_000))
        assert [path.name for path in folder.iterdir()] == ["kettle.md"]
        assert file.read_bytes() == b"old"
        grow(folder, kibibytes=400)
        assert write_if_changed(file, bytes(100_000))
        assert [path.name for path in folder.iterdir()] == ["kettle.md"]


def test_a_name_that_became_a_folder_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "kettle.md").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_if_changed(tmp_path / "kettle.md", b"new")
    with pytest.raises(InputError):
        write_new(tmp_path / "kettle.md", b"new", field="--out")
    with pytest.raises(InputError):
        check_writable(tmp_path / "kettle.md", field="--out")
    assert [path.name for path in tmp_path.iterdir()] == ["kettle.md"]


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    path = tmp_path / "runs" / "paid.json"
    path.write_text("a run")
    return path


@pytest.mark.parametrize(
    "spelling", ["runs/paid.json", "./runs/../runs/paid.json", "linked/paid.json", "latest.json", "new/../runs/paid.json", "other.json"]
)
def test_no_spelling_of_a_file_that_is_read_can_be_written_to(
    run_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linked").symlink_to("runs", target_is_directory=True)
    (tmp_path / "latest.json").symlink_to("runs/paid.json")
    (tmp_path / "other.json").hardlink_to(run_file)
    for output, read in ((Path(spelling), run_file), (run_file, Path(spelling))):
        with pytest.raises(InputError, match=r"--out: is one of the files that are read, and is not overwritten"):
            check_places([("--out", output)], inputs=[read])


def test_two_results_have_two_places_though_neither_is_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "linked").symlink_to("runs", target_is_directory=True)
    with pytest.raises(InputError, match=r"linked/new\.md: --out-html: names the file that --out-md names\."):
        check_places([("--out-json", None), ("--out-md", Path("runs/new.md")), ("--out-html", Path("linked/new.md"))])
    with pytest.raises(InputError, match=r"--out-dir: is a file that two results would go to\."):
        check_places([("--out-dir", Path("a.md")), ("--out-dir", tmp_path / "a.md")])
    assert not list((tmp_path / "runs").iterdir())


def test_an_earlier_result_may_be_replaced_and_a_missing_input_is_in_nobodys_way(run_file: Path, tmp_path: Path) -> None:
    check_places([("--out", run_file)], inputs=[tmp_path / "missing.json"])


def test_places_are_checked_without_leaving_a_folder(run_file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        check_outputs([("--out-md", tmp_path / "new" / "a.md"), ("--out-json", run_file)], inputs=[run_file])
    assert not (tmp_path / "new").exists()
    check_outputs([("--out-md", tmp_path / "new" / "a.md")], inputs=[run_file])
    assert not (tmp_path / "new").exists()


def test_what_could_be_written_is_found_out_without_leaving_a_folder_behind(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    check_writable(tmp_path / "kept" / "new" / "deep" / "report.html", field="--out")
    assert [path.name for path in tmp_path.rglob("*")] == ["kept"]
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        check_writable(tmp_path / "file" / "new" / "report.html", field="--out")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "kept"]
