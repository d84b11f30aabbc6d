"""From specs to treatments, and the final names that results carry. What is wrong with a spec or its files is found here or in `open`."""

from collections.abc import Sequence

from evalplatform.arms.combination import CombinedTreatment
from evalplatform.arms.grammar import ArmRequest, checked_arm_name, parse_spec, refuse_shared_names
from evalplatform.arms.kind import ArmBuildContext, arm_kinds
from evalplatform.arms.treatment import Arm, Treatment
from evalplatform.kernel.errors import ArmSpecError

__all__ = ["ArmBuildContext", "build_treatment", "build_treatments"]


def build_treatments(arms: Sequence[Arm | ArmRequest], *, context: ArmBuildContext) -> list[tuple[Arm, Treatment]]:
    """Return each arm, under its final name, with its treatment, in the order given.

    An arm asked for without a name takes the name its spec gives (`docs`, `skill:demo`, `docs+skill:demo`). A name of its own is
    `[a-z0-9._-]+` and no kind, or the very name the spec gives.

    Raises:
        ArmSpecError: there is no arm, a spec is wrong, or two arms would have one name.
        TreatmentFileError: a file cannot be used.
    """
    if not arms:
        raise ArmSpecError("names no arm; at least one is needed.", field="arms")
    for arm in arms:
        parse_spec(arm.spec)  # every spelling mistake is told before the first file is read
    built = []
    for arm in arms:
        treatment = build_treatment(arm.spec, context=context)
        built.append((Arm(name=_final_name(arm, treatment), spec=arm.spec), treatment))
    refuse_shared_names((arm.name, arm.spec) for arm, _ in built)
    return built


def build_treatment(spec: str, *, context: ArmBuildContext) -> Treatment:
    """Return the treatment of one spec; several parts make a combined one.

    Raises:
        ArmSpecError: the spec is wrong.
        TreatmentFileError: a file cannot be used.
    """
    parts = [arm_kinds.get(part.kind).build(part.argument, context=context) for part in parse_spec(spec).parts]
    return parts[0] if len(parts) == 1 else CombinedTreatment(parts)


def _final_name(arm: Arm | ArmRequest, treatment: Treatment) -> str:
    if arm.name is None or arm.name == treatment.name:
        return treatment.name
    return checked_arm_name(arm.name, spec=arm.spec)
