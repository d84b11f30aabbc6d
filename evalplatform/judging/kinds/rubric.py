"""The `rubric` judge: one model grades five dimensions, six where there is a reference, and the program computes the points."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from evalplatform.calls.ask import Asker
from evalplatform.judging.grounding import reference_of
from evalplatform.judging.judge import JudgeSettings, judge_kinds
from evalplatform.judging.parsing import RubricReply, Unreadable, read_rubric_reply
from evalplatform.judging.prompts import REMINDER, prompt_digest, system_text, task_text
from evalplatform.judging.records import Judgement, JudgeTask
from evalplatform.judging.unanswered import unanswered
from evalplatform.kernel.errors import CallError, InputError
from evalplatform.kernel.usage import Usage, known_sum
from evalplatform.ports.ledger import LedgerRow
from evalplatform.ports.model_client import Message, ModelRequest

MAX_DRAWS = 3
"""Replies asked for at most in one judgement; the second and third only where the one before could not be read."""

WEIGHTS: Mapping[str, float] = {"correctness": 2.0, "completeness": 1.0, "specificity": 0.0, "code_quality": 1.0, "actionability": 1.0}
"""Specificity is asked for and shown but weighs nothing: a wrong answer can be very specific (treatment-arms spec, section 6)."""

GROUNDED_WEIGHTS: Mapping[str, float] = {**WEIGHTS, "factual_grounding": 2.0}


def weighted_points(dimensions: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the weighted mean of the dimensions, 0-100, to 1 decimal.

    Example:
        >>> weighted_points({"correctness": 90.0, "completeness": 60.0}, {"correctness": 2.0, "completeness": 1.0})
        80.0
    """
    total = sum(weight * dimensions[name] for name, weight in weights.items())
    return round(total / sum(weights.values()), 1)


class RubricJudge:
    """Asks a model to grade, up to three times where the reply cannot be read.

    The model sees the material, the question, the reference of a grounded task and the answer. It sees no expected or forbidden facts, no
    arm, no id: its points are to be independent of the fact grader's.
    """

    def __init__(self, settings: JudgeSettings, *, asker: Asker | None) -> None:
        self._settings = settings
        self._asker = asker

    @property
    def prompt_digest(self) -> str:
        """The digest of the fixed wording, the weights and the rubric addition."""
        return prompt_digest(weights=GROUNDED_WEIGHTS, rubric=self._settings.rubric)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The five dimensions, and `factual_grounding`, which grounded tasks have."""
        return tuple(GROUNDED_WEIGHTS)

    async def judge(self, task: JudgeTask) -> Judgement:
        """Return the points, or none with a reason: `no_answer:...`, `malformed_reply`, `out_of_range`, `judge_failed: <reason>: ...`.

        Raises:
            RunStoppedError: the run ends here.
            InputError: the judge was built without an asker, which serves to know its digest alone.
        """
        if self._asker is None:
            raise InputError("the judge kind 'rubric' asks a model, so it needs an endpoint.", field="endpoint")
        return unanswered(task) or await self._asked(task, self._asker)

    async def _asked(self, task: JudgeTask, asker: Asker) -> Judgement:
        reference = reference_of(task, from_topics=self._settings.grounded_from_topics)
        weights = WEIGHTS if reference is None else GROUNDED_WEIGHTS
        rows: list[LedgerRow] = []
        reading: RubricReply | Unreadable | None = None
        failure: CallError | None = None
        for attempt in range(MAX_DRAWS):
            request = self._request(task, tuple(weights), reference=reference, attempt=attempt)
            try:
                outcome = await asker.ask(request, purpose="judge", draw=task.draw, attempt=attempt)
            except CallError as error:
                failure = error
                break
            rows.append(outcome.row)
            reading = read_rubric_reply(outcome.row.reply.text, dimensions=weights)
            if isinstance(reading, RubricReply):
                break
        return _judgement(task, rows, failure or reading, weights=weights, grounded=reference is not None)

    def _request(self, task: JudgeTask, dimensions: tuple[str, ...], *, reference: str | None, attempt: int) -> ModelRequest:
        settings = self._settings
        fixed = system_text(dimensions=dimensions, grounded=reference is not None, rubric=settings.rubric)
        text = task_text(material=task.material, question=task.question, reference=reference, answer=task.answer or "")
        if attempt and (settings.sampling.temperature is not None or settings.sampling.seed is not None):
            text = f"{text}\n\n{REMINDER}"  # a pinned judge gives the same request the same unreadable reply again
        return ModelRequest(
            provider=settings.provider,
            base_url=settings.base_url,
            model=settings.model,
            messages=(Message(role="system", content=fixed), Message(role="user", content=text)),
            sampling=settings.sampling,
        )


def _judgement(
    task: JudgeTask,
    rows: Sequence[LedgerRow],
    ended: RubricReply | Unreadable | CallError | None,
    *,
    weights: Mapping[str, float],
    grounded: bool,
) -> Judgement:
    """Return the judgement of a task from the finished calls and how the last one ended."""
    read = ended if isinstance(ended, RubricReply) else None
    return Judgement(
        task_id=task.task_id,
        points=None if read is None else weighted_points(read.dimensions, weights),
        reason=_reason(ended),
        dimensions={} if read is None else read.dimensions,
        caps={} if read is None else read.caps,
        unread_claims=() if read is None else read.unread_claims,
        grounded=grounded,
        material_digest=task.material_digest,
        material_source=task.material_source,
        redraws=max(0, len(rows) - 1),
        raw_reply=rows[-1].reply.text if rows else None,
        notes=_notes(ended, rows),
        usage=_usage_of(rows),
        cost_usd=known_sum(row.cost_usd for row in rows),
        calls=len(rows),
    )


def _reason(ended: RubricReply | Unreadable | CallError | None) -> str | None:
    if isinstance(ended, CallError):
        return f"judge_failed: {ended.reason}: {ended}"
    return ended.reason if isinstance(ended, Unreadable) else None


def _notes(ended: RubricReply | Unreadable | CallError | None, rows: Sequence[LedgerRow]) -> dict[str, JsonValue]:
    if isinstance(ended, CallError):
        return {"failure": str(ended)}
    if isinstance(ended, Unreadable):
        return {"unreadable": ended.detail, "finish_reason": rows[-1].reply.finish_reason}
    if ended is not None and not ended.claims_are_list:
        return {"numeric_claims": "not a list, so not read"}
    return {}


def _usage_of(rows: Sequence[LedgerRow]) -> Usage:
    usages = [row.reply.usage for row in rows]
    return Usage(
        prompt_tokens=_known_tokens(usage.prompt_tokens for usage in usages),
        completion_tokens=_known_tokens(usage.completion_tokens for usage in usages),
        cache_read_tokens=_known_tokens(usage.cache_read_tokens for usage in usages),
        reasoning_tokens=_known_tokens(usage.reasoning_tokens for usage in usages),
    )


def _known_tokens(counts: Iterable[int | None]) -> int | None:
    total = known_sum(counts)
    return None if total is None else int(total)


@judge_kinds.register("rubric")
def build_rubric(settings: JudgeSettings, *, asker: Asker | None) -> RubricJudge:
    """Return the judge.

    Raises:
        InputError: a rubric that says nothing.
    """
    if settings.rubric is not None and not settings.rubric.strip():
        raise InputError("is blank; leave it out or say something.", field="rubric")
    return RubricJudge(settings, asker=asker)
