"""Whether combined arms do more, or less, than the sum of their parts."""

import re
from collections.abc import Callable, Mapping, Sequence

from evalplatform.comparisons.records import Interaction
from evalplatform.comparisons.significance import family_verdicts
from evalplatform.kernel.values import Value
from evalplatform.stats.mean import plain_mean
from evalplatform.stats.multiplicity import Correction
from evalplatform.stats.paired import PairedEffect

_SPACED_PLUS = re.compile(r"\s*\+\s*")  # spaces around a plus mean nothing in a spec

EffectOf = Callable[[str, Mapping[str, float]], PairedEffect | None]
"""Given a label and differences by question, the paired effect; the label seeds what is random."""


class CombinedArm(Value):
    """An arm whose name joins the names of two other arms."""

    arm_a: str
    arm_b: str
    combined_arm: str


class _Contrast(Value):
    combined: CombinedArm
    effect: PairedEffect
    delta_a_points: float
    delta_b_points: float
    delta_combined_points: float


def combined_arms(arms: Sequence[str], *, baseline_arm: str, specs: Mapping[str, str]) -> list[CombinedArm]:
    """Return every arm whose name, or else whose spec, splits at a `+` into those of two arms, in order.

    Names and paths may hold a `+` themselves (`skill:c++-guide`), so each `+` is tried, the leftmost first. Specs find the parts of arms
    that were given names of their own. The two parts, the combination and the baseline must be four different arms: a contrast with a
    part that is the baseline would compare two arms and call it an interaction.
    """
    known = [arm for arm in arms if arm != baseline_arm]
    by_name = {arm: arm for arm in known}
    by_spec = {_SPACED_PLUS.sub("+", specs[arm].strip()): arm for arm in known if arm in specs}
    spec_of = {arm: spec for spec, arm in by_spec.items()}
    found = [_leftmost_split(arm, arm, by_name) or _leftmost_split(arm, spec_of.get(arm, ""), by_spec) for arm in known]
    return [split for split in found if split is not None]


def interactions(
    points: Mapping[str, Mapping[str, float]],
    *,
    combined: Sequence[CombinedArm],
    baseline_arm: str,
    correction: Correction,
    effect_of: EffectOf,
) -> tuple[Interaction, ...]:
    """Return the interaction of every combined arm with at least two questions that all four arms scored.

    The contrast is combined - a - b + baseline within each question. All contrasts of a run are one family, apart from the arms' deltas.

    Args:
        points: each arm's points by question.
        combined: the arms that combine two others.
        baseline_arm: the arm that deltas are taken from.
        correction: `holm` or `bh`.
        effect_of: the paired effect of differences by question.
    """
    found = [_contrast(points, arms, baseline_arm, effect_of) for arms in combined]
    contrasts = [contrast for contrast in found if contrast is not None]
    verdicts = family_verdicts([contrast.effect for contrast in contrasts], correction=correction)
    return tuple(
        Interaction(
            arm_a=contrast.combined.arm_a,
            arm_b=contrast.combined.arm_b,
            combined_arm=contrast.combined.combined_arm,
            baseline_arm=baseline_arm,
            delta_a_points=contrast.delta_a_points,
            delta_b_points=contrast.delta_b_points,
            delta_combined_points=contrast.delta_combined_points,
            effect=contrast.effect,
            significant=verdict.significant,
            p_adjusted=verdict.p_adjusted,
            significant_adjusted=verdict.significant_adjusted,
            correction=correction,
            family_size=verdict.family_size,
            family_tested=verdict.family_tested,
        )
        for contrast, verdict in zip(contrasts, verdicts, strict=True)
    )


def _leftmost_split(arm: str, text: str, known: Mapping[str, str]) -> CombinedArm | None:
    at = text.find("+")
    while at != -1:
        arm_a, arm_b = known.get(text[:at]), known.get(text[at + 1 :])
        if arm_a is not None and arm_b is not None and arm_a != arm_b:
            return CombinedArm(arm_a=arm_a, arm_b=arm_b, combined_arm=arm)
        at = text.find("+", at + 1)
    return None


def _contrast(points: Mapping[str, Mapping[str, float]], combined: CombinedArm, baseline_arm: str, effect_of: EffectOf) -> _Contrast | None:
    of_a, of_b, of_both, of_baseline = (points[arm] for arm in (combined.arm_a, combined.arm_b, combined.combined_arm, baseline_arm))
    shared = [question for question in of_baseline if question in of_a and question in of_b and question in of_both]
    differences = {question: of_both[question] - of_a[question] - of_b[question] + of_baseline[question] for question in shared}
    effect = effect_of(f"interaction:{combined.combined_arm}", differences)
    if effect is None:
        return None
    return _Contrast(
        combined=combined,
        effect=effect,
        delta_a_points=_mean_delta(of_a, of_baseline, shared),
        delta_b_points=_mean_delta(of_b, of_baseline, shared),
        delta_combined_points=_mean_delta(of_both, of_baseline, shared),
    )


def _mean_delta(candidate: Mapping[str, float], baseline: Mapping[str, float], shared: Sequence[str]) -> float:
    return plain_mean([candidate[question] - baseline[question] for question in shared])
