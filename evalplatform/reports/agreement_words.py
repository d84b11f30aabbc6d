"""How far judges agree with people, as lines of text."""

from collections.abc import Iterator

from evalplatform.comparisons.label_records import JudgeAgreement, PointsAgreement, VerdictAgreement
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.visible import one_line
from evalplatform.stats.agreement import Kappa, RankCorrelation
from evalplatform.stats.wilson import RateInterval


def agreement_lines(agreement: JudgeAgreement) -> Iterator[str]:
    """Yield one judge's agreement with people: whom and how many it rests on, then each number with its interval, or why there is none."""
    found = agreement.found
    retired = ", retired" if agreement.is_retired else ""
    yield f"suite {agreement.suite}, judge {agreement.judge_key}{retired}: {found.labelled:,} of {plural(found.answers, 'answer')} labelled"
    if found.labellers:
        yield f"  labelled by {words.listed([one_line(labeller) for labeller in found.labellers])}"
    if found.unscored:
        yield f"  left out: {plural(found.unscored, 'labelled answer')} that the judge did not score"
    if found.tied_verdicts:
        yield f"  left out of the verdicts: {plural(found.tied_verdicts, 'answer')} that as many labellers passed as failed"
    yield from _lines(found.points, found.verdicts, agreement.pass_points)
    for pair in found.labeller_pairs:
        yield f"  between {' and '.join(one_line(labeller) for labeller in pair.labellers)}:"
        yield from (f"  {line}" for line in _lines(pair.points, pair.verdicts, agreement.pass_points))


def _lines(points: PointsAgreement, verdicts: VerdictAgreement, pass_points: float | None) -> Iterator[str]:
    mark = "the pass mark" if pass_points is None else f"{pass_points:g} points"
    yield f"  points, {plural(points.pairs, 'answer')}"
    yield f"    rank correlation: {_correlation(points)}"
    yield f"    same side of {mark}: {_rate(points.same_side, points.same_side_reason)}"
    yield f"  verdicts, {plural(verdicts.pairs, 'answer')}"
    yield f"    agreement: {_rate(verdicts.agreement, verdicts.agreement_reason)}"
    yield f"    Cohen's kappa: {_kappa(verdicts)}"


def _correlation(points: PointsAgreement) -> str:
    found = points.rank_correlation
    if found is None:
        return points.rank_correlation_reason or words.MISSING
    return f"{words.fixed(found.rho, 2, signed=True)} {_interval(found)}"


def _kappa(verdicts: VerdictAgreement) -> str:
    found = verdicts.kappa
    if found is None:
        return verdicts.kappa_reason or words.MISSING
    return f"{words.fixed(found.kappa, 2, signed=True)} {_interval(found)}"


def _rate(found: RateInterval | None, reason: str | None) -> str:
    if found is None:
        return reason or words.MISSING
    return f"{words.percent(found.rate)} [{words.percent(found.ci_lo)}, {words.percent(found.ci_hi)}]"


def _interval(found: RankCorrelation | Kappa) -> str:
    if found.ci_lo is None:
        return f"(no interval: {found.ci_reason})"
    return words.interval(found.ci_lo, found.ci_hi, decimals=2, signed=True)
