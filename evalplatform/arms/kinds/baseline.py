"""`baseline`: the control. It adds nothing, and its judge is shown nothing."""

from evalplatform.arms.kind import ArmBuildContext, ArmKind, arm_kinds
from evalplatform.arms.treatment import AgentConfig
from evalplatform.questions.records import Question


class BaselineTreatment:
    """The arm that every delta is taken against."""

    kind = "baseline"
    name = "baseline"
    warnings: tuple[str, ...] = ()

    async def open(self) -> dict[str, str]:
        """Return no digest: nothing is injected."""
        return {}

    async def prepare(self, question: Question) -> AgentConfig:
        """Return an empty config."""
        return AgentConfig(metadata={"arm_kind": "baseline"})

    async def aclose(self) -> None:
        """Do nothing."""


def build(argument: str, *, context: ArmBuildContext) -> BaselineTreatment:
    """Return the baseline; it needs nothing."""
    return BaselineTreatment()


arm_kinds.register("baseline")(ArmKind(build=build, argument="none"))
