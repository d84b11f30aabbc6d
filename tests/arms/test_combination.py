import asyncio
from pathlib import Path

import pytest

from evalplatform.arms.build import ArmBuildContext, build_treatment
from evalplatform.arms.combination import CombinedTreatment, combined_config
from evalplatform.arms.treatment import AgentConfig
from evalplatform.kernel.errors import RetrievalError
from evalplatform.kernel.material import SEPARATOR, JudgeMaterial
from evalplatform.questions.records import Question
from tests.support.documents import ScriptedSource

QUESTION = Question(id="q1", question="alpha beta")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text(f"Be {name}.")
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(f"Do {name}.")
        (tmp_path / name / f"{name}-more.md").write_text("t")
    return tmp_path


def combined(folder: Path, spec: str, source: ScriptedSource | None = None):
    context = ArmBuildContext(base_folder=folder, open_document_source=lambda spec: source or ScriptedSource(["alpha beta"]))
    treatment = build_treatment(spec, context=context)

    async def run():
        try:
            return treatment.name, await treatment.open(), await treatment.prepare(QUESTION)
        finally:
            await treatment.aclose()

    return asyncio.run(run())


def test_contexts_stand_in_the_order_of_the_spec_and_the_judge_sees_them_all(folder):
    name, digests, config = combined(folder, "skill:one+docs:local:d+profile:one.md+skill:two")
    assert name == "skill:one+docs+profile:one+skill:two"
    assert config.contexts == ("# Skill: one\n\nDo one.", "alpha beta", "# Skill: two\n\nDo two.")
    assert config.system_prompt == "Be one."
    assert [chunk.source for chunk in config.chunks] == ["page-0"]
    assert config.material.injected == SEPARATOR.join(config.contexts)
    assert config.material.reference.splitlines()[1::3] == ["- one-more.md", "- two-more.md"]
    assert sorted(digests) == sorted(
        [
            *("1:skill:one:skill_block", "1:skill:one:skill_files", "2:docs:documents", "2:docs:retrieval"),
            *("3:profile:one:profile_prompt", "4:skill:two:skill_block", "4:skill:two:skill_files"),
        ]
    )


def test_each_part_keeps_its_own_metadata_under_its_name(folder):
    _, _, config = combined(folder, "docs:local:d+profile:one.md")
    parts = config.metadata["treatments"]
    assert (config.metadata["arm_kind"], config.metadata["combined_count"]) == ("combined", 2)
    assert [(part["name"], part["arm_kind"]) for part in parts] == [("docs", "docs"), ("profile:one", "agent_profile")]
    assert parts[1]["profile_prompt_sha256"].startswith("sha256:")
    assert "dropped_system_prompts" not in config.metadata


def test_the_first_system_prompt_wins_and_the_others_are_named(folder):
    _, _, config = combined(folder, "profile:two.md+skill:one+profile:one.md")
    assert config.system_prompt == "Be two."
    assert config.metadata["dropped_system_prompts"] == ["profile:one"]


def test_a_part_that_fails_fails_the_arm_and_every_part_is_closed(folder):
    source = ScriptedSource(fails_at_retrieve=True)
    with pytest.raises(RetrievalError, match="went away"):
        combined(folder, "skill:one+docs:local:d", source)
    assert source.closed == 1


def test_a_part_that_cannot_close_does_not_keep_the_others_open():
    class Stuck:
        kind = name = "stuck"

        async def aclose(self) -> None:
            raise RetrievalError("cannot close.")

    class Closing:
        kind = name = "closing"
        closed = False

        async def aclose(self) -> None:
            self.closed = True

    last = Closing()
    with pytest.raises(RetrievalError, match="cannot close"):
        asyncio.run(CombinedTreatment([Stuck(), last]).aclose())
    assert last.closed


def test_parts_without_material_leave_no_empty_separators():
    shown = AgentConfig(contexts=("a",), material=JudgeMaterial(injected="a"))
    assert combined_config([("p", AgentConfig()), ("s", shown), ("q", AgentConfig())]).material.text == "a"
