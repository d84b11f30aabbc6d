"""What a judge is given and what it gives back. Nothing here names an arm: blindness starts with the types."""

from typing import Literal

from pydantic import Field, JsonValue

from evalplatform.kernel.usage import Usage
from evalplatform.kernel.values import Value

MaterialSource = Literal["stored", "snippet_fallback"]


class JudgeTask(Value):
    """One answer to be judged.

    `task_id` is opaque to the judge and is never sent. `answer` is None where there is nothing to judge; `missing_reason` then says why.
    `material` is the text that the answer's arm was given, by digest. `expected_facts` and `forbidden_facts` hold the accepted wordings of
    each fact.
    """

    task_id: str
    question: str
    answer: str | None
    missing_reason: str | None = None
    draw: int = 0
    material: str = ""
    material_digest: str | None = None
    material_source: MaterialSource = "stored"
    ground_truth: str | None = None
    expected_topics: tuple[str, ...] = ()
    expected_facts: tuple[tuple[str, ...], ...] = ()
    forbidden_facts: tuple[tuple[str, ...], ...] = ()


class PanelVote(Value):
    """What one role of a panel said of the answer; the fields are those of `Judgement`."""

    role: str
    points: float | None = Field(default=None, ge=0, le=100)
    reason: str | None = None
    dimensions: dict[str, float] = Field(default_factory=dict)
    caps: dict[str, JsonValue] = Field(default_factory=dict)
    unread_claims: tuple[int, ...] = ()
    redraws: int = 0
    raw_reply: str | None = None
    notes: dict[str, JsonValue] = Field(default_factory=dict)


class PanelVerdict(Value):
    """How a panel voted, in the order of its roles, and how far apart.

    `sd_points` is the sample standard deviation of the valid votes' points, unrounded: 0.0 for one vote, None without any. `agreement` is
    1 - sd/50, never below 0, to 3 decimals. `flagged`: the spread is above 15 points, so the mean hides a disagreement.
    """

    votes: tuple[PanelVote, ...]
    sd_points: float | None = Field(default=None, ge=0)
    agreement: float | None = Field(default=None, ge=0, le=1)
    flagged: bool = False

    @property
    def valid(self) -> tuple[PanelVote, ...]:
        """The votes that have points."""
        return tuple(vote for vote in self.votes if vote.points is not None)

    @property
    def lost(self) -> tuple[PanelVote, ...]:
        """The votes without points; each has a reason."""
        return tuple(vote for vote in self.votes if vote.points is None)


class Judgement(Value):
    """What a judge said of one answer.

    `points` is 0-100, or None with a `reason`: `no_answer:...`, `malformed_reply`, `out_of_range`, `judge_failed: ...`,
    `not_judged: ...` (the run stopped first), `nothing_to_grade_against`. `dimensions` holds the judge's own numbers, `caps` what a rule
    lowered and from what, `redraws` how many further replies were needed, `raw_reply` the reply the points were read from (or the last one
    that could not be read). A panel's judgement has the means of its valid votes, and the votes themselves in `panel`.
    """

    task_id: str
    points: float | None = Field(default=None, ge=0, le=100)
    reason: str | None = None
    dimensions: dict[str, float] = Field(default_factory=dict)
    caps: dict[str, JsonValue] = Field(default_factory=dict)
    unread_claims: tuple[int, ...] = ()
    grounded: bool = False
    material_digest: str | None = None
    material_source: MaterialSource = "stored"
    redraws: int = 0
    raw_reply: str | None = None
    notes: dict[str, JsonValue] = Field(default_factory=dict)
    usage: Usage = Usage()
    cost_usd: float | None = None
    calls: int = 0
    panel: PanelVerdict | None = None
