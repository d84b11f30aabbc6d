"""The `panel` judge: several roles of one model vote on an answer, each by its own weights; the points are the mean of the valid votes.

Source: treatment-arms spec, section 6.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalplatform.calls.ask import Asker
from evalplatform.judging.grading import Grading, cost_usd_of, graded, grounded_weights, refuse_blank_rubric, usage_of
from evalplatform.judging.judge import JudgeSettings, judge_kinds
from evalplatform.judging.prompts import panel_prompt_digest
from evalplatform.judging.records import Judgement, JudgeTask, PanelVerdict, PanelVote
from evalplatform.judging.run import JUDGE_FAILED
from evalplatform.judging.unanswered import unanswered
from evalplatform.kernel.errors import InputError, UnknownNameError

NO_AGREEMENT_SD_POINTS = 50.0
FLAG_ABOVE_SD_POINTS = 15.0


@dataclass(frozen=True)
class Role:
    """One who votes: what it is told to look at, and what its dimensions weigh."""

    text: str
    weights: Mapping[str, float]


def _weights(*, correctness: float, completeness: float, specificity: float, code_quality: float, actionability: float) -> dict[str, float]:
    return {
        "correctness": correctness,
        "completeness": completeness,
        "specificity": specificity,
        "code_quality": code_quality,
        "actionability": actionability,
    }


ROLES: Mapping[str, Role] = {
    "technical_expert": Role(
        "You have run this technology in production for years. Look hardest at whether every statement is true and the code would work as "
        "it stands; a false statement is worse than a missing one.",
        _weights(correctness=2, completeness=1, specificity=1.5, code_quality=1, actionability=1),
    ),
    "developer_advocate": Role(
        "You help developers who meet this technology for the first time. Look hardest at whether such a person, with this answer alone, "
        "could do it now: what to type, in which order, and what to expect.",
        _weights(correctness=1, completeness=1, specificity=1, code_quality=1.5, actionability=2),
    ),
    "doc_reviewer": Role(
        "You review documentation before it is published. Look hardest at whether everything that was asked is covered, with its "
        "conditions and limits, and whether terms and names are exact.",
        _weights(correctness=1, completeness=2, specificity=1.5, code_quality=1, actionability=1),
    ),
}
"""The roles in the order of their votes. We: a task with a reference adds `factual_grounding` with weight 2 to every role, as to the rubric
judge. The other weights of each role sum to 6.5, so a reference counts alike (2 of 8.5) whoever votes."""


class PanelJudge:
    """Asks one model once for each role, in order; each vote is drawn, read and capped as a rubric judge's grading is."""

    def __init__(self, settings: JudgeSettings, *, asker: Asker | None) -> None:
        self._settings = settings
        self._asker = asker

    @property
    def roles(self) -> tuple[str, ...]:
        """Who votes, in order."""
        return self._settings.roles or tuple(ROLES)

    @property
    def prompt_digest(self) -> str:
        """The digest of the fixed wording, the roles in their order with wording and weights, and the rubric addition."""
        told = [(name, ROLES[name].text, grounded_weights(ROLES[name].weights)) for name in self.roles]
        return panel_prompt_digest(told, rubric=self._settings.rubric)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The five dimensions, and `factual_grounding`, which grounded tasks have; each is the mean over the valid votes."""
        return tuple(grounded_weights(ROLES[self.roles[0]].weights))

    async def judge(self, task: JudgeTask) -> Judgement:
        """Return the mean of the valid votes; without one, no points and the reason of a vote (one that can be asked again goes first).

        Raises:
            RunStoppedError: the run ends here; the votes that were given are in the ledger.
            InputError: the judge was built without an asker, which serves to know its digest alone.
        """
        if self._asker is None:
            raise InputError("the judge kind 'panel' asks a model, so it needs an endpoint.", field="endpoint")
        missing = unanswered(task)
        if missing is not None:
            return missing
        gradings = [
            await graded(task, settings=self._settings, asker=self._asker, weights=ROLES[name].weights, role_text=ROLES[name].text)
            for name in self.roles
        ]
        return _judgement(task, self.roles, gradings)


def panel_verdict(votes: Sequence[PanelVote]) -> PanelVerdict:
    """Return the votes with their spread over the valid ones."""
    points = [vote.points for vote in votes if vote.points is not None]
    if not points:
        return PanelVerdict(votes=tuple(votes))
    sd_points = statistics.stdev(points) if len(points) > 1 else 0.0
    return PanelVerdict(
        votes=tuple(votes),
        sd_points=sd_points,
        agreement=round(max(0.0, 1 - sd_points / NO_AGREEMENT_SD_POINTS), 3),
        flagged=sd_points > FLAG_ABOVE_SD_POINTS,
    )


def _judgement(task: JudgeTask, roles: Sequence[str], gradings: Sequence[Grading]) -> Judgement:
    verdict = panel_verdict([_vote(role, grading) for role, grading in zip(roles, gradings, strict=True)])
    valid = verdict.valid
    rows = [row for grading in gradings for row in grading.rows]
    return Judgement(
        task_id=task.task_id,
        points=round(statistics.mean(vote.points for vote in valid if vote.points is not None), 1) if valid else None,
        reason=None if valid else _reason(verdict.votes),
        dimensions={name: statistics.mean(vote.dimensions[name] for vote in valid) for name in (valid[0].dimensions if valid else ())},
        caps={vote.role: vote.caps for vote in valid if vote.caps},
        grounded=gradings[0].grounded,
        material_digest=task.material_digest,
        material_source=task.material_source,
        redraws=sum(vote.redraws for vote in verdict.votes),
        usage=usage_of(rows),
        cost_usd=cost_usd_of(rows),
        calls=len(rows),
        panel=verdict,
    )


def _vote(role: str, grading: Grading) -> PanelVote:
    read = grading.read
    return PanelVote(
        role=role,
        points=grading.points,
        reason=grading.reason,
        dimensions={} if read is None else read.dimensions,
        caps={} if read is None else read.caps,
        unread_claims=() if read is None else read.unread_claims,
        redraws=grading.redraws,
        raw_reply=grading.raw_reply,
        notes=grading.notes,
    )


def _reason(votes: Sequence[PanelVote]) -> str | None:
    reasons = [vote.reason for vote in votes if vote.reason is not None]
    return next((reason for reason in reasons if reason.startswith(JUDGE_FAILED)), reasons[0])


@judge_kinds.register("panel")
def build_panel(settings: JudgeSettings, *, asker: Asker | None) -> PanelJudge:
    """Return the judge.

    Raises:
        UnknownNameError: a role that there is not.
        InputError: no role or one named twice, or a rubric that says nothing.
    """
    refuse_blank_rubric(settings)
    roles = settings.roles
    if roles is not None and not roles:
        raise InputError(f"names nobody; leave it out for all of {', '.join(ROLES)}.", field="roles")
    for position, role in enumerate(roles or ()):
        if role not in ROLES:
            raise UnknownNameError("panel role", role, ROLES, field="roles")
        if role in (roles or ())[:position]:
            raise InputError(f"the role {role!r} stands here twice; each votes once.", field="roles")
    return PanelJudge(settings, asker=asker)
