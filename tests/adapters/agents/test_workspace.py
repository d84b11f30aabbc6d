"""What may be a workspace, and what a run has changed in one."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.adapters.agents import workspace
from evalplatform.adapters.agents.workspace import checked_workspace, copy_workspace, file_changes, file_states, remove_folder
from evalplatform.kernel.errors import InputError

STATES = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["1", "2"]))


def test_links_within_a_workspace_are_copied_as_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "below").mkdir(parents=True)
    (source / "below" / "a.txt").write_text("a")
    (source / "link").symlink_to("below/a.txt")
    (source / "folder").symlink_to("below")
    states = copy_workspace(checked_workspace(source, field="workspace"), tmp_path / "copy")
    assert set(states) == {"below/a.txt", "link", "folder"}
    assert (tmp_path / "copy" / "link").readlink() == Path("below/a.txt")
    assert (tmp_path / "copy" / "folder" / "a.txt").read_text() == "a"


@pytest.mark.parametrize("target", ["/etc/hostname", "../outside.txt", "below/../../outside.txt"])
def test_a_link_out_of_a_workspace_is_refused(tmp_path: Path, target: str) -> None:
    source = tmp_path / "source"
    (source / "below").mkdir(parents=True)
    (source / "below" / "link").symlink_to(target if target.startswith("/") else f"../{target}")
    with pytest.raises(InputError, match="workspace: 'below/link' is a link that leads out of the workspace"):
        checked_workspace(source, field="workspace")


def test_what_cannot_be_copied_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="'pipe' is neither a file nor a link"):
        checked_workspace(tmp_path, field="workspace")
    with pytest.raises(InputError, match="there is no folder"):
        checked_workspace(tmp_path / "none", field="workspace")


def test_a_workspace_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(workspace.LARGEST_WORKSPACE_BYTES + 1)  # sparse
    with pytest.raises(InputError, match="is larger than 512 MiB"):
        checked_workspace(tmp_path, field="workspace")
    (tmp_path / "large").unlink()
    monkeypatch.setattr(workspace, "MOST_WORKSPACE_FILES", 1)
    (tmp_path / "one").touch()
    assert checked_workspace(tmp_path, field="workspace") == tmp_path
    (tmp_path / "two").touch()
    with pytest.raises(InputError, match="holds more than 1 file"):
        checked_workspace(tmp_path, field="workspace")


def test_a_name_that_is_no_utf8_can_be_told(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")).touch()
    assert list(file_states(tmp_path)) == ["caf\\xe9"]


def test_a_folder_that_a_run_has_closed_can_be_removed(tmp_path: Path) -> None:
    closed = tmp_path / "made" / "closed"
    closed.mkdir(parents=True)
    (closed / "file").touch()
    closed.chmod(0)
    remove_folder(tmp_path / "made")
    assert not (tmp_path / "made").exists()


@given(STATES, STATES)
def test_changes_lead_from_one_state_to_the_other(before: dict[str, str], after: dict[str, str]) -> None:
    changed = file_changes(before, after).files
    state = dict(before)
    for file in changed:
        assert (file.path in before, file.path in after) == {
            "added": (False, True),
            "modified": (True, True),
            "removed": (True, False),
        }[file.change]
        if file.digest is None:
            del state[file.path]
        else:
            state[file.path] = file.digest
    assert state == after
    assert [file.path for file in changed] == sorted(file.path for file in changed)
    assert file_changes(before, before).files == ()
