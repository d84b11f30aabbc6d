"""One model's grading of one answer: ask, read the dimensions, ask again where they cannot be read, weigh them.

A rubric judge does this once for an answer, a panel once for each of its roles. Source: treatment-arms spec, section 6.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from evalplatform.calls.ask import Asker
from evalplatform.judging.grounding import reference_of
from evalplatform.judging.judge import JudgeSettings
from evalplatform.judging.parsing import RubricReply, Unreadable, read_rubric_reply
from evalplatform.judging.prompts import REMINDER, system_text, task_text
from evalplatform.judging.records import JudgeTask
from evalplatform.judging.run import JUDGE_FAILED
from evalplatform.kernel.errors import CallError, InputError
from evalplatform.kernel.usage import Usage, known_sum
from evalplatform.ports.ledger import LedgerRow
from evalplatform.ports.model_client import Message, ModelRequest

MAX_DRAWS = 3
"""Replies asked for at most in one grading; the second and third only where the one before could not be read."""

GROUNDING_WEIGHT = 2.0


def grounded_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of a task with a reference: `factual_grounding` joins the others with weight 2."""
    return {**weights, "factual_grounding": GROUNDING_WEIGHT}


def weighted_points(dimensions: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the weighted mean of the dimensions, 0-100, to 1 decimal.

    Example:
        >>> weighted_points({"correctness": 90.0, "completeness": 60.0}, {"correctness": 2.0, "completeness": 1.0})
        80.0
    """
    total = sum(weight * dimensions[name] for name, weight in weights.items())
    return round(total / sum(weights.values()), 1)


def refuse_blank_rubric(settings: JudgeSettings) -> None:
    """Raise InputError for a rubric that says nothing."""
    if settings.rubric is not None and not settings.rubric.strip():
        raise InputError("is blank; leave it out or say something.", field="rubric")


@dataclass(frozen=True)
class Grading:
    """The finished calls of one grading, how the last one ended, and by which weights it is read."""

    rows: tuple[LedgerRow, ...]
    ended: RubricReply | Unreadable | CallError
    weights: Mapping[str, float]
    grounded: bool

    @property
    def read(self) -> RubricReply | None:
        """The numbers of the reply that could be read, or None."""
        return self.ended if isinstance(self.ended, RubricReply) else None

    @property
    def points(self) -> float | None:
        """The weighted mean, or None with a `reason`."""
        return None if self.read is None else weighted_points(self.read.dimensions, self.weights)

    @property
    def reason(self) -> str | None:
        """Why there are no points: `malformed_reply`, `out_of_range`, `judge_failed: <reason>: ...`; None where there are."""
        if isinstance(self.ended, CallError):
            return f"{JUDGE_FAILED}: {self.ended.reason}: {self.ended}"
        return self.ended.reason if isinstance(self.ended, Unreadable) else None

    @property
    def notes(self) -> dict[str, JsonValue]:
        """What a person who looks at the raw reply wants to know."""
        if isinstance(self.ended, CallError):
            return {"failure": str(self.ended)}
        if isinstance(self.ended, Unreadable):
            return {"unreadable": self.ended.detail, "finish_reason": self.rows[-1].reply.finish_reason}
        return {} if self.ended.claims_are_list else {"numeric_claims": "not a list, so not read"}

    @property
    def redraws(self) -> int:
        """How many further replies were needed."""
        return max(0, len(self.rows) - 1)

    @property
    def raw_reply(self) -> str | None:
        """The last reply, or None where there was none."""
        return self.rows[-1].reply.text if self.rows else None


async def graded(
    task: JudgeTask, *, settings: JudgeSettings, asker: Asker, weights: Mapping[str, float], role_text: str | None = None
) -> Grading:
    """Ask a model to grade an answer, up to three times where the reply cannot be read.

    The model sees the material, the question, the reference of a grounded task and the answer. It sees no expected or forbidden facts, no
    arm, no id: its points are to be independent of the fact grader's.

    Args:
        task: the answer, which has to be there.
        settings: model, sampling, rubric.
        asker: asks the endpoint.
        weights: of the dimensions of a task without a reference, in the order they are asked for.
        role_text: what a panel's role is told beside the rest.

    Raises:
        RunStoppedError: the run ends here.
    """
    reference = reference_of(task, from_topics=settings.grounded_from_topics)
    used = dict(weights) if reference is None else grounded_weights(weights)
    fixed = system_text(dimensions=tuple(used), grounded=reference is not None, rubric=settings.rubric, role=role_text)
    rows: list[LedgerRow] = []
    ended: RubricReply | Unreadable | CallError | None = None
    for attempt in range(MAX_DRAWS):
        request = _request(task, settings, fixed=fixed, reference=reference, attempt=attempt)
        try:
            outcome = await asker.ask(request, purpose="judge", draw=task.draw, attempt=attempt)
        except CallError as error:
            ended = error
            break
        rows.append(outcome.row)
        ended = read_rubric_reply(outcome.row.reply.text, dimensions=used)
        if isinstance(ended, RubricReply):
            break
    assert ended is not None  # it was asked at least once
    return Grading(rows=tuple(rows), ended=ended, weights=used, grounded=reference is not None)


def usage_of(rows: Sequence[LedgerRow]) -> Usage:
    """Return the tokens of finished calls together; unknown where none of them says."""
    usages = [row.reply.usage for row in rows]
    return Usage(
        prompt_tokens=_known_tokens(usage.prompt_tokens for usage in usages),
        completion_tokens=_known_tokens(usage.completion_tokens for usage in usages),
        cache_read_tokens=_known_tokens(usage.cache_read_tokens for usage in usages),
        reasoning_tokens=_known_tokens(usage.reasoning_tokens for usage in usages),
    )


def cost_usd_of(rows: Iterable[LedgerRow]) -> float | None:
    """Return the known cost of finished calls together, or None where none is known."""
    return known_sum(row.cost_usd for row in rows)


def _request(task: JudgeTask, settings: JudgeSettings, *, fixed: str, reference: str | None, attempt: int) -> ModelRequest:
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


def _known_tokens(counts: Iterable[int | None]) -> int | None:
    total = known_sum(counts)
    return None if total is None else int(total)
