"""The `rubric` judge: one model grades five dimensions, six where there is a reference, and the program computes the points."""

from collections.abc import Mapping

from evalplatform.calls.ask import Asker
from evalplatform.judging.grading import Grading, cost_usd_of, graded, grounded_weights, refuse_blank_rubric, usage_of
from evalplatform.judging.judge import JudgeSettings, judge_kinds, refuse_roles
from evalplatform.judging.prompts import prompt_digest
from evalplatform.judging.records import Judgement, JudgeTask
from evalplatform.judging.unanswered import unanswered
from evalplatform.kernel.errors import InputError

WEIGHTS: Mapping[str, float] = {"correctness": 2.0, "completeness": 1.0, "specificity": 0.0, "code_quality": 1.0, "actionability": 1.0}
"""Specificity is asked for and shown but weighs nothing: a wrong answer can be very specific (treatment-arms spec, section 6)."""


class RubricJudge:
    """Asks one model to grade, as `judging.grading` describes it."""

    def __init__(self, settings: JudgeSettings, *, asker: Asker | None) -> None:
        self._settings = settings
        self._asker = asker

    @property
    def prompt_digest(self) -> str:
        """The digest of the fixed wording, the weights and the rubric addition."""
        return prompt_digest(weights=grounded_weights(WEIGHTS), rubric=self._settings.rubric)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The five dimensions, and `factual_grounding`, which grounded tasks have."""
        return tuple(grounded_weights(WEIGHTS))

    @property
    def roles(self) -> tuple[str, ...]:
        """None: it has one voice."""
        return ()

    async def judge(self, task: JudgeTask) -> Judgement:
        """Return the points, or none with a reason: `no_answer:...`, `malformed_reply`, `out_of_range`, `judge_failed: <reason>: ...`.

        Raises:
            RunStoppedError: the run ends here.
            InputError: the judge was built without an asker, which serves to know its digest alone.
        """
        if self._asker is None:
            raise InputError("the judge kind 'rubric' asks a model, so it needs an endpoint.", field="endpoint")
        missing = unanswered(task)
        if missing is not None:
            return missing
        return _judgement(task, await graded(task, settings=self._settings, asker=self._asker, weights=WEIGHTS))


def _judgement(task: JudgeTask, grading: Grading) -> Judgement:
    read = grading.read
    return Judgement(
        task_id=task.task_id,
        points=grading.points,
        reason=grading.reason,
        dimensions={} if read is None else read.dimensions,
        caps={} if read is None else read.caps,
        unread_claims=() if read is None else read.unread_claims,
        grounded=grading.grounded,
        material_digest=task.material_digest,
        material_source=task.material_source,
        redraws=grading.redraws,
        raw_reply=grading.raw_reply,
        notes=grading.notes,
        usage=usage_of(grading.rows),
        cost_usd=cost_usd_of(grading.rows),
        calls=len(grading.rows),
    )


@judge_kinds.register("rubric")
def build_rubric(settings: JudgeSettings, *, asker: Asker | None) -> RubricJudge:
    """Return the judge.

    Raises:
        InputError: a rubric that says nothing, or roles.
    """
    refuse_roles(settings)
    refuse_blank_rubric(settings)
    return RubricJudge(settings, asker=asker)
