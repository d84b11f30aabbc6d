"""Whether a judge ranks an intact answer above a copy of it that was made worse on purpose."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import floor
from statistics import NormalDist

from evalplatform.comparisons.judge_validity_records import (
    Condition,
    ConditionDifference,
    JudgeValidity,
    Probe,
    ProbedPair,
    ProbeResult,
    ProbeState,
)
from evalplatform.comparisons.significance import ALPHA
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.project.policy import LEAST_COVERAGE_RATE
from evalplatform.stats.mean import CONFIDENCE, estimate_mean
from evalplatform.stats.multiplicity import holm
from evalplatform.stats.paired import MIN_PAIRS_FOR_TEST
from evalplatform.stats.sign_test import SignTest, sign_test
from evalplatform.stats.wilson import RateInterval, wilson_interval

TIE_SHARE = 0.5


def judge_validity(
    pairs: Sequence[ProbedPair],
    *,
    probes: Sequence[Probe],
    conditions: Sequence[Condition],
    intact_answers: int,
    with_material: int,
    min_accuracy_rate: float,
) -> JudgeValidity:
    """Return how a judge ranked intact answers against degraded ones, unrounded.

    A probe that makes answers worse passes when the interval of its accuracy lies at or above `min_accuracy_rate`, fails when it lies
    below, and is inconclusive between; a tie counts as half, so a judge that sees no difference stands at 0.5. A probe that makes answers
    only longer fails when the longer copies are shown to be ranked higher: more losses than wins, and an adjusted p-value below 0.05.
    Below six pairs nothing is decided: no sign test of fewer can reach 0.05. Neither is it where over 5% of the pairs lack points.

    Args:
        pairs: every pair that was graded, one for each question, probe and condition.
        probes: the degradations that were tried, in order.
        conditions: the conditions that were tried.
        intact_answers: how many intact answers there are.
        with_material: how many of them had material to be judged with.
        min_accuracy_rate: the least accuracy of a judge that can be relied on, 0 to 1.

    Raises:
        UnknownNameError: a pair of a probe that was not named.
        InputError: two pairs for one question, probe and condition, or no condition.
    """
    if not conditions:
        raise InputError("names no condition to judge in.", field="material")
    found = _by_probe(pairs, [probe.name for probe in probes])
    results = [
        result
        for condition in conditions
        for result in _condition_results(found, probes, condition=condition, min_accuracy_rate=min_accuracy_rate)
    ]
    both = len(set(conditions)) == 2
    return JudgeValidity(
        intact_answers=intact_answers,
        with_material=with_material,
        min_accuracy_rate=min_accuracy_rate,
        gating="with" if "with" in conditions else "without",
        results=tuple(results),
        differences=tuple(_difference(found, probe) for probe in probes) if both else (),
        level=estimate_mean(_level_differences(pairs)) if both else None,
    )


def pairs_to_settle(accuracy_rate: float, min_accuracy_rate: float) -> int | None:
    """Return the fewest pairs whose Wilson interval around this accuracy leaves out `min_accuracy_rate`; None where none does.

    Wilson's interval holds every rate p with |accuracy - p| <= z sqrt(p (1 - p) / n), which is solved for n.

    References:
        Wilson, Journal of the American Statistical Association 22(158), 1927.
    """
    distance = abs(accuracy_rate - min_accuracy_rate)
    if distance == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    return floor(z * z * min_accuracy_rate * (1 - min_accuracy_rate) / (distance * distance)) + 1


_Found = Mapping[tuple[str, Condition], Mapping[str, ProbedPair]]
"""The pairs of each probe and condition, by question."""


def _by_probe(pairs: Iterable[ProbedPair], names: Sequence[str]) -> _Found:
    found: dict[tuple[str, Condition], dict[str, ProbedPair]] = {}
    for pair in pairs:
        if pair.probe not in names:
            raise UnknownNameError("degradation", pair.probe, names, field="pairs")
        of_probe = found.setdefault((pair.probe, pair.condition), {})
        if pair.question_id in of_probe:
            raise InputError(f"question {pair.question_id!r} has two pairs for {pair.probe!r}, {pair.condition} material.", field="pairs")
        of_probe[pair.question_id] = pair
    return found


def _condition_results(found: _Found, probes: Sequence[Probe], *, condition: Condition, min_accuracy_rate: float) -> list[ProbeResult]:
    of_probes = [tuple(found.get((probe.name, condition), {}).values()) for probe in probes]
    tests = [sign_test(_drops(pairs)) for pairs in of_probes]
    p_values = [test.p_value if _decided(test) >= MIN_PAIRS_FOR_TEST else None for test in tests]
    return [
        _result(probe, condition, pairs, test, (p_value, adjusted), min_accuracy_rate)
        for probe, pairs, test, p_value, adjusted in zip(probes, of_probes, tests, p_values, holm(p_values), strict=True)
    ]


def _drops(pairs: Iterable[ProbedPair]) -> list[float]:
    return [pair.drop_points for pair in pairs if pair.drop_points is not None]


def _decided(test: SignTest) -> int:
    return test.wins + test.ties + test.losses


def _result(
    probe: Probe,
    condition: Condition,
    pairs: Sequence[ProbedPair],
    test: SignTest,
    p_values: tuple[float | None, float | None],
    min_accuracy_rate: float,
) -> ProbeResult:
    scored = [pair for pair in pairs if pair.drop_points is not None]
    accuracy = wilson_interval(test.wins + TIE_SHARE * test.ties, len(scored))
    state = _state(probe, test, accuracy, p_adjusted=p_values[1], min_accuracy_rate=min_accuracy_rate)
    if len(scored) < LEAST_COVERAGE_RATE * len(pairs):
        state = "unscored"
    return ProbeResult(
        probe=probe,
        condition=condition,
        pairs=len(scored),
        wins=test.wins,
        ties=test.ties,
        losses=test.losses,
        floored=sum(pair.intact_points == 0 for pair in scored),
        unscored_reasons=_unscored_reasons(pairs),
        accuracy=accuracy,
        longer_accuracy_rate=sum(_longer_share(pair) for pair in scored) / len(scored) if scored else None,
        drop=estimate_mean(_drops(scored)),
        sign_p=p_values[0],
        sign_p_adjusted=p_values[1],
        state=state,
        pairs_to_settle=pairs_to_settle(accuracy.rate, min_accuracy_rate) if state == "inconclusive" and accuracy is not None else None,
    )


def _state(
    probe: Probe, test: SignTest, accuracy: RateInterval | None, *, p_adjusted: float | None, min_accuracy_rate: float
) -> ProbeState:
    if accuracy is None or p_adjusted is None:
        return "too_few_pairs"
    if not probe.is_worse:
        return "failed" if test.losses > test.wins and p_adjusted < ALPHA else "passed"
    if accuracy.ci_lo >= min_accuracy_rate:
        return "passed"
    return "failed" if accuracy.ci_hi < min_accuracy_rate else "inconclusive"


def _unscored_reasons(pairs: Iterable[ProbedPair]) -> dict[str, int]:
    """Return how many pairs lack points, by the reason of the side that lacks them; the intact side's where both do."""
    reasons = (pair.intact_reason if pair.intact_points is None else pair.degraded_reason for pair in pairs if pair.drop_points is None)
    return dict(sorted(Counter((reason or "unknown").split(": ", 1)[0] for reason in reasons).items()))


def _longer_share(pair: ProbedPair) -> float:
    if pair.intact_chars == pair.degraded_chars:
        return TIE_SHARE
    return 1.0 if pair.intact_chars > pair.degraded_chars else 0.0


def _difference(found: _Found, probe: Probe) -> ConditionDifference:
    with_, without = (found.get((probe.name, condition), {}) for condition in ("with", "without"))
    drops = [(with_[question].drop_points, without[question].drop_points) for question in with_ if question in without]
    scored = [(seen, unseen) for seen, unseen in drops if seen is not None and unseen is not None]
    return ConditionDifference(
        probe=probe.name,
        pairs=len(scored),
        accuracy=estimate_mean([_win_share(seen) - _win_share(unseen) for seen, unseen in scored]),
        drop=estimate_mean([seen - unseen for seen, unseen in scored]),
    )


def _win_share(drop_points: float) -> float:
    test = sign_test([drop_points])
    return test.wins + TIE_SHARE * test.ties


def _level_differences(pairs: Iterable[ProbedPair]) -> list[float]:
    """Return with minus without material of each intact answer's points, where both conditions scored it."""
    points: dict[Condition, dict[str, float]] = {"with": {}, "without": {}}
    for pair in pairs:
        if pair.intact_points is not None:
            points[pair.condition][pair.question_id] = pair.intact_points
    return [seen - points["without"][question] for question, seen in points["with"].items() if question in points["without"]]
