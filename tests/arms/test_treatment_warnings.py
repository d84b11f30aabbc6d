"""What is odd about a skill's or profile's file, and no reason to refuse it, is said; names that would break a report are refused."""

import json
from pathlib import Path

import pytest

from evalplatform.arms.build import ArmBuildContext, build_treatment
from evalplatform.arms.treatment import Treatment
from evalplatform.kernel.errors import TreatmentFileError
from tests.support.documents import ScriptedSource

PITFALLS = {pitfall["id"]: pitfall for pitfall in json.loads((Path(__file__).parents[1] / "cases" / "pitfalls.json").read_text())}
HEAD = "---\nname: demo\ndescription: d\n---\n"


def built(spec: str, folder: Path) -> Treatment:
    return build_treatment(spec, context=ArmBuildContext(base_folder=folder, open_document_source=lambda source: ScriptedSource([])))


def skill_warnings(folder: Path, text: str, name: str = "demo") -> tuple[str, ...]:
    (folder / name).mkdir()
    (folder / name / "SKILL.md").write_bytes(text.encode())
    return built(f"skill:{name}", folder).warnings


def profile_warnings(folder: Path, text: str) -> tuple[str, ...]:
    (folder / "terse.md").write_bytes(text.encode())
    return built("profile:terse.md", folder).warnings


def test_a_clean_file_has_no_warning(tmp_path: Path) -> None:
    assert skill_warnings(tmp_path, HEAD + "body") == ()
    assert profile_warnings(tmp_path, "---\nid: terse\n---\nBe terse.") == ()
    assert built("docs:local:docs", tmp_path).warnings == ()


def test_a_skill_with_a_byte_order_mark_is_told_so(tmp_path: Path) -> None:
    (warning,) = skill_warnings(tmp_path, PITFALLS["K02"]["input"]["SKILL.md"])
    assert warning == "demo/SKILL.md: byte-order-mark (loading): the file begins with a byte order mark; it is dropped."


def test_a_skill_of_front_matter_alone_is_told_that_its_body_is_empty(tmp_path: Path) -> None:
    (warning,) = skill_warnings(tmp_path, PITFALLS["K05"]["input"]["files"][1], name="a")
    assert warning == "a/SKILL.md: body-empty (loading): only the name and description would reach the model."


def test_a_body_over_the_cap_is_told_with_its_size(tmp_path: Path) -> None:
    (warning,) = skill_warnings(tmp_path, HEAD + "x" * 12_001)
    assert warning == "demo/SKILL.md: the body holds 12,001 characters, of which the first 12,000 are sent."


@pytest.mark.parametrize("name", PITFALLS["K06"]["input"]["names"])
def test_a_name_against_a_rule_set_is_told_by_rule(tmp_path: Path, name: str) -> None:
    warnings = skill_warnings(tmp_path, f"---\nname: {name}\ndescription: d\n---\nbody", name=name)
    assert warnings
    assert all(warning.startswith(f"{name}/SKILL.md: name-") for warning in warnings)


def test_what_both_rule_sets_say_is_told_once(tmp_path: Path) -> None:
    (warning,) = skill_warnings(tmp_path, f"---\nname: demo\ndescription: {'d' * 1_025}\n---\nbody")
    assert warning == "demo/SKILL.md: description-too-long (agent-skills, quick-validate): 1,025 characters; at most 1,024."


def test_a_skill_without_front_matter_is_told_that_and_not_all_that_follows(tmp_path: Path) -> None:
    (warning,) = skill_warnings(tmp_path, "body")
    assert warning.startswith("demo/SKILL.md: front-matter-missing (loading): ")


def test_a_profile_with_broken_front_matter_is_told_with_its_line(tmp_path: Path) -> None:
    (warning,) = profile_warnings(tmp_path, "---\nname: a\nid: b: c\n---\nBe terse.")
    assert warning.startswith("terse.md:3: the front matter cannot be read and counts as none (")
    assert warning.endswith("'id: b: c'); the profile is called after its file.")


def test_a_profile_with_a_mark_or_over_the_cap_is_told_so(tmp_path: Path) -> None:
    assert profile_warnings(tmp_path, "\ufeff" + "x" * 12_500) == (
        "terse.md: the file begins with a byte order mark; it is dropped.",
        "terse.md: the prompt holds 12,500 characters, of which the first 12,000 are sent.",
    )


def test_a_combined_arm_has_the_warnings_of_its_parts(tmp_path: Path) -> None:
    found = (*profile_warnings(tmp_path, "\ufeffBe terse."), *skill_warnings(tmp_path, "body"))
    assert built("profile:terse.md+skill:demo", tmp_path).warnings == found


@pytest.mark.parametrize("text", ["", " \n", "---\n---\n", "\ufeff", "---\nname: ' '\n---\n"])
def test_a_skill_that_says_nothing_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(TreatmentFileError, match=r"demo/SKILL\.md: has no name, no description and no text"):
        skill_warnings(tmp_path, text)


@pytest.mark.parametrize("name", ["a|b", "c, d", "a\\nb", "a\\x00b", "a\\u2028b"])
def test_a_name_that_would_break_lists_and_tables_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TreatmentFileError, match=r"demo/SKILL\.md: name: the name .* so it may hold no '\|', no ','"):
        skill_warnings(tmp_path, f'---\nname: "{name}"\ndescription: d\n---\nbody')
    with pytest.raises(TreatmentFileError, match=r"terse\.md: id: the name .* so it may hold no '\|', no ','"):
        profile_warnings(tmp_path, f'---\nid: "{name}"\n---\nBe terse.')
