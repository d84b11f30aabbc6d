import pytest

from evalplatform.retrieval.files import files_below, nearest_existing


def test_files_are_sorted_by_relative_path_at_any_depth(tmp_path):
    for name in ["b.md", "a/z.md", "a.md", "a/b/c.md", "__pycache__/x.md"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("t")
    assert [name for name, _ in files_below(tmp_path)] == ["a.md", "a/b/c.md", "a/z.md", "b.md"]
    assert all((tmp_path / name) == path for name, path in files_below(tmp_path))


def test_a_folder_reached_by_a_link_lists_its_own_files(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("t")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert [name for name, _ in files_below(tmp_path / "link")] == ["a.md"]


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("skils/demo/SKILL.md", "skills/demo/SKILL.md"),
        ("skills/dmo/SKILL.md", "skills/demo/SKILL.md"),
        ("skils/nothing", "skills"),
        ("skills/xyz", None),
        ("skills/demo/SKILL.md/deeper", None),
        ("skills/demo", None),
    ],
)
def test_a_mistyped_path_is_answered_with_the_nearest_existing_one(tmp_path, path, nearest):
    (tmp_path / "skills" / "demo").mkdir(parents=True)
    (tmp_path / "skills" / "demo" / "SKILL.md").write_text("t")
    assert nearest_existing(path, base_folder=tmp_path) == nearest
