"""Whether runs may stand beside each other as rivals: every reason why not, and what a reader has to know if they may."""

from collections.abc import Iterator, Sequence, Set

from evalplatform.comparisons.arm_contents import arm_content_refusals
from evalplatform.comparisons.comparability import ARM_CONTENTS, differing_factors, run_refusals, unstated_factors
from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.model_comparison_records import ComparisonWarning, FactorUnstated, NoScoredArm, RunsDiffer
from evalplatform.comparisons.refusals import (
    FactorDiffers,
    PinnedArmMissing,
    Refusal,
    RunArms,
    RunSays,
    SameConfiguration,
    ScoredArmsDiffer,
)
from evalplatform.comparisons.replicates import replicate_groups
from evalplatform.comparisons.run_warnings import RunTruncated

Reasons = Iterator[Refusal]
"""Reasons not to compare, in the order in which a reader should meet them."""


def scored_arm(runs: Sequence[ComparedRun], pinned: str | None) -> str | None:
    """Return the arm that the runs are scored on: the pinned one, else the only one with points in any run; None where that is not one."""
    scored = {arm for run in runs for arm in run.scored_treatment_arms}
    return pinned if pinned is not None else next(iter(scored)) if len(scored) == 1 else None


def rival_refusals(runs: Sequence[ComparedRun], *, pinned: str | None, pool_replicates: bool) -> Reasons:
    """Yield every reason why the runs may not be compared, most fundamental first (treatment-arms spec, section 12).

    A single run is compared with nothing, so it need only have an unmistakable scored arm that is one treatment.

    Args:
        runs: one or more.
        pinned: the arm that every run must be scored on; None takes the only one that is scored.
        pool_replicates: whether runs of one configuration will be averaged; if not, they are a reason. If so, what they differ in is.
    """
    arm = scored_arm(runs, pinned)
    if len(runs) == 1:
        yield from _scored_arms_differ(runs, pinned)
        yield from arm_content_refusals(runs, compared_arms(runs, arm))
    else:
        factors = differing_factors("model_comparison", runs, arms=compared_arms(runs, arm))
        zero = [refusal for refusal in factors if isinstance(refusal, FactorDiffers) and refusal.factor == "baseline_arm"]
        contents = [refusal for refusal in factors if refusal.factor == ARM_CONTENTS]
        material = [refusal for refusal in factors if isinstance(refusal, FactorDiffers) and refusal.factor == "judge_context"]
        yield from zero
        yield from _scored_arms_differ(runs, pinned)
        yield from contents
        yield from (refusal for run in runs for refusal in run_refusals(run))
        yield from material
        yield from () if pool_replicates else _same_configurations(runs)
        yield from (refusal for refusal in factors if refusal not in (*zero, *contents, *material))
        yield from _not_poolable(runs, known={refusal.factor for refusal in factors}) if pool_replicates else ()
    yield from _pinned_arm_missing(runs, pinned)


def rival_warnings(runs: Sequence[ComparedRun], *, treatment_arm: str | None) -> Iterator[ComparisonWarning]:
    """Yield what a reader of the comparison has to know first.

    Args:
        runs: one or more, that may be compared.
        treatment_arm: the scored arm.
    """
    if all(run.identity.question_set_digest is not None for run in runs):
        says = [run.identity.question_set_digest for run in runs]
        yield from _differences(runs, "question_set", "question set (question_set_hash)", says)
    configs = [None if run.identity.run_config is None else _config_words(run) for run in runs]
    yield from _differences(runs, "run_config", "answer sampling (run_config)", configs)
    if len(runs) > 1:
        yield from _unstated(runs)
    for run in runs:
        if treatment_arm is None or treatment_arm not in run.arms or not run.arms[treatment_arm].points:
            yield NoScoredArm(run=run.name)
        if run.truncated_reason is not None:
            yield RunTruncated(run=run.name, why=run.truncated_reason)


def _scored_arms_differ(runs: Sequence[ComparedRun], pinned: str | None) -> Reasons:
    scored = {arm for run in runs for arm in run.scored_treatment_arms}
    if pinned is None and len(scored) > 1:
        sides = tuple(RunArms(run=run.name, arms=run.scored_treatment_arms) for run in runs)
        yield ScoredArmsDiffer(arms=tuple(sorted(scored)), sides=sides)


def compared_arms(runs: Sequence[ComparedRun], treatment_arm: str | None) -> set[str]:
    """Return the arms that numbers are of: the runs' baseline and the scored one. The others may differ in what they inject."""
    return {run.identity.baseline_arm for run in runs} | ({treatment_arm} if treatment_arm is not None else set())


def _same_configurations(runs: Sequence[ComparedRun]) -> Reasons:
    for group in replicate_groups(runs):
        if len(group) > 1:
            identity = group[0].identity
            yield SameConfiguration(runs=tuple(run.name for run in group), model=identity.model, judge_model=identity.judge_model)


def _not_poolable(runs: Sequence[ComparedRun], *, known: Set[str]) -> Reasons:
    """Yield what replicates differ in that rivals might, such as another arm's content. `known` are the factors that were refused."""
    for group in replicate_groups(runs):
        yield from (refusal for refusal in differing_factors("pooled_replicates", group) if refusal.factor not in known)


def _pinned_arm_missing(runs: Sequence[ComparedRun], pinned: str | None) -> Reasons:
    if pinned is None:
        return
    for run in runs:
        arm, questions = run.arms.get(pinned), len(run.compared_questions)
        judged = 0 if arm is None else len(arm.points) + sum(arm.unscored_reasons.values())
        if arm is None or (run.identity.is_judged and judged < questions):
            yield PinnedArmMissing(run=run.name, arm=pinned, judged=judged, questions=questions, known=run.treatment_arms)


def _unstated(runs: Sequence[ComparedRun]) -> Iterator[ComparisonWarning]:
    by_runs: dict[tuple[str, ...], list[str]] = {}
    for words, names in unstated_factors("model_comparison", runs).items():
        by_runs.setdefault(names, []).append(words)
    yield from (FactorUnstated(factors=tuple(factors), runs=names) for names, factors in by_runs.items())


def _differences(runs: Sequence[ComparedRun], factor: str, words: str, says: Sequence[str | None]) -> Iterator[ComparisonWarning]:
    if len(set(says)) > 1:
        sides = tuple(RunSays(run=run.name, says=text) for run, text in zip(runs, says, strict=True))
        yield RunsDiffer(difference=FactorDiffers(factor=factor, words=words, sides=sides))


def _config_words(run: ComparedRun) -> str:
    config = run.identity.run_config or {}
    return ", ".join(f"{name} {value}" for name, value in sorted(config.items()) if value is not None) or "provider defaults"
