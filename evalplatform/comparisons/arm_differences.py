"""Paired differences of a family, with their uncertainty: the one way in which comparisons across runs take a difference."""

from collections.abc import Sequence

from evalplatform.comparisons.model_comparison_records import ArmDifference
from evalplatform.comparisons.significance import family_verdicts
from evalplatform.stats.mean import plain_mean
from evalplatform.stats.multiplicity import Correction
from evalplatform.stats.paired import paired_effect


def family_of_differences(members: Sequence[Sequence[float]], *, correction: Correction) -> list[ArmDifference]:
    """Return the mean difference of each member of a family, in order, each corrected for all.

    The sign-flip test is left out: over thousands of questions it takes longer than everything else together.

    Args:
        members: paired differences in points, those of each member in a fixed order of questions.
        correction: `holm` or `bh`, over the members with a test.
    """
    effects = [paired_effect(differences, rng=None) for differences in members]
    verdicts = family_verdicts(effects, correction=correction)
    return [
        ArmDifference(
            pairs=len(differences),
            delta_points=plain_mean(differences) if differences else None,
            effect=effect,
            verdict=verdict,
        )
        for differences, effect, verdict in zip(members, effects, verdicts, strict=True)
    ]
