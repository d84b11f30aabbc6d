"""How far a judge agrees with people: its points beside their labels of the same answers. Nothing is rounded.

One answer is one pair, however many arms, cells, draws and labellers it has: a judge's points are the mean over its gradings of the answer,
people's points the mean over labellers, their verdict that of most of them. A labeller's latest label counts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from evalplatform.comparisons.label_records import GradedAnswer, LabelAgreement, LabellerPair, PointsAgreement, VerdictAgreement
from evalplatform.comparisons.pass_rule import points_pass
from evalplatform.ports.labels import Label, Verdict
from evalplatform.stats.agreement import cohen_kappa, rank_correlation
from evalplatform.stats.mean import plain_mean
from evalplatform.stats.wilson import wilson_interval

LEAST_LABELLED = 30
"""Below so many answers an agreement says little but looks like a finding, so it is withheld (gates specification, judge agreement)."""

NO_MODEL_DECIDED = "none: no model decided any of these scores"
NO_PASS_POINTS = "no pass mark: the suite has no pass_points"

ByAnswer = Mapping[str, Mapping[str, float]]
VerdictsByAnswer = Mapping[str, Mapping[str, Verdict]]


def label_agreement(graded: Iterable[GradedAnswer], labels: Iterable[Label], *, pass_points: float | None) -> LabelAgreement:
    """Return how far a judge agrees with people on the answers that both judged.

    Args:
        graded: the judge's gradings; an answer that several arms, cells or draws gave has several.
        labels: labels of answers; those of answers that were not graded are passed over.
        pass_points: at how many points an answer passes; None where the suite does not say, and what needs it is then missing.

    Returns:
        The agreement, withheld below 30 answers, and none where no model decided: a program is as good as its rule, which can be read.
    """
    gradings: dict[str, list[GradedAnswer]] = defaultdict(list)
    for grading in graded:
        gradings[grading.answer_digest].append(grading)
    judged = {digest: _mean_points(rows) for digest, rows in gradings.items()}
    own_labels = latest_labels(label for label in labels if label.subject_kind == "answer" and label.subject in judged)
    points, verdicts = _points_by_answer(own_labels), _verdicts_by_answer(own_labels)
    labelled = {label.subject for label in own_labels}
    agreed = {digest: majority(said.values()) for digest, said in verdicts.items()}
    decided_by_model = any(row.calls > 0 for rows in gradings.values() for row in rows)
    none = None if decided_by_model else NO_MODEL_DECIDED
    return LabelAgreement(
        answers=len(judged),
        labelled=len(labelled),
        unscored=sum(judged[digest] is None for digest in labelled),
        tied_verdicts=sum(verdict is None for verdict in agreed.values()),
        labellers=tuple(sorted({label.labeller for label in own_labels})),
        decided_by_model=decided_by_model,
        points=points_agreement(_points_pairs(judged, points), pass_points=pass_points, none_reason=none),
        verdicts=verdict_agreement(
            _verdict_pairs(judged, agreed, pass_points), none_reason=none or (NO_PASS_POINTS if pass_points is None else None)
        ),
        labeller_pairs=tuple(_labeller_pairs(points, verdicts, pass_points)),
    )


def points_agreement(pairs: Sequence[tuple[float, float]], *, pass_points: float | None, none_reason: str | None = None) -> PointsAgreement:
    """Return the agreement of two raters' points on the same things. `none_reason` says why there is none, whatever the pairs."""
    reason = none_reason or withheld_reason(len(pairs))
    correlation = None if reason else rank_correlation(pairs)
    side_reason = reason or (NO_PASS_POINTS if pass_points is None else None)
    same = (
        sum(points_pass(first, pass_points) is points_pass(second, pass_points) for first, second in pairs)
        if pass_points is not None
        else 0
    )
    return PointsAgreement(
        pairs=len(pairs),
        rank_correlation=correlation,
        rank_correlation_reason=reason or (None if correlation else "not defined: one side gave every answer the same points"),
        same_side=None if side_reason else wilson_interval(same, len(pairs)),
        same_side_reason=side_reason,
    )


def verdict_agreement(pairs: Sequence[tuple[Verdict, Verdict]], *, none_reason: str | None = None) -> VerdictAgreement:
    """Return the agreement of two raters' verdicts on the same things. `none_reason` says why there is none, whatever the pairs."""
    reason = none_reason or withheld_reason(len(pairs))
    kappa = None if reason else cohen_kappa(pairs)
    return VerdictAgreement(
        pairs=len(pairs),
        agreement=None if reason else wilson_interval(sum(first == second for first, second in pairs), len(pairs)),
        agreement_reason=reason,
        kappa=kappa,
        kappa_reason=reason or (None if kappa else "not defined: both sides gave every answer the same verdict"),
    )


def withheld_reason(pairs: int) -> str | None:
    """Return why a number over so few answers is not shown, or None where there are enough."""
    return f"withheld: {pairs} of {LEAST_LABELLED} labelled answers" if pairs < LEAST_LABELLED else None


def latest_labels(labels: Iterable[Label]) -> list[Label]:
    """Return each labeller's latest label of each subject and scale: who changes their mind adds a label."""
    latest: dict[tuple[str, str, str, str], Label] = {}
    for label in sorted(labels, key=lambda label: label.labelled_at):
        latest[label.subject_kind, label.subject, label.labeller, label.scale] = label
    return list(latest.values())


def majority(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Return the verdict of most labellers, or None where as many passed as failed it."""
    counts = Counter(verdicts)
    if counts["passed"] == counts["failed"]:
        return None
    return "passed" if counts["passed"] > counts["failed"] else "failed"


def _mean_points(gradings: Sequence[GradedAnswer]) -> float | None:
    known = [grading.points for grading in gradings if grading.points is not None]
    return plain_mean(known) if known else None


def _points_by_answer(labels: Iterable[Label]) -> ByAnswer:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for label in labels:
        if not isinstance(label.value, str):
            found[label.subject][label.labeller] = label.value
    return found


def _verdicts_by_answer(labels: Iterable[Label]) -> VerdictsByAnswer:
    found: dict[str, dict[str, Verdict]] = defaultdict(dict)
    for label in labels:
        if isinstance(label.value, str):
            found[label.subject][label.labeller] = label.value
    return found


def _points_pairs(judged: Mapping[str, float | None], points: ByAnswer) -> list[tuple[float, float]]:
    return [
        (graded, plain_mean([said[labeller] for labeller in sorted(said)]))
        for digest, said in sorted(points.items())
        if (graded := judged[digest]) is not None
    ]


def _verdict_pairs(
    judged: Mapping[str, float | None], agreed: Mapping[str, Verdict | None], pass_points: float | None
) -> list[tuple[Verdict, Verdict]]:
    """Return the judge's verdict and people's on each answer; without a pass mark a judge's points say none."""
    if pass_points is None:
        return []
    both = [(graded, said) for digest, said in sorted(agreed.items()) if said is not None and (graded := judged[digest]) is not None]
    return [("passed" if points_pass(graded, pass_points) else "failed", said) for graded, said in both]


def _labeller_pairs(points: ByAnswer, verdicts: VerdictsByAnswer, pass_points: float | None) -> Iterable[LabellerPair]:
    labellers = sorted({labeller for said in (*points.values(), *verdicts.values()) for labeller in said})
    for first, second in combinations(labellers, 2):
        shared_points = [(said[first], said[second]) for _, said in sorted(points.items()) if first in said and second in said]
        shared_verdicts = [(said[first], said[second]) for _, said in sorted(verdicts.items()) if first in said and second in said]
        if max(len(shared_points), len(shared_verdicts)) >= LEAST_LABELLED:
            yield LabellerPair(
                labellers=(first, second),
                points=points_agreement(shared_points, pass_points=pass_points),
                verdicts=verdict_agreement(shared_verdicts),
            )
