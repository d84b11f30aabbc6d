"""A judged run of five arms as its reports see it: built by the platform's own statistics from seeded numbers, failures included."""

from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

from pydantic import JsonValue

from evalplatform.answering.records import ArmAnswer, CallTiming, ContextChunk
from evalplatform.calls.counts import CallCounts
from evalplatform.comparisons.arm_summary import summarise_arms
from evalplatform.comparisons.records import ArmSummary, JudgedScore
from evalplatform.judging.records import Judgement
from evalplatform.kernel.digests import json_digest, text_digest
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import Sampling
from evalplatform.questions.records import Question, QuestionSet
from evalplatform.reports.arms_report import build_arms_report
from evalplatform.reports.arms_view import ArmsReport
from evalplatform.reports.run_facts import DocumentSourceFacts, JudgeFacts, RunFacts

ARMS = ("baseline", "docs", "skill:bucket-lifecycle", "profile:concise_expert", "docs+skill:bucket-lifecycle")
LIFTS = {"docs": 6.0, "skill:bucket-lifecycle": 11.0, "profile:concise_expert": -7.0, "docs+skill:bucket-lifecycle": 13.0}
TOPICS = ("expire objects after 30 days", "list every version of an object", "resume a failed multipart upload", "sign a link for one hour")
STEPS = (
    "Set a rule on the bucket and name the prefix it covers.",
    "Call it once with the dry-run flag and read what it would touch.",
    "The request needs the region of the bucket, not that of the client.",
    "Check the reply: a 204 means the rule is stored, not that it has run.",
    "Rules run once a day, so the first effect is seen after midnight UTC.",
)


@dataclass(frozen=True)
class ArmsRun:
    """The arguments of a report."""

    facts: RunFacts
    questions: QuestionSet
    answers: tuple[ArmAnswer, ...]
    scores: tuple[JudgedScore, ...]
    timings: tuple[CallTiming, ...]
    summary: ArmSummary

    def report(self) -> ArmsReport:
        return build_arms_report(
            self.facts,
            questions=self.questions,
            answers=self.answers,
            scores=self.scores,
            timings=self.timings,
            summary=self.summary,
        )


def arms_run(
    *,
    questions: int = 40,
    arms: tuple[str, ...] = ARMS,
    draws: int = 1,
    failures: bool = True,
    retrieval: bool = False,
    texts: dict[str, str] | None = None,
) -> ArmsRun:
    """Return a run.

    With `retrieval` all questions but the first require documents, which the docs arms find in part. `texts` replaces the answer of every
    arm to the questions it names.
    """
    random = Random(20)
    asked = tuple(_question(number, required=retrieval and number > 0) for number in range(questions))
    answers, scores, timings = [], [], []
    for number, question in enumerate(asked):
        ground = random.gauss(56, 14)
        for arm in arms:
            for draw in range(draws):
                points = min(100.0, max(0.0, round(ground + LIFTS.get(arm, 0.0) + random.gauss(0, 9), 1)))
                broken = failures and _failure(number, arm)
                text = (texts or {}).get(question.id) or _answer_text(random, question)
                answers.append(_answer(question, arm, draw, text, broken or None, same_call=failures and arm == "docs" and number == 7))
                scores.append(_score(question, arm, draw, points, broken or None, unread=failures and arm == "docs" and number in (11, 29)))
                timings.append(_timing(random, question, arm, draw))
    question_set = QuestionSet(source="questions/storage.json", questions=asked, digest=json_digest([item.id for item in asked]))
    summary = summarise_arms(
        arms=arms,
        baseline_arm="baseline",
        question_ids=[question.id for question in asked],
        answers=answers,
        scores=scores,
        timings=timings,
        draws=draws,
        required_documents=question_set.required_documents,
    )
    facts = run_facts(arms, draws=draws, question_set_digest=question_set.digest)
    return ArmsRun(facts, question_set, tuple(answers), tuple(scores), tuple(timings), summary)


def run_facts(arms: tuple[str, ...], *, draws: int, question_set_digest: str) -> RunFacts:
    documents = "docs:local:docs/storage"
    specs = {"docs": documents, "docs+skill:bucket-lifecycle": f"{documents}+skill:skills/bucket-lifecycle"}
    return RunFacts(
        project="storage-agents",
        suite="storage-how-to",
        library_name="Object Storage",
        generated_at=datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC),
        cell_key="small-3f9a1c",
        model="small-8b-instruct",
        provider="openai-chat",
        base_url="http://127.0.0.1:8000/v1",
        sampling=Sampling(temperature=0, max_tokens=800, seed=7),
        draws=draws,
        arms=arms,
        arm_specs={arm: specs.get(arm, arm) for arm in arms},
        baseline_arm="baseline",
        question_set_source="questions/storage.json",
        question_set_digest=question_set_digest,
        top_k=5,
        rerank_threshold=0.3,
        reranker="lexical",
        price_table="2026-03-01",
        document_sources=(DocumentSourceFacts(arm="docs", name="local:docs/storage", digest=text_digest("documents")),),
        input_digests={"skill:bucket-lifecycle": text_digest("skill")},
        judge=JudgeFacts(
            key="strict-9bd2e0",
            kind="single",
            provider="anthropic",
            model="judge-large",
            sampling=Sampling(temperature=0),
            prompt_digest=text_digest("judge prompt"),
            metrics=("correctness", "completeness", "specificity", "code_quality", "actionability"),
        ),
        answer_calls=CallCounts(paid=156, replayed=40, shared=1, failed=3, paid_usd=0.2184, replayed_usd=0.0561),
        judge_calls=CallCounts(paid=196, paid_usd=1.0731, unpriced=2),
    )


def _question(number: int, *, required: bool) -> Question:
    topic = TOPICS[number % len(TOPICS)]
    text = f"How do I {topic} in a bucket with {10 ** (number % 5 + 1):,} objects?"
    return Question(
        id=f"q{number:04d}",
        question=text,
        category="lifecycle" if number % 2 else "access",
        difficulty=("easy", "hard")[number % 2],
        metadata={"required_documents": ["lifecycle", "versions"][: 1 + number % 2]} if required else {},
    )


def _failure(number: int, arm: str) -> str:
    if arm == "docs" and number in (3, 17):
        return "generation_failed: timeout: no reply within 60 s"
    if arm == "profile:concise_expert" and number == 21:
        return "no_answer:budget"
    return ""


def _answer_text(random: Random, question: Question) -> str:
    topic = question.question.removeprefix("How do I ").split(" in a bucket")[0]
    steps = "\n".join(f"{position}. {step}" for position, step in enumerate(random.sample(STEPS, 3), start=1))
    return f"To {topic}:\n\n{steps}\n\n```sh\nstore rule put --bucket photos --days 30 | less\n```"


def _answer(question: Question, arm: str, draw: int, text: str, broken: str | None, *, same_call: bool) -> ArmAnswer:
    state = "answered" if broken is None else "no_answer" if broken.startswith("no_answer") else "failed"
    chunk = ContextChunk(source="docs/storage/lifecycle.md", snippet="A rule names a prefix and a number of days…", relevance_score=0.8125)
    fields = {
        "question_id": question.id,
        "arm": arm,
        "draw": draw,
        "state": state,
        "answer": text if broken is None else None,
        "reason": broken,
        "request_digest": text_digest(f"{question.id}/{arm}"),
        "material_digest": text_digest(arm),
        "same_call": same_call,
        "context_chunks": (chunk,) if arm.startswith("docs") else (),
        "usage": Usage(prompt_tokens=420 + 90 * len(arm), completion_tokens=len(text) // 4) if broken is None else Usage(),
        "cost_usd": None if broken or arm.startswith("profile") else 0.0011 + 0.0001 * len(arm),
        "calls": 1,
        "metadata": {"arm_kind": arm.split(":")[0], **(_retrieved(question) if arm.startswith("docs") else {})},
    }
    return ArmAnswer.model_validate(fields)


def _retrieved(question: Question) -> dict[str, JsonValue]:
    if not question.required_documents:
        return {}
    versions = ["docs/storage/versions.md"] if question.id.endswith("3") else []
    return {"top_k": 5, "retrieved_sources": ["docs/storage/lifecycle.md", *versions, "docs/storage/signing.md"]}


def _score(question: Question, arm: str, draw: int, points: float, broken: str | None, *, unread: bool) -> JudgedScore:
    reason = broken and (broken if broken.startswith("no_answer") else f"no_answer:{broken}")
    reason = reason or ("malformed_reply" if unread else None)
    judgement = Judgement(
        task_id=text_digest(f"{question.id}/{arm}/{draw}"),
        points=None if reason else points,
        reason=reason,
        dimensions={}
        if reason
        else {"correctness": round(points), "completeness": round(points * 0.9), "actionability": round(points * 0.95)},
        material_digest=text_digest(arm),
        redraws=3 if unread else 0,
        raw_reply=None if broken else '{"correctness": 71, "aggregate": 70}',
        calls=0 if broken else 1,
    )
    return JudgedScore(question_id=question.id, arm=arm, draw=draw, judgement=judgement)


def _timing(random: Random, question: Question, arm: str, draw: int) -> CallTiming:
    latency = round(0.6 + 0.02 * len(arm) + random.expovariate(2.0), 3)
    return CallTiming(
        question_id=question.id, arm=arm, draw=draw, latency_seconds=latency, time_to_first_token_seconds=None, replayed=arm == "baseline"
    )
