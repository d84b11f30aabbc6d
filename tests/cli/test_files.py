"""Files that a user asked for: whole or not at all, with nothing left beside them."""

from pathlib import Path

import pytest

from evalplatform.cli.files import check_writable, write_if_changed, write_new
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
