"""Rows of the platform as records of an arms.v1 file, and back. Each pair of functions stands together, so that they stay inverse.

Rows are written as they are, unrounded: everything in the file that is computed can be computed again from the file alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import SupportsIndex, overload

from pydantic import JsonValue

from evalplatform.answering.records import ArmAnswer, CallTiming, ContextChunk
from evalplatform.comparisons.records import JudgedScore
from evalplatform.judging.records import Judgement
from evalplatform.kernel.usage import Usage
from evalplatform.reports.arms_v1_panel import panel_record, panel_row
from evalplatform.reports.arms_v1_wire import JsonObject, WireArm, WireMetrics, WireScore
from evalplatform.reports.rounding import rounded_or_none
from evalplatform.reports.run_facts import RunFacts

NO_ANSWER = "no_answer:unknown"
EMPTY_ANSWER = "no_answer:empty"
_PANEL_NUMBERS = frozenset({"n_judges", "n_valid", "std", "std_aggregate", "agreement_score"})
"""Numbers that a panel's score holds beside its dimensions."""


class Records(Sequence[JsonObject]):
    """The items of one of the file's long lists, made when they are asked for: a large file is never held as objects.

    Args:
        count: how many there are.
        make: returns the record at a position.
    """

    def __init__(self, count: int, make: Callable[[int], JsonObject]) -> None:
        self._positions = range(count)
        self._make = make

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, index: SupportsIndex) -> JsonObject: ...

    @overload
    def __getitem__(self, index: slice) -> list[JsonObject]: ...

    def __getitem__(self, index: SupportsIndex | slice) -> JsonObject | list[JsonObject]:
        if isinstance(index, slice):
            return [self._make(position) for position in self._positions[index]]
        return self._make(self._positions[index])


def arm_record(answer: ArmAnswer, timing: CallTiming | None, facts: RunFacts) -> JsonObject:
    """Return one arm's answer as its record. A failed arm keeps its error and metadata, and no numbers."""
    digests: JsonObject = {
        name: digest
        for name, digest in (
            ("judge_context_sha256", answer.material_digest),
            ("request_digest", answer.request_digest),
            ("context_digest", answer.context_digest),
            ("system_prompt_digest", answer.system_prompt_digest),
        )
        if digest is not None
    }
    if answer.state == "failed":
        return {"error": answer.reason, "answer": None, **_context(answer), "metadata": answer.metadata, **digests}
    metrics = _metrics(answer, timing)
    record: JsonObject = {
        "answer": answer.answer,
        "raw_answer": answer.raw_answer,
        "model": facts.model,
        "harness": facts.harness,
        "plugin_set": facts.plugin_set,
        "plugin_set_id": facts.plugin_set_id,
        **_context(answer),
        "token_usage": {name: metrics[name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")},
        "metrics": metrics,
        "metadata": answer.metadata,
        "elapsed_sec": rounded_or_none(None if timing is None else timing.latency_seconds, 2),
        **digests,
    }
    if answer.reason is not None:
        record["reason"] = answer.reason
    if answer.same_call:
        record["same_call"] = True
    return record


def answer_row(wire: WireArm, *, question_id: str, arm: str, draw: int) -> ArmAnswer:
    """Return a record as an answer row. A record without an answer, without an error but with metrics was paid for and stayed empty."""
    failed = wire.error is not None or (wire.answer is None and wire.metrics is None)
    metrics = WireMetrics(n_calls=0) if failed else wire.metrics or WireMetrics()
    answered = not failed and bool(wire.answer)
    reason = None if answered else wire.error or wire.reason or (EMPTY_ANSWER if wire.answer == "" else NO_ANSWER)
    return ArmAnswer(
        question_id=question_id,
        arm=arm,
        draw=draw,
        state="failed" if failed else "answered" if answered else "no_answer",
        answer=wire.answer if answered else None,
        raw_answer=wire.raw_answer,
        reason=reason,
        request_digest=wire.request_digest,
        material_digest=wire.judge_context_sha256,
        context_digest=wire.context_digest,
        system_prompt_digest=wire.system_prompt_digest,
        used_system_prompt=wire.used_system_prompt,
        same_call=wire.same_call,
        context_chunks=tuple(
            ContextChunk(source=chunk.source, snippet=chunk.snippet, relevance_score=chunk.relevance_score) for chunk in wire.context_chunks
        ),
        usage=Usage(
            prompt_tokens=metrics.prompt_tokens,
            completion_tokens=metrics.completion_tokens,
            cache_read_tokens=metrics.cache_read_tokens,
            reasoning_tokens=metrics.reasoning_tokens,
        ),
        cost_usd=metrics.cost_usd,
        calls=metrics.n_calls,
        metadata=wire.metadata,
    )


def timing_row(wire: WireArm, *, question_id: str, arm: str, draw: int) -> CallTiming:
    """Return the timing in a record. Whether a reply was replayed is not in the file; its latency is that of the paid call either way."""
    metrics = wire.metrics or WireMetrics()
    return CallTiming(
        question_id=question_id,
        arm=arm,
        draw=draw,
        latency_seconds=metrics.latency_sec,
        time_to_first_token_seconds=metrics.ttft_sec,
        replayed=False,
    )


def score_record(judgement: Judgement) -> JsonObject:
    """Return a judgement of an answer as its score record; without points it says `aggregate: null` and why."""
    record: JsonObject = {**judgement.dimensions, "aggregate": judgement.points}
    if judgement.points is None:
        record["error"] = judgement.reason
    optional: JsonObject = {
        "caps": judgement.caps,
        "unread_claims": list(judgement.unread_claims),
        "grounded": judgement.grounded,
        "redraws": judgement.redraws,
        "notes": judgement.notes,
    }
    record.update({name: value for name, value in optional.items() if value})
    if judgement.panel is not None:
        record["panel"] = panel_record(judgement.panel)
    record["judge_context_source"] = judgement.material_source
    if judgement.material_source == "stored" and judgement.material_digest is not None:
        record["judge_context_sha256"] = judgement.material_digest
    return record


def score_row(wire: WireScore | None, *, question_id: str, arm: str, draw: int, missing_reason: str | None) -> JudgedScore:
    """Return a score record as a row. A null score has no points; its reason is why there is no answer."""
    task_id = f"{question_id}/{arm}/{draw}"
    if wire is None:
        return JudgedScore(
            question_id=question_id, arm=arm, draw=draw, judgement=Judgement(task_id=task_id, reason=missing_reason or NO_ANSWER)
        )
    dimensions, notes = _dimensions_and_notes(wire)
    judgement = Judgement(
        task_id=task_id,
        points=wire.aggregate,
        reason=None if wire.aggregate is not None else wire.error or "unknown",
        dimensions=dimensions,
        caps=wire.caps,
        unread_claims=wire.unread_claims,
        grounded=wire.grounded,
        material_digest=wire.judge_context_sha256,
        material_source=wire.judge_context_source or "snippet_fallback",
        redraws=wire.redraws,
        notes=notes,
        panel=None if wire.panel is None else panel_row(wire.panel),
    )
    return JudgedScore(question_id=question_id, arm=arm, draw=draw, judgement=judgement)


def _context(answer: ArmAnswer) -> JsonObject:
    return {
        "used_system_prompt": answer.used_system_prompt,
        "context_chunks": [
            {"source": chunk.source, "snippet": chunk.snippet, "relevance_score": chunk.relevance_score} for chunk in answer.context_chunks
        ],
    }


def _metrics(answer: ArmAnswer, timing: CallTiming | None) -> JsonObject:
    usage = answer.usage
    delivered_chars = None if answer.answer is None else len(answer.answer)
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cost_usd": answer.cost_usd,
        "latency_sec": None if timing is None else timing.latency_seconds,
        "ttft_sec": None if timing is None else timing.time_to_first_token_seconds,
        "n_calls": answer.calls,
        "cost_known_calls": 0 if answer.cost_usd is None else answer.calls,
        "role": "main",
        "raw_answer_chars": delivered_chars if answer.raw_answer is None else len(answer.raw_answer),
        "final_answer_chars": delivered_chars,
    }


def _dimensions_and_notes(wire: WireScore) -> tuple[dict[str, float], JsonObject]:
    """Sort a score's open keys: numbers are dimensions, what else a judge wrote is a note."""
    dimensions: dict[str, float] = {}
    notes: JsonObject = dict(wire.notes)
    others: Mapping[str, JsonValue] = wire.__pydantic_extra__
    for name, value in others.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and name not in _PANEL_NUMBERS:
            dimensions[name] = float(value)
        else:
            notes[name] = value
    return dimensions, notes
