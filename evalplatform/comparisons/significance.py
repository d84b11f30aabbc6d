"""Verdicts on a family of paired effects: which differences chance alone would rarely show."""

from collections.abc import Sequence

from evalplatform.kernel.values import Value
from evalplatform.stats.multiplicity import CORRECTIONS, Correction
from evalplatform.stats.paired import PairedEffect

ALPHA = 0.05


class Verdict(Value):
    """What one effect of a family comes to. Both verdicts and the adjusted p-value are None where there was no test."""

    significant: bool | None
    p_adjusted: float | None
    significant_adjusted: bool | None
    family_size: int
    family_tested: int


def family_verdicts(effects: Sequence[PairedEffect | None], *, correction: Correction) -> list[Verdict]:
    """Return a verdict for each effect of one family, in order, decided on unrounded p-values at 0.05.

    A difference is significant when Student's test says so and the signed-rank test, where it was made, does not disagree. The corrected
    verdict takes the adjusted p-value in place of Student's; the signed-rank p-value stays raw, since it is a second look at the same
    hypothesis and not a further one.

    Args:
        effects: the family; None is a member with fewer than two pairs, which counts neither for its size nor for the correction.
        correction: `holm` or `bh`.
    """
    adjusted = CORRECTIONS[correction]([None if effect is None else effect.p_t for effect in effects])
    family_size = sum(effect is not None for effect in effects)
    family_tested = sum(p_value is not None for p_value in adjusted)
    return [
        Verdict(
            significant=_is_significant(None if effect is None else effect.p_t, effect),
            p_adjusted=p_adjusted,
            significant_adjusted=_is_significant(p_adjusted, effect),
            family_size=family_size,
            family_tested=family_tested,
        )
        for effect, p_adjusted in zip(effects, adjusted, strict=True)
    ]


def _is_significant(p_value: float | None, effect: PairedEffect | None) -> bool | None:
    if p_value is None or effect is None:
        return None
    return p_value < ALPHA and (effect.p_wilcoxon is None or effect.p_wilcoxon < ALPHA)
