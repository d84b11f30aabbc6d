"""What a judge's validity is computed from, and what it comes to. Nothing here is rounded."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.stats.mean import MeanEstimate
from evalplatform.stats.wilson import RateInterval

Condition = Literal["with", "without"]
"""Whether the judge saw the treatment material that the answer's arm was given."""

ProbeState = Literal["passed", "failed", "inconclusive", "too_few_pairs", "unscored"]
ValidityVerdict = Literal["passed", "failed", "inconclusive", "unanswered"]


class Probe(Value):
    """A degradation as a comparison knows it: its name, what it does, and whether a judge should rank its result lower.

    `lacking` counts the intact answers that offered nothing to degrade in this way, for the reason `lack`.
    """

    name: str
    what: str
    is_worse: bool
    lack: str
    lacking: int = Field(default=0, ge=0)


class ProbedPair(Value):
    """One intact answer beside its degraded copy, both graded in one condition; points are None with a reason.

    `change` says what was done to the copy. Each question gives one intact answer at most, so pairs of one probe are independent.
    """

    question_id: str
    arm: str
    draw: int = Field(ge=0)
    probe: str
    condition: Condition
    change: str
    intact_points: float | None = Field(ge=0, le=100)
    intact_reason: str | None = None
    degraded_points: float | None = Field(ge=0, le=100)
    degraded_reason: str | None = None
    intact_chars: int = Field(ge=0)
    degraded_chars: int = Field(ge=0)

    @property
    def drop_points(self) -> float | None:
        """Intact minus degraded, or None where either has no points."""
        if self.intact_points is None or self.degraded_points is None:
            return None
        return self.intact_points - self.degraded_points


class ProbeResult(Value):
    """How a judge ranked the pairs of one probe in one condition.

    `pairs` are those that both have points; `wins` rank the intact answer higher, `losses` the degraded one. `accuracy` is the share of
    wins, a tie counting as half, with Wilson's interval; `longer_accuracy_rate` is that of a counter of characters on the same pairs.
    `drop` is the mean of intact minus degraded points. `sign_p` is the exact two-sided sign test without ties; `sign_p_adjusted` is
    corrected over the probes of the condition. Both are None below six pairs. `floored` counts the pairs whose intact answer has 0
    points: nothing can be ranked below it, so that the best it can come to is a tie.

    `state` is `unscored` where more than one pair in twenty lacks points: what a judge could not grade may be what it would have missed.
    `pairs_to_settle` is set where the state is `inconclusive`: how many pairs in all would decide, should the accuracy stay as it is; None
    there too where no number would.
    """

    probe: Probe
    condition: Condition
    pairs: int
    wins: int
    ties: int
    losses: int
    floored: int
    unscored_reasons: dict[str, int]
    accuracy: RateInterval | None
    longer_accuracy_rate: float | None
    drop: MeanEstimate | None
    sign_p: float | None
    sign_p_adjusted: float | None
    state: ProbeState
    pairs_to_settle: int | None = None


class ConditionDifference(Value):
    """With minus without material, over the pairs of one probe that both conditions scored; None below two pairs."""

    probe: str
    pairs: int
    accuracy: MeanEstimate | None
    drop: MeanEstimate | None


class JudgeValidity(Value):
    """Whether a judge ranks intact answers above degraded ones.

    `gating` is the condition that decides: with material where that was tried, since that is how a suite's answers are judged.
    `level` is what the material adds to the points of the same intact answers.
    """

    intact_answers: int
    with_material: int
    min_accuracy_rate: float = Field(ge=0, le=1)
    gating: Condition
    results: tuple[ProbeResult, ...]
    differences: tuple[ConditionDifference, ...]
    level: MeanEstimate | None

    @property
    def gate(self) -> tuple[ProbeResult, ...]:
        """The results that decide."""
        return tuple(result for result in self.results if result.condition == self.gating)

    @property
    def verdict(self) -> ValidityVerdict:
        """The worst of the gate: a probe that `failed`, then one with too few pairs or points (`unanswered`), then `inconclusive`."""
        states = {result.state for result in self.gate}
        if "failed" in states:
            return "failed"
        if not states or states & {"too_few_pairs", "unscored"}:
            return "unanswered"
        return "inconclusive" if "inconclusive" in states else "passed"


class TriedJudge(Value):
    """Which judge was tried, and on whose answers.

    `judge_model` is how artifacts name what judged; `answers_version` the data version of the answers. `judges_itself` says that the
    judge's model is the one that answered, as far as names tell: the provider does not matter, and a panel's roles are one model's.
    `stopped_message` says why the run ended before everything was graded, or is None.
    """

    project: str
    suite: str
    cell_key: str
    cell_label: str
    judge_id: str
    judge_key: str
    judge_kind: str
    judge_model: str
    judges_itself: bool
    answers_version: str
    tried_at: datetime
    stopped_message: str | None = None
