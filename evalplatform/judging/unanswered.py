"""What every judge says of an answer that is not there: nothing, with the reason, and without a call."""

from evalplatform.judging.records import Judgement, JudgeTask

EMPTY_ANSWER_REASON = "no_answer:empty"


def unanswered(task: JudgeTask) -> Judgement | None:
    """Return the unscored judgement of a missing or blank answer, or None where there is an answer to judge."""
    if task.answer is not None and task.answer.strip():
        return None
    return unscored(task, task.missing_reason or EMPTY_ANSWER_REASON)


def unscored(task: JudgeTask, reason: str) -> Judgement:
    """Return a judgement without points, for a reason that the judge's call or numbers did not bring."""
    return Judgement(task_id=task.task_id, reason=reason, material_digest=task.material_digest, material_source=task.material_source)
