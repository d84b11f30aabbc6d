"""Rows of a small run, by hand: answers, scores, timings, and the facts beside them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from evalplatform.answering.records import ArmAnswer, CallTiming, ContextChunk
from evalplatform.comparisons.records import JudgedScore
from evalplatform.judging.records import Judgement
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import Sampling
from evalplatform.questions.records import Question, QuestionSet
from evalplatform.reports.run_facts import DocumentSourceFacts, JudgeFacts, RunFacts

MATERIAL = "Rules run once a day."
MATERIALS = {text_digest(text): text for text in ("", MATERIAL)}

Points = float | None
Table = Mapping[str, Sequence[Points]]
"""Points by arm, one per question; None is an answer that its judge could not score."""


def question_id(number: int) -> str:
    return f"q{number:04d}"


def question_set(count: int) -> QuestionSet:
    questions = tuple(
        Question(id=question_id(number), question=f"Question {number}: ¿qué?", category="storage", difficulty="easy")
        for number in range(count)
    )
    return QuestionSet(source="questions.json", questions=questions, digest=text_digest(str(count)))


def answer(number: int, arm: str, *, draw: int = 0, cost_usd: float | None = 0.0002, text: str = "Set a rule: – 30 days.") -> ArmAnswer:
    material = "" if arm == "baseline" else MATERIAL
    chunks = () if arm == "baseline" else (ContextChunk(source="a.md", snippet=material, relevance_score=0.75),)
    return ArmAnswer(
        question_id=question_id(number),
        arm=arm,
        draw=draw,
        state="answered",
        answer=text,
        request_digest=text_digest(f"{number} {arm}"),
        material_digest=text_digest(material),
        context_chunks=chunks,
        usage=Usage(prompt_tokens=100 + number, completion_tokens=20, cache_read_tokens=25),
        cost_usd=cost_usd,
        calls=1,
        metadata={"arm_kind": arm.split(":")[0]},
    )


def failed(number: int, arm: str, *, reason: str = "generation_failed: timeout: no reply", draw: int = 0) -> ArmAnswer:
    row = answer(number, arm, draw=draw)
    return row.with_changes(state="failed", answer=None, reason=reason, usage=Usage(), cost_usd=None, calls=0)


def timing(number: int, arm: str, *, draw: int = 0, seconds: float | None = 1.25) -> CallTiming:
    return CallTiming(
        question_id=question_id(number), arm=arm, draw=draw, latency_seconds=seconds, time_to_first_token_seconds=None, replayed=False
    )


def score(number: int, arm: str, points: Points, *, draw: int = 0, reason: str = "malformed_reply") -> JudgedScore:
    material = "" if arm == "baseline" else MATERIAL
    judgement = Judgement(
        task_id=f"{question_id(number)}/{arm}/{draw}",
        points=points,
        reason=None if points is not None else reason,
        dimensions={} if points is None else {"correctness": points, "completeness": 50.0},
        material_digest=text_digest(material),
        redraws=2 if points is None else 0,
        usage=Usage(prompt_tokens=900, completion_tokens=40),
        cost_usd=0.004,
        calls=1,
    )
    return JudgedScore(question_id=question_id(number), arm=arm, draw=draw, judgement=judgement)


def scores_of(table: Table) -> list[JudgedScore]:
    return [score(number, arm, points) for arm, column in table.items() for number, points in enumerate(column)]


def answers_of(table: Table) -> list[ArmAnswer]:
    return [answer(number, arm) for arm, column in table.items() for number in range(len(column))]


def timings_of(table: Table) -> list[CallTiming]:
    return [timing(number, arm, seconds=1 + number / 8) for arm, column in table.items() for number in range(len(column))]


def run_facts(arms: Sequence[str], *, judged: bool = True, draws: int = 1) -> RunFacts:
    judge = JudgeFacts(
        key="strict-9bd2e0",
        kind="rubric",
        provider="anthropic",
        model="judge-large",
        prompt_digest=text_digest("prompt"),
        metrics=("correctness", "completeness"),
    )
    return RunFacts(
        project="storage-agents",
        suite="storage-how-to",
        library_name="Object Storage",
        generated_at=datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC),
        cell_key="small-3f9a1c",
        model="small-8b",
        provider="openai-chat",
        sampling=Sampling(temperature=0, seed=7),
        draws=draws,
        arms=tuple(arms),
        arm_specs={arm: arm for arm in arms},
        baseline_arm="baseline",
        question_set_source="questions.json",
        question_set_digest=text_digest("questions"),
        top_k=5,
        rerank_threshold=0.3,
        reranker="lexical",
        price_table="2026-03-01",
        document_sources=(DocumentSourceFacts(arm="docs", name="local:docs", digest=text_digest("documents")),),
        input_digests={"docs": text_digest("documents")},
        judge=judge if judged else None,
    )
