"""What agreement between a judge and people is computed from, and what comes out. Every number that is missing has its reason beside it."""

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.stats.agreement import Kappa, RankCorrelation
from evalplatform.stats.wilson import RateInterval


class GradedAnswer(Value):
    """One grading of one answer by a judge. `calls` counts the model calls behind it: none where a program decided."""

    answer_digest: str
    points: float | None
    calls: int


class PointsAgreement(Value):
    """Two raters' points over the answers that both rated.

    `same_side` is the share of answers that both put on the same side of the pass mark, with Wilson's interval.
    """

    pairs: int
    rank_correlation: RankCorrelation | None
    rank_correlation_reason: str | None
    same_side: RateInterval | None
    same_side_reason: str | None


class VerdictAgreement(Value):
    """Two raters' verdicts over the answers that both rated: the share they agree on, with Wilson's interval, and Cohen's kappa."""

    pairs: int
    agreement: RateInterval | None
    agreement_reason: str | None
    kappa: Kappa | None
    kappa_reason: str | None


class LabellerPair(Value):
    """How far two labellers agree with each other on the judge's answers."""

    labellers: tuple[str, str]
    points: PointsAgreement
    verdicts: VerdictAgreement


class LabelAgreement(Value):
    """How far one judge agrees with people.

    `answers` counts the distinct answers that the judge was given, `labelled` those of them with a label, `unscored` the labelled ones that
    the judge left without points. `tied_verdicts` counts the answers that as many labellers passed as failed: they have no verdict.
    `labeller_pairs` holds the pairs of labellers with enough answers in common, on either scale.
    """

    answers: int
    labelled: int
    unscored: int
    tied_verdicts: int
    labellers: tuple[str, ...]
    decided_by_model: bool
    points: PointsAgreement
    verdicts: VerdictAgreement
    labeller_pairs: tuple[LabellerPair, ...] = ()

    @property
    def is_shown(self) -> bool:
        """Whether any agreement between the judge and people could be computed."""
        return any((self.points.rank_correlation, self.points.same_side, self.verdicts.agreement))


class JudgeAgreement(Value):
    """A judge's agreement with people in one suite, over the named cells. `is_retired` says that the suite no longer has this judge."""

    suite: str
    judge: str
    judge_key: str
    is_retired: bool
    cells: tuple[str, ...]
    pass_points: float | None = Field(ge=0, le=100)
    found: LabelAgreement
