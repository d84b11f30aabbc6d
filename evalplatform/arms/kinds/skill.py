"""`skill:<path>`: a SKILL.md's body injected before every question."""

from pydantic import JsonValue

from evalplatform.arms.kind import ArmBuildContext, ArmKind, arm_kinds
from evalplatform.arms.payload import PAYLOAD_CAP_CHARS
from evalplatform.arms.skill_files import Skill, load_skill
from evalplatform.arms.skill_lint import lint_skill, worded_findings
from evalplatform.arms.treatment import AgentConfig
from evalplatform.kernel.digests import json_digest, text_digest
from evalplatform.kernel.material import JudgeMaterial
from evalplatform.questions.records import Question


class SkillTreatment:
    """An injected skill. Only SKILL.md is sent; the judge also sees the names of the bundled files."""

    kind = "skill"

    def __init__(self, skill: Skill) -> None:
        self._skill = skill
        self.name = f"skill:{skill.name}"
        self.warnings = _warnings(skill)

    async def open(self) -> dict[str, str]:
        """Return the digests of the injected block and of the list of bundled files."""
        return {"skill_block": text_digest(self._skill.block), "skill_files": json_digest(self._skill.resources)}

    async def prepare(self, question: Question) -> AgentConfig:
        """Return the injected block, the same for every question, so that a provider can cache the prefix it begins."""
        block = self._skill.block
        return AgentConfig(
            contexts=(block,),
            material=JudgeMaterial(injected=block, reference=self._skill.manifest),
            metadata=_metadata(self._skill),
        )

    async def aclose(self) -> None:
        """Do nothing."""


def build(argument: str, *, context: ArmBuildContext) -> SkillTreatment:
    """Return the skill's treatment.

    Raises:
        TreatmentFileError: the skill cannot be loaded.
    """
    return SkillTreatment(load_skill(argument, base_folder=context.base_folder))


def _warnings(skill: Skill) -> tuple[str, ...]:
    """Say what was cut, and what the public rule sets say of the front matter; none of it keeps a skill from being sent."""
    cut = skill.body.cut_words
    return tuple(
        f"{skill.path}: {sentence}" for sentence in (*([f"the body {cut}."] if cut else []), *worded_findings(lint_skill(skill.folder)))
    )


def _metadata(skill: Skill) -> dict[str, JsonValue]:
    body = skill.body
    return {
        "arm_kind": "skill",
        "skill_name": skill.name,
        "skill_path": skill.path,
        "skill_sha256": body.digest,
        "skill_chars": min(body.source_chars, PAYLOAD_CAP_CHARS),
        "skill_chars_source": body.source_chars,
        "skill_chars_injected": len(skill.block),
        "skill_truncated": body.truncated,
    }


arm_kinds.register("skill")(ArmKind(build=build, argument="required", meaning="path to a SKILL.md or its folder"))
