"""What several judges' points come to, in words: labels, verdicts, agreement."""

from collections.abc import Iterator

from evalplatform.comparisons.cross_judge_records import (
    ArmLabel,
    CategoryAgreement,
    CrossJudgedRun,
    LabelKind,
    Measure,
    MeasureDelta,
    RunUnderJudges,
)
from evalplatform.reports import words
from evalplatform.reports.refusal_words import refusal_sentence
from evalplatform.stats.agreement import Kappa, RankCorrelation
from evalplatform.stats.krippendorff import Alpha

_KINDS: dict[LabelKind, str] = {
    "consistent": "CONSISTENT",
    "leaning": "LEANING",
    "judge_dependent": "JUDGE-DEPENDENT",
    "no_detectable_effect": "NO DETECTABLE EFFECT",
    "not_tested": "NOT TESTED",
}
_SIGNS = {"+": "+", "-": "−"}
MEANINGS: dict[LabelKind, str] = {
    "consistent": "Some judge finds a significant difference, none the other way, and every mean delta lies on that side.",
    "leaning": "Some judge finds a significant difference and none the other way, but not every mean delta lies on that side.",
    "judge_dependent": "Judges find significant differences both ways: the verdict is the judge's, not the arm's.",
    "no_detectable_effect": "No judge finds a significant difference, which is not evidence that there is none.",
    "not_tested": "There are fewer than six independent pairs, with which no outcome could be significant.",
}
"""What each label means, as a sentence."""


def label_words(label: ArmLabel) -> str:
    """Return a label: `CONSISTENT +`, `LEANING −`, `JUDGE-DEPENDENT`, `NO DETECTABLE EFFECT`, `NOT TESTED`, perhaps with `(one judge)`."""
    sign = "" if label.direction is None else f" {_SIGNS[label.direction]}"
    return f"{_KINDS[label.kind]}{sign}{' (one judge)' if label.one_judge else ''}"


def delta_words(delta: MeasureDelta) -> str:
    """Return what one measure says of an arm: `strict +3.2 [+1.0, +5.4], 54 won and 15 lost, p <0.0001 corrected`."""
    if delta.estimate is None:
        return f"{delta.measure} has too few pairs"
    mean = f"{words.points(delta.estimate.mean, signed=True)} {words.interval(delta.estimate.ci_lo, delta.estimate.ci_hi, signed=True)}"
    if delta.sign is None:
        return f"{delta.measure} {mean}"
    tested = "no say" if delta.p_holm is None else f"p {words.p_value(delta.p_holm)} corrected"
    return f"{delta.measure} {mean}, {delta.sign.wins:,} won and {delta.sign.losses:,} lost, {tested}"


def verdict_words(delta: MeasureDelta) -> str:
    """Return the verdict on one measure's test: `higher`, `lower`, `no difference shown`, `no say`, or `—` without a test."""
    if not delta.counts:
        return "no say"
    if delta.significant is None:
        return words.MISSING
    if not delta.significant:
        return "no difference shown"
    return "higher" if delta.direction == "+" else "lower"


def left_out_words(measure: Measure) -> str:
    """Return why a measure has no say, as one or more sentences."""
    return " ".join(refusal_sentence(refusal) for refusal in measure.left_out)


def one_measure_words(one: CrossJudgedRun) -> str:
    """Return what cannot be said of a run in which one measure, or none, has a say."""
    who = words.listed([measure.name for measure in one.run.counted]) or "no measure"
    return f"only {who} has a say in {one.run.name}, so whether a verdict depends on the judge could not be found out."


def constant_words(run: RunUnderJudges) -> Iterator[str]:
    """Yield a sentence for each measure with a say whose points are the same for every answer of a run."""
    for measure in run.counted:
        if (points := measure.constant_points) is not None:
            yield f"{measure.name} gave every answer of {run.name} {words.points(points)} points: it tells none apart, and still has a say."


def share_words(found: CategoryAgreement) -> str:
    """Return the plain share of agreement, such as `83.3%`; `—` without a pair."""
    return words.percent(found.agreeing / found.pairs) if found.pairs else words.MISSING


def share_interval(found: CategoryAgreement) -> str:
    """Return the share's interval; `—` where there is none."""
    return words.MISSING if found.rate is None else f"[{words.percent(found.rate.ci_lo)}, {words.percent(found.rate.ci_hi)}]"


def coefficient(found: Kappa | RankCorrelation | Alpha | None) -> str:
    """Return kappa, a rank correlation or alpha with two decimals; `—` where it is not defined."""
    if found is None:
        return words.MISSING
    number = found.kappa if isinstance(found, Kappa) else found.rho if isinstance(found, RankCorrelation) else found.alpha
    return words.fixed(number, 2, signed=True)


def coefficient_interval(found: Kappa | RankCorrelation | Alpha | None) -> str:
    """Return a coefficient's interval; `—` where there is none."""
    return words.MISSING if found is None else words.interval(found.ci_lo, found.ci_hi, decimals=2, signed=True)
