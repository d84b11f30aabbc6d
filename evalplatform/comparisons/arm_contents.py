"""What an arm injects: the one rule for whether arms that share a name are one treatment in every run.

Three stamps say it, each as far as runs state it: the digests of an arm's files, the digests of the profiles that its answers carry (a
profile is edited and keeps its id), and the digest of the material that stood beside each answer. Files and materials are compared between
runs of one product: a batch over products injects each product's own documents.
"""

from collections.abc import Collection, Sequence

from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.question_differences import question_difference, question_key
from evalplatform.comparisons.refusals import ArmContentsDiffer, MaterialsDiffer, ProfilesDiffer, RunSays

ArmRefusal = ArmContentsDiffer | ProfilesDiffer | MaterialsDiffer
SHOWN_DIGEST_CHARS = len("sha256:") + 12


def arm_content_refusals(runs: Sequence[ComparedRun], arms: Collection[str] | None = None) -> list[ArmRefusal]:
    """Return why arms of one name are not one treatment, by files first; an arm is told once.

    Args:
        runs: the runs.
        arms: the arms that numbers are compared of; None for all.
    """
    named = dict.fromkeys(arm for run in runs for arm in run.arms if arms is None or arm in arms)
    found: list[ArmRefusal] = []
    other_files = _arms_of_other_files(runs, named)
    if other_files:
        stating = {run for by_run in other_files.values() for run in by_run}
        found.append(ArmContentsDiffer(runs=tuple(run.name for run in runs if run.name in stating), arms=tuple(other_files)))
    for arm in named:
        if arm not in other_files:
            found.extend(_profiles_differ(runs, arm) or _materials_differ(runs, arm))
    return found


def _arms_of_other_files(runs: Sequence[ComparedRun], arms: Collection[str]) -> dict[str, list[str]]:
    """Return the arms whose files differ between runs of one product, with the runs that state them."""
    by_arm: dict[str, dict[str | None, dict[str, str]]] = {}
    for run in runs:
        for arm, digest in (run.identity.arm_content_digests or {}).items():
            if arm in arms:
                by_arm.setdefault(arm, {}).setdefault(run.identity.library_name, {})[run.name] = digest
    differing = {
        arm: [run for digests in products.values() if len(set(digests.values())) > 1 for run in digests] for arm, products in by_arm.items()
    }
    return {arm: stating for arm, stating in differing.items() if stating}


def _profiles_differ(runs: Sequence[ComparedRun], arm: str) -> list[ProfilesDiffer]:
    by_run = {run.name: run.arms[arm].profile_prompts for run in runs if arm in run.arms}
    if len(frozenset().union(*by_run.values())) < 2:
        return []
    return [ProfilesDiffer(arm=arm, sides=tuple(RunSays(run=run, says=_shown(prompts)) for run, prompts in by_run.items()))]


def _shown(prompts: Collection[tuple[str, ...]]) -> str | None:
    return " and ".join("+".join(digest[:SHOWN_DIGEST_CHARS] for digest in one) for one in sorted(prompts)) or None


def _materials_differ(runs: Sequence[ComparedRun], arm: str) -> list[MaterialsDiffer]:
    stated = [run.arms[arm].material_digests for run in runs if arm in run.arms]
    if all(digests == stated[0] for digests in stated):
        return []  # most often, and in a fraction of the time that keys of thousands of questions take
    materials = [
        (run.name, {question_key(run, question): digest for question, digest in run.arms[arm].material_digests.items()})
        for run in runs
        if arm in run.arms
    ]
    found = question_difference(materials)
    return [] if found is None else [MaterialsDiffer(runs=found.runs, arm=arm, questions=found.questions, first=found.first)]
