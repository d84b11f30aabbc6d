"""How far the votes of a judge panel lie apart, by arm. Nothing here is rounded."""

from collections import Counter
from collections.abc import Iterable, Sequence

from evalplatform.comparisons.records import JudgedScore
from evalplatform.judging.records import PanelVerdict
from evalplatform.kernel.values import Value
from evalplatform.stats.mean import plain_mean


class PanelSpread(Value):
    """How a panel voted on one arm's answers.

    `answers` were put to the panel; `compared` of them have two valid votes or more, and the means are over those: one vote alone has no
    spread, though its score is kept. `flagged` counts spreads above 15 points. `lost_votes` counts votes without points by role and reason.
    """

    arm: str
    answers: int
    compared: int
    mean_sd_points: float | None
    mean_agreement: float | None
    flagged: int
    lost_votes: dict[str, int]


def panel_spreads(scores: Iterable[JudgedScore], *, arms: Sequence[str]) -> dict[str, PanelSpread]:
    """Return the spread of every arm that a panel judged, in the order of the arms; nothing where no panel judged."""
    verdicts: dict[str, list[PanelVerdict]] = {arm: [] for arm in arms}
    for score in scores:
        if score.judgement.panel is not None:
            verdicts[score.arm].append(score.judgement.panel)
    return {arm: _spread(arm, of_arm) for arm, of_arm in verdicts.items() if of_arm}


def lost_votes(verdicts: Iterable[PanelVerdict]) -> dict[str, int]:
    """Return how many votes have no points, by role and the stable part of the reason: `doc_reviewer malformed_reply`."""
    lost = (f"{vote.role} {(vote.reason or 'unknown').split(': ', 1)[0]}" for verdict in verdicts for vote in verdict.lost)
    return dict(sorted(Counter(lost).items()))


def _spread(arm: str, verdicts: Sequence[PanelVerdict]) -> PanelSpread:
    compared = [verdict for verdict in verdicts if len(verdict.valid) > 1]
    sds = [verdict.sd_points for verdict in compared if verdict.sd_points is not None]
    agreements = [verdict.agreement for verdict in compared if verdict.agreement is not None]
    return PanelSpread(
        arm=arm,
        answers=len(verdicts),
        compared=len(compared),
        mean_sd_points=plain_mean(sds) if sds else None,
        mean_agreement=plain_mean(agreements) if agreements else None,
        flagged=sum(verdict.flagged for verdict in verdicts),
        lost_votes=lost_votes(verdicts),
    )
