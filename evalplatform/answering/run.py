"""Ask every arm every question, in every draw, and keep what happened as rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from evalplatform.answering.prompts import CONTEXT_LIMIT_CHARS, answer_messages, context_chars, joined_context
from evalplatform.answering.records import PREPARE_FAILED, ArmAnswer, CallTiming, ContextChunk
from evalplatform.arms.treatment import AgentConfig, Treatment
from evalplatform.calls.ask import Asker, CallOutcome
from evalplatform.calls.pool import map_bounded
from evalplatform.calls.progress import ProgressMeter
from evalplatform.calls.request_digest import request_digest
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import CallError, RetrievalError, RunStoppedError
from evalplatform.kernel.text import clip
from evalplatform.kernel.values import Value
from evalplatform.plugins.plugin_set import NO_PLUGINS, PluginSet
from evalplatform.plugins.wrapping import wrapped_config
from evalplatform.ports.model_client import ModelReply, ModelRequest, Sampling
from evalplatform.questions.records import Question

SNIPPET_LIMIT_CHARS = 200
NOT_ASKED = "not_asked"


class AnswerPlan(Value):
    """What a cell asks: which model, drawn how, which questions, how often."""

    provider: str
    base_url: str | None = None
    model: str
    sampling: Sampling = Sampling()
    questions: tuple[Question, ...]
    draws: int = 1
    concurrency: int = 8


@dataclass(frozen=True)
class AnswerSheet:
    """What answering a cell left behind.

    `answers` and `timings` stand in the order question, arm, draw. `texts` maps digests to what was sent and what judges may see
    (contexts, system prompts, materials), one copy each. `stopped` says why the run ended early, or is None; questions not asked then
    stand as failed rows, `not_asked: <reason>`.
    """

    answers: tuple[ArmAnswer, ...]
    timings: tuple[CallTiming, ...]
    texts: Mapping[str, str]
    stopped: RunStoppedError | None = None

    @property
    def is_complete(self) -> bool:
        """Whether a rerun would have nothing to ask: no row failed."""
        return all(answer.state != "failed" for answer in self.answers)


@dataclass(frozen=True)
class _Slot:
    question: Question
    arm: str
    treatment: Treatment


@dataclass
class _CellRun:
    plan: AnswerPlan
    asker: Asker
    meter: ProgressMeter | None
    plugins: PluginSet
    texts: dict[str, str] = field(default_factory=dict)
    stopped: RunStoppedError | None = None

    async def fill(self, slot: _Slot) -> list[tuple[ArmAnswer, CallTiming]]:
        """Return the rows of one question under one arm; they never raise, so that one failure costs one row."""
        if self.stopped is not None:
            return [self._row(slot, draw, _failed_row(slot, draw, self._not_asked_reason())) for draw in range(self.plan.draws)]
        try:
            config = wrapped_config(await slot.treatment.prepare(slot.question), self.plugins)
        except RetrievalError as error:
            reason = f"{PREPARE_FAILED}: {error.reason}: {error}"
            metadata = {"arm_kind": slot.treatment.kind, "error": error.reason}
            failed = [_failed_row(slot, draw, reason).with_changes(metadata=metadata) for draw in range(self.plan.draws)]
            return [self._row(slot, answer.draw, answer) for answer in failed]
        context = joined_context(config)
        request = self._request(slot, config, context)
        prepared = ArmAnswer(
            question_id=slot.question.id,
            arm=slot.arm,
            draw=0,
            state="failed",
            answer=None,
            request_digest=request_digest(request),
            material_digest=self._keep(config.material.text),
            context_digest=self._keep(context),
            system_prompt_digest=None if config.system_prompt is None else self._keep(config.system_prompt),
            used_system_prompt=config.system_prompt is not None,
            context_chunks=tuple(
                ContextChunk(source=chunk.source, snippet=clip(chunk.text, SNIPPET_LIMIT_CHARS), relevance_score=chunk.relevance)
                for chunk in config.chunks
            ),
            metadata=_with_cut_recorded(config),
        )
        rows = []
        for draw in range(self.plan.draws):
            answer, outcome = await self._answer(prepared.model_copy(update={"draw": draw}), request)
            rows.append(self._row(slot, draw, answer, outcome))
        return rows

    def _keep(self, text: str) -> str:
        """Keep one copy of a text and return its digest."""
        digest = text_digest(text)
        self.texts.setdefault(digest, text)
        return digest

    async def _answer(self, prepared: ArmAnswer, request: ModelRequest) -> tuple[ArmAnswer, CallOutcome | None]:
        if self.stopped is not None:
            return prepared.with_changes(reason=self._not_asked_reason()), None
        try:
            outcome = await self.asker.ask(request, purpose="answer", draw=prepared.draw)
        except RunStoppedError as stop:
            self.stopped = stop
            return prepared.with_changes(reason=self._not_asked_reason()), None
        except CallError as error:
            return prepared.with_changes(reason=f"generation_failed: {error.reason}: {error}"), None
        reply = outcome.row.reply
        no_answer_reason = _no_answer_reason(reply)
        answered = no_answer_reason is None
        answer = prepared.with_changes(
            state="answered" if answered else "no_answer",
            answer=self.plugins.shaped_answer(reply.text) if answered else None,
            raw_answer=reply.text if answered and self.plugins.shapes_answers else None,
            reason=no_answer_reason,
            usage=reply.usage,
            cost_usd=outcome.row.cost_usd,
            calls=1,
        )
        return answer, outcome

    def _request(self, slot: _Slot, config: AgentConfig, context: str) -> ModelRequest:
        return ModelRequest(
            provider=self.plan.provider,
            base_url=self.plan.base_url,
            model=self.plan.model,
            messages=answer_messages(slot.question.question, context=context, system_prompt=config.system_prompt),
            sampling=self.plan.sampling,
        )

    def _not_asked_reason(self) -> str:
        return f"{NOT_ASKED}: {self.stopped.reason if self.stopped is not None else 'stopped'}"

    def _row(self, slot: _Slot, draw: int, answer: ArmAnswer, outcome: CallOutcome | None = None) -> tuple[ArmAnswer, CallTiming]:
        if self.meter is not None:
            self.meter.finished(failed=answer.state == "failed")
        reply = None if outcome is None else outcome.row.reply
        timing = CallTiming(
            question_id=slot.question.id,
            arm=slot.arm,
            draw=draw,
            latency_seconds=None if reply is None else reply.latency_seconds,
            time_to_first_token_seconds=None if reply is None else reply.time_to_first_token_seconds,
            replayed=outcome is not None and outcome.replayed,
        )
        return answer, timing


async def answer_cell(
    plan: AnswerPlan,
    *,
    treatments: Sequence[tuple[str, Treatment]],
    asker: Asker,
    plugins: PluginSet = NO_PLUGINS,
    meter: ProgressMeter | None = None,
) -> AnswerSheet:
    """Ask every arm every question in every draw, at most `plan.concurrency` at a time.

    Args:
        plan: the model and the questions.
        treatments: arm names and their opened treatments, in the experiment's order.
        asker: where calls go; a call that it cannot answer becomes a failed row with its reason.
        plugins: what modifies every arm: its prompts before, its answers after the model is asked.
        meter: told of each finished row, or None.

    Returns:
        The sheet. When the run was stopped (budget, breaker, a long Retry-After), calls in flight are still kept and the rest are rows
        `not_asked: <reason>`.
    """
    slots = [_Slot(question, arm, treatment) for question in plan.questions for arm, treatment in treatments]
    run = _CellRun(plan=plan, asker=asker, meter=meter, plugins=plugins)
    filled = await map_bounded(run.fill, slots, concurrency=plan.concurrency)
    rows = [row for rows_of_slot in filled for row in rows_of_slot]
    return AnswerSheet(
        answers=_with_same_calls_marked([answer for answer, _ in rows]),
        timings=tuple(timing for _, timing in rows),
        texts=run.texts,
        stopped=run.stopped,
    )


def _with_cut_recorded(config: AgentConfig) -> dict[str, JsonValue]:
    """Return the treatment's metadata, with the sizes of a context that was cut; an uncut one adds nothing."""
    source_chars = context_chars(config)
    if source_chars <= CONTEXT_LIMIT_CHARS:
        return config.metadata
    return {**config.metadata, "context_truncated": True, "context_chars": CONTEXT_LIMIT_CHARS, "context_chars_source": source_chars}


def _no_answer_reason(reply: ModelReply) -> str | None:
    """Say why there is no answer in a reply, or None when there is one. Spent reasoning is not a wrong answer (pitfall M01)."""
    if reply.text.strip():
        return None
    return {"length": "no_answer:budget", "content_filter": "no_answer:filtered"}.get(reply.finish_reason or "", "no_answer:empty")


def _failed_row(slot: _Slot, draw: int, reason: str) -> ArmAnswer:
    return ArmAnswer(question_id=slot.question.id, arm=slot.arm, draw=draw, state="failed", answer=None, reason=reason)


def _with_same_calls_marked(answers: Sequence[ArmAnswer]) -> tuple[ArmAnswer, ...]:
    """Mark the answers of one draw that one ledger row serves; decided from digests, so a resumed run marks the same rows."""
    uses: dict[tuple[str, int], int] = {}
    for answer in answers:
        if answer.request_digest is not None:
            uses[answer.request_digest, answer.draw] = uses.get((answer.request_digest, answer.draw), 0) + 1
    return tuple(
        answer.model_copy(update={"same_call": True})
        if answer.request_digest is not None and uses[answer.request_digest, answer.draw] > 1
        else answer
        for answer in answers
    )
