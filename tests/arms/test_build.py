import asyncio
from pathlib import Path

import pytest

from evalplatform.arms.build import ArmBuildContext, build_treatments
from evalplatform.arms.grammar import ArmRequest
from evalplatform.arms.treatment import Arm
from evalplatform.kernel.errors import ArmSpecError, TreatmentFileError
from evalplatform.kernel.material import SEPARATOR
from evalplatform.questions.records import Question
from tests.support.documents import ScriptedSource

QUESTION = Question(id="q1", question="how do widgets turn alpha beta")
PROFILE = "---\nid: terse\nname: Terse Expert\n---\nBe terse.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "terse.md").write_text(PROFILE)
    (tmp_path / "other.md").write_text("Be kind.")
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "SKILL.md").write_text("---\nname: demo\ndescription: Turning widgets.\n---\nTurn left.\n")
    (tmp_path / "demo" / "more.md").write_text("More.")
    return tmp_path


def context(folder: Path, source: ScriptedSource | None = None, **known: object) -> ArmBuildContext:
    return ArmBuildContext(base_folder=folder, open_document_source=lambda spec: source or ScriptedSource(), **known)


def prepared(folder: Path, spec: str, source: ScriptedSource | None = None, **known: object):
    [(_, treatment)] = build_treatments([ArmRequest(spec=spec)], context=context(folder, source, **known))

    async def run():
        digests = await treatment.open()
        config = await treatment.prepare(QUESTION)
        await treatment.aclose()
        return digests, config

    return asyncio.run(run())


def test_arms_take_the_names_their_content_gives_in_the_order_asked(folder):
    specs = ["baseline", "docs:local:d", "profile:terse.md", "profile:other.md", "skill:demo", "docs:local:d+skill:demo+profile:other.md"]
    built = build_treatments([ArmRequest(spec=spec) for spec in specs], context=context(folder))
    assert [arm.name for arm, _ in built] == [
        "baseline",
        "docs",
        "profile:terse",
        "profile:other",
        "skill:demo",
        "docs+skill:demo+profile:other",
    ]
    assert [arm.spec for arm, _ in built] == specs


def test_an_arm_can_have_a_name_of_its_own_or_repeat_the_specs_own_name(folder):
    arms = [
        ArmRequest(spec="docs:local:a", name="handbook"),
        Arm(spec="docs:local:b", name="docs"),
        Arm(spec="skill:demo", name="skill:demo"),
    ]
    assert [arm.name for arm, _ in build_treatments(arms, context=context(folder))] == ["handbook", "docs", "skill:demo"]


@pytest.mark.parametrize("name", ["docs", "skill:other", "Mine", "a b"])
def test_a_name_that_would_mislead_is_refused(folder, name):
    with pytest.raises(ArmSpecError, match="cannot name an arm"):
        build_treatments([Arm(spec="skill:demo", name=name)], context=context(folder))


def test_two_docs_arms_need_names_of_their_own(folder):
    specs = [ArmRequest(spec="docs:local:a"), ArmRequest(spec="docs:local:b")]
    with pytest.raises(ArmSpecError, match="'docs:local:a' and 'docs:local:b' would both be called 'docs'"):
        build_treatments(specs, context=context(folder))


def test_two_profiles_with_one_id_are_refused(folder):
    (folder / "copy.md").write_text(PROFILE)
    with pytest.raises(ArmSpecError, match="would both be called 'profile:terse'"):
        build_treatments([ArmRequest(spec="profile:terse.md"), ArmRequest(spec="profile:copy.md")], context=context(folder))


def test_a_run_without_an_arm_is_refused(folder):
    with pytest.raises(ArmSpecError, match="names no arm"):
        build_treatments([], context=context(folder))


def test_spelling_mistakes_are_told_before_any_file_is_read(folder):
    with pytest.raises(ArmSpecError, match="unknown arm kind 'dcos'"):
        build_treatments([ArmRequest(spec="profile:gone.md"), ArmRequest(spec="dcos")], context=context(folder))


@pytest.mark.parametrize("known", [{"top_k": 0}, {"rerank_threshold": -0.1}, {"rerank_threshold": 1.1}, {"rerank_threshold": float("nan")}])
def test_retrieval_settings_out_of_range_are_refused(folder, known):
    with pytest.raises(ArmSpecError, match="must be"):
        context(folder, **known)


def test_the_baseline_sends_nothing(folder):
    digests, config = prepared(folder, "baseline")
    assert digests == {}
    assert (config.system_prompt, config.contexts, config.material.text) == (None, (), "")
    assert config.metadata == {"arm_kind": "baseline"}


def test_a_profile_is_a_system_prompt_that_the_judge_is_not_shown(folder):
    digests, config = prepared(folder, "profile:terse.md")
    assert (config.system_prompt, config.contexts, config.material.text) == ("Be terse.", (), "")
    assert config.metadata == {
        "arm_kind": "agent_profile",
        "profile_id": "terse",
        "profile_name": "Terse Expert",
        "profile_path": "terse.md",
        "profile_prompt_sha256": digests["profile_prompt"],
        "profile_prompt_chars": 9,
        "profile_prompt_chars_source": 9,
        "profile_prompt_truncated": False,
    }


@pytest.mark.parametrize("front", ["---\nid: [\n---\n", "---\njust words\n---\n", "---\nid:\n---\n", ""])
def test_a_profile_with_unusable_front_matter_is_named_after_its_file_and_keeps_its_body(folder, front):
    (folder / "broken.md").write_text(f"{front}Be odd.")
    _, config = prepared(folder, "profile:broken.md")
    assert (config.metadata["profile_id"], config.system_prompt) == ("broken", "Be odd.")


def test_editing_a_profile_changes_its_digest_but_not_its_name(folder):
    before, _ = prepared(folder, "profile:terse.md")
    (folder / "terse.md").write_text(PROFILE.replace("terse.\n", "very terse.\n"))
    after, config = prepared(folder, "profile:terse.md")
    assert config.metadata["profile_id"] == "terse"
    assert before != after


def test_a_long_profile_is_cut_on_record(folder):
    (folder / "long.md").write_text("x" * 12_500)
    _, config = prepared(folder, "profile:long.md")
    assert config.metadata["profile_prompt_truncated"] is True
    assert (config.metadata["profile_prompt_chars"], config.metadata["profile_prompt_chars_source"]) == (12_002, 12_500)


def test_a_profile_that_would_send_nothing_is_refused(folder):
    (folder / "empty.md").write_text("---\nid: empty\n---\n \n")
    with pytest.raises(TreatmentFileError, match=r"empty\.md: has no text below its front matter"):
        prepared(folder, "profile:empty.md")


@pytest.mark.parametrize(("spec", "says"), [("profile:tersse.md", "Did you mean 'terse.md'"), ("profile:demo", "cannot be read")])
def test_a_profile_that_is_missing_or_no_file_is_refused(folder, spec, says):
    with pytest.raises(TreatmentFileError, match=says):
        prepared(folder, spec)


def test_an_absurdly_long_path_is_refused_and_not_a_crash(folder):
    with pytest.raises(TreatmentFileError, match="cannot be looked up"):
        prepared(folder, "profile:" + "x" * 5_000)


def test_a_skill_is_injected_and_the_judge_also_sees_the_names_of_its_files(folder):
    _, config = prepared(folder, "skill:demo")
    block = "# Skill: demo\n\nTurning widgets.\n\nTurn left."
    assert (config.system_prompt, config.contexts) == (None, (block,))
    assert config.material.text == f"{block}{SEPARATOR}Files bundled with the skill demo (names only):\n- more.md"
    assert config.metadata == {
        "arm_kind": "skill",
        "skill_name": "demo",
        "skill_path": "demo/SKILL.md",
        "skill_sha256": config.metadata["skill_sha256"],
        "skill_chars": 10,
        "skill_chars_source": 10,
        "skill_chars_injected": len(block),
        "skill_truncated": False,
    }


def test_a_long_skill_records_the_capped_the_whole_and_the_injected_size(folder):
    (folder / "demo" / "SKILL.md").write_text("---\nname: demo\n---\n" + "x" * 12_500)
    _, config = prepared(folder, "skill:demo")
    sizes = [config.metadata[key] for key in ("skill_chars", "skill_chars_source", "skill_chars_injected", "skill_truncated")]
    assert sizes == [12_000, 12_500, 12_002 + len("# Skill: demo\n\n"), True]


def test_renaming_a_bundled_file_changes_the_digests_since_the_judge_sees_the_name(folder):
    before, _ = prepared(folder, "skill:demo")
    (folder / "demo" / "more.md").rename(folder / "demo" / "less.md")
    after, _ = prepared(folder, "skill:demo")
    assert before["skill_block"] == after["skill_block"]
    assert before["skill_files"] != after["skill_files"]
