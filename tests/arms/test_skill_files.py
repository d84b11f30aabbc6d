import json
from pathlib import Path

import pytest

from evalplatform.arms.payload import PAYLOAD_CAP_CHARS
from evalplatform.arms.skill_files import load_skill
from evalplatform.kernel.errors import TreatmentFileError
from tests.support.requirements import data_folder

PITFALLS = {pitfall["id"]: pitfall for pitfall in json.loads((Path(__file__).parents[1] / "cases" / "pitfalls.json").read_text())}


def written(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_bytes(text.encode())
    return folder


@pytest.mark.parametrize("pitfall", ["K01", "K02"])
def test_crlf_and_a_byte_order_mark_load(tmp_path, pitfall):
    written(tmp_path / "x", PITFALLS[pitfall]["input"]["SKILL.md"])
    skill = load_skill("x", base_folder=tmp_path)
    assert (skill.name, skill.description, skill.body.text) == ("demo", "d", "body")


def test_an_unquoted_colon_is_refused_with_file_line_text_and_remedy(tmp_path):
    written(tmp_path / "harden", PITFALLS["K03"]["input"]["SKILL.md"])
    with pytest.raises(TreatmentFileError) as refused:
        load_skill("harden", base_folder=tmp_path)
    assert (refused.value.file, refused.value.line) == ("harden/SKILL.md", 3)
    assert "description: Make interfaces production-ready: error handling, empty states" in str(refused.value)
    assert "put quotes around the value of 'description'" in str(refused.value)


def test_unclosed_is_refused_an_empty_body_loads_and_a_rule_in_the_body_stays(tmp_path):
    for name, text in zip("abc", PITFALLS["K05"]["input"]["files"], strict=True):
        written(tmp_path / name, text)
    with pytest.raises(TreatmentFileError, match=r"a/SKILL\.md:1: .*never closed"):
        load_skill("a", base_folder=tmp_path)
    empty = load_skill("b", base_folder=tmp_path)
    assert (empty.body.text, empty.block) == ("", "# Skill: a\n\nd")
    assert load_skill("c", base_folder=tmp_path).body.text == "# T\n\n---\nrule"


def test_front_matter_that_is_no_mapping_is_refused(tmp_path):
    written(tmp_path / "x", "---\nname demo\n---\nbody")
    with pytest.raises(TreatmentFileError, match=r"x/SKILL\.md:2: front matter cannot be read: not a mapping"):
        load_skill("x", base_folder=tmp_path)


@pytest.mark.parametrize("value", ["1.10", "[a]", "2026-01-01", "true"])
def test_a_name_that_yaml_reads_as_something_else_must_be_quoted(tmp_path, value):
    written(tmp_path / "x", f"---\nname: {value}\n---\nbody")
    with pytest.raises(TreatmentFileError, match=r"x/SKILL\.md: name: must be text"):
        load_skill("x", base_folder=tmp_path)


@pytest.mark.parametrize("path", ["x", "x/", "x/SKILL.md", "./x"])
def test_the_folder_and_the_file_name_the_same_skill_called_like_the_folder_without_a_name(tmp_path, path):
    written(tmp_path / "x", "body only")
    skill = load_skill(path, base_folder=tmp_path)
    assert (skill.name, skill.description, skill.block) == ("x", None, "# Skill: x\n\nbody only")


def test_a_skill_at_an_absolute_path_loads(tmp_path):
    folder = written(tmp_path / "x", "body")
    assert load_skill(str(folder), base_folder=Path("/nowhere")).name == "x"


def test_bundled_files_are_listed_sorted_without_the_entry_and_caches(tmp_path):
    folder = written(tmp_path / "x", "body")
    for name in ["z.md", "references/deep.md", "scripts/__pycache__/run.pyc", "scripts/run.py", "nested/SKILL.md"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("t")
    assert load_skill("x", base_folder=tmp_path).resources == ("nested/SKILL.md", "references/deep.md", "scripts/run.py", "z.md")


def test_links_that_lead_out_of_the_skill_are_not_followed(tmp_path):
    folder = written(tmp_path / "x", "body")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("t")
    (folder / "inside.md").write_text("t")
    (folder / "link-in.md").symlink_to(folder / "inside.md")
    (folder / "link-out.md").symlink_to(tmp_path / "outside" / "secret.md")
    (folder / "folder-out").symlink_to(tmp_path / "outside")
    (folder / "dangling.md").symlink_to(tmp_path / "gone")
    assert load_skill("x", base_folder=tmp_path).resources == ("inside.md", "link-in.md")


def test_the_manifest_names_at_most_two_hundred_files(tmp_path):
    folder = written(tmp_path / "x", "body")
    for number in range(203):
        (folder / f"{number:03}.md").write_text("t")
    lines = load_skill("x", base_folder=tmp_path).manifest.splitlines()
    assert lines[0] == "Files bundled with the skill x (names only):"
    assert lines[1:] == [f"- {number:03}.md" for number in range(200)] + ["- and 3 more"]


def test_a_skill_without_bundled_files_has_no_manifest(tmp_path):
    written(tmp_path / "x", "body")
    assert load_skill("x", base_folder=tmp_path).manifest == ""


def test_a_long_body_is_cut_but_not_its_description(tmp_path):
    written(tmp_path / "x", "---\ndescription: " + "d" * 1_000 + "\n---\n" + "b" * 13_000)
    skill = load_skill("x", base_folder=tmp_path)
    assert (skill.body.truncated, skill.body.source_chars) == (True, 13_000)
    assert len(skill.block) == len("# Skill: x\n\n") + 1_000 + 2 + PAYLOAD_CAP_CHARS + 2


def test_a_missing_skill_is_named_with_the_nearest_one(tmp_path):
    written(tmp_path / "skills" / "demo", "body")
    with pytest.raises(TreatmentFileError, match=r"skills/dmeo: does not exist\. Did you mean 'skills/demo'\?"):
        load_skill("skills/dmeo", base_folder=tmp_path)


def test_a_folder_without_an_entry_and_a_file_of_another_name_are_no_skills(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "skill.md").write_text("body")
    with pytest.raises(TreatmentFileError, match=r"x: is no skill: the folder holds no SKILL\.md\. Did you mean 'x/skill\.md'\?"):
        load_skill("x", base_folder=tmp_path)
    with pytest.raises(TreatmentFileError, match=r"x/skill\.md: is no skill"):
        load_skill("x/skill.md", base_folder=tmp_path)


def test_a_skill_that_is_not_utf8_is_refused_with_its_line(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "SKILL.md").write_bytes(b"---\nname: x\n---\n\xff\xfe")
    with pytest.raises(TreatmentFileError, match=r"x/SKILL\.md:4: is not UTF-8"):
        load_skill("x", base_folder=tmp_path)


def test_every_skill_of_a_real_catalog_loads_under_its_own_name():
    catalog = data_folder("skills") / "skills"
    folders = sorted(folder.name for folder in catalog.iterdir())
    skills = [load_skill(name, base_folder=catalog) for name in folders]
    assert [skill.name for skill in skills] == folders
    assert all(skill.description and "evals/evals.json" in skill.resources and not skill.body.truncated for skill in skills)
