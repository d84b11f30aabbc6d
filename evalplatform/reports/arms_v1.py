"""The arms.v1 artifact: one draw of one cell's run as a JSON object that this platform and the format's other tools read."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from typing import TypeVar

from pydantic import JsonValue

from evalplatform.answering.records import ArmAnswer, CallTiming
from evalplatform.comparisons.arm_summary import QuestionClusters, summarise_arms
from evalplatform.comparisons.records import JudgedScore
from evalplatform.judging.grounding import reference_of
from evalplatform.judging.records import JudgeTask
from evalplatform.kernel.errors import InputError
from evalplatform.kernel.seeds import seed_for_draw
from evalplatform.kernel.usage import known_sum
from evalplatform.ports.model_client import Sampling
from evalplatform.questions.records import Question, QuestionSet
from evalplatform.reports.arms_v1_blocks import cost_summary_block, retrieval_summary_block, summary_block
from evalplatform.reports.arms_v1_rows import Records, arm_record, score_record
from evalplatform.reports.arms_v1_wire import SCHEMA_VERSION, JsonObject
from evalplatform.reports.rounding import rounded, rounded_or_none
from evalplatform.reports.run_facts import JudgeFacts, RunFacts
from evalplatform.stats.multiplicity import Correction

STORED_MATERIAL = "treatment_material.v1"
MIXED_MATERIAL = "treatment_material.v1+snippet_fallback"

Row = TypeVar("Row", ArmAnswer, CallTiming, JudgedScore)
_OWN_SAMPLING_KEYS = {"max_tokens", "temperature", "seed"}
"""The settings of a sampling that the format has keys for."""
Place = tuple[str, str]
"""A question id and an arm."""


def arms_v1_payload(
    facts: RunFacts,
    questions: QuestionSet,
    *,
    answers: Sequence[ArmAnswer],
    scores: Sequence[JudgedScore] = (),
    timings: Sequence[CallTiming] = (),
    materials: Mapping[str, str],
    draw: int = 0,
    correction: Correction = "holm",
    clusters: QuestionClusters | None = None,
) -> dict[str, JsonValue | Records]:
    """Return the arms.v1 object of one draw; its long lists are made item by item, as they are read.

    Its `summary` and `cost_summary` are computed from the rows of this draw alone, so that anyone can compute them again from the file; a
    run of several draws has a file for each, and a summary over all of them elsewhere. The judge's part is there when `facts.judge` is.

    Args:
        facts: what was run, with what, and who judged.
        questions: the questions, in order.
        answers: rows of any draws; those of `draw` are written.
        scores: judgements; empty where nothing was judged.
        timings: how long the calls took.
        materials: the texts that judges may see, by digest.
        draw: the draw to write, from 0.
        correction: `holm` or `bh`, for the adjusted p-values.
        clusters: questions that depend on each other; the summary is then clustered, and each question states its cluster.

    Raises:
        InputError: scores without a judge in `facts`, an answer or score that is not of this run, or a material without its text.
    """
    if scores and facts.judge is None:
        raise InputError("a run with scores names its judge.", field="judge")
    of_draw = _rows_of_draw(answers, draw)
    judged = _rows_of_draw(scores, draw)
    summary = summarise_arms(
        arms=facts.arms,
        baseline_arm=facts.baseline_arm,
        question_ids=[question.id for question in questions.questions],
        answers=list(of_draw.values()),
        scores=[row if draw == 0 else row.model_copy(update={"draw": 0}) for row in judged.values()],
        timings=[row for row in timings if row.draw == draw],
        correction=correction,
        specs=facts.arm_specs,
        clusters=clusters,
        required_documents=questions.required_documents,
    )
    clock = _rows_of_draw(timings, draw)
    payload: dict[str, JsonValue | Records] = dict(_header(facts, questions, draw))
    asked = questions.questions
    payload["answers"] = Records(len(asked), lambda position: _answer_record(asked[position], facts, of_draw, clock, clusters))
    payload |= {"cost_summary": cost_summary_block(summary), "agentic_usage_summary": {}, "skill_selection_summary": {}}
    if cited := _cited_materials(of_draw.values(), materials):
        payload["judge_materials"] = cited
    if facts.judge is not None:
        payload["evaluations"] = Records(len(asked), lambda position: _evaluation(asked[position], facts, of_draw, judged))
        payload |= {"summary": summary_block(summary), **_judge_stamps(facts.judge, of_draw, judged)}
    payload.update(_platform_facts(facts, draw, clusters))
    return payload | ({"retrieval_summary": retrieval_summary_block(summary)} if summary.retrieval else {})


def run_config_block(sampling: Sampling, *, grounded_from_topics: bool, draw: int = 0) -> JsonObject:
    """Return `run_config`: how a draw's answers were sampled, and the limits of a tool loop.

    Beyond the format it holds every other setting of the sampling that is set: two runs that differ in one are not samples of one thing.
    """
    return {
        "max_tokens": sampling.max_tokens,
        "max_iterations": None,  # no arm of this platform runs a tool loop yet
        "grounded_from_topics": grounded_from_topics,
        "temperature": sampling.temperature,
        "seed": seed_for_draw(sampling.seed, draw),
        **{name: value for name, value in sampling.model_dump(exclude=_OWN_SAMPLING_KEYS).items() if value not in (None, {})},
    }


def _rows_of_draw(rows: Sequence[Row], draw: int) -> dict[Place, Row]:
    by_place: dict[Place, Row] = {}
    for row in rows:
        if row.draw != draw:
            continue
        place = (row.question_id, row.arm)
        if place in by_place:
            raise InputError(f"arm {row.arm!r} has two rows for question {row.question_id!r}, draw {draw}.")
        by_place[place] = row
    return by_place


def _header(facts: RunFacts, questions: QuestionSet, draw: int) -> JsonObject:
    from_topics = facts.judge is not None and facts.judge.grounded_from_topics
    grounded = sum(question_reference(question, from_topics=from_topics) is not None for question in questions.questions)
    return {
        "schema_version": SCHEMA_VERSION,
        "generated_at": facts.generated_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "library_name": facts.library_name,
        "model": facts.model,
        "provider": facts.provider,
        "harness": facts.harness,
        "plugin_set": facts.plugin_set,
        "plugin_set_id": facts.plugin_set_id,
        "plugins": [stamp.model_dump(mode="json") for stamp in facts.plugins],
        "cell": f"{facts.model}|{facts.harness}|{facts.plugin_set}",
        "arms": list(facts.arms),
        "baseline_arm": facts.baseline_arm,
        "total_questions": len(questions.questions),
        "run_config": run_config_block(facts.sampling, grounded_from_topics=from_topics, draw=draw),
        "grounded_from_topics": from_topics,
        "grounded_questions": grounded,
    }


def _answer_record(
    question: Question,
    facts: RunFacts,
    answers: Mapping[Place, ArmAnswer],
    timings: Mapping[Place, CallTiming],
    clusters: QuestionClusters | None,
) -> JsonObject:
    answered = {arm: answers[question.id, arm] for arm in facts.arms if (question.id, arm) in answers}
    record: JsonObject = {
        "question_id": question.id,
        "question_text": question.question,
        "library_name": facts.library_name,
        "category": question.category,
        "difficulty": question.difficulty,
        "persona": question.persona,
        "arms": {arm: arm_record(answer, timings.get((question.id, arm)), facts) for arm, answer in answered.items()},
    }
    if question.has_expected_skill:
        record["expected_skill"] = list(question.expected_skill) if isinstance(question.expected_skill, list) else question.expected_skill
    if question.required_documents:
        record["required_documents"] = list(question.required_documents)
    if clusters is not None:
        record["cluster"] = clusters.labels[question.id]
    ground_truth = question_reference(question, from_topics=facts.judge is not None and facts.judge.grounded_from_topics)
    if ground_truth is not None:
        record["ground_truth_chunk"] = ground_truth
    return record


def question_reference(question: Question, *, from_topics: bool) -> str | None:
    """Return the reference that a judge grades the question against, so that a later judge can be given the same one."""
    task = JudgeTask(
        task_id=question.id,
        question=question.question,
        answer=None,
        ground_truth=question.ground_truth_chunk,
        expected_topics=question.expected_topics,
    )
    return reference_of(task, from_topics=from_topics)


def _cited_materials(answers: Iterable[ArmAnswer], materials: Mapping[str, str]) -> JsonObject:
    digests = sorted({answer.material_digest for answer in answers if answer.material_digest is not None})
    missing = [digest for digest in digests if digest not in materials]
    if missing:
        raise InputError(f"the text of judge material {missing[0]} is not there.", field="judge_materials")
    return {digest: materials[digest] for digest in digests}


def _evaluation(question: Question, facts: RunFacts, answers: Mapping[Place, ArmAnswer], judged: Mapping[Place, JudgedScore]) -> JsonObject:
    points = {arm: judged[question.id, arm].judgement.points for arm in facts.arms if (question.id, arm) in judged}
    baseline = points.get(facts.baseline_arm)
    return {
        "question_id": question.id,
        "question_text": question.question,
        "category": question.category,
        "difficulty": question.difficulty,
        "scores": {arm: _score(answers.get((question.id, arm)), judged.get((question.id, arm))) for arm in facts.arms},
        "deltas_vs_baseline": {
            arm: rounded(value - baseline, 1)
            for arm, value in points.items()
            if value is not None and baseline is not None and arm != facts.baseline_arm
        },
    }


def _score(answer: ArmAnswer | None, row: JudgedScore | None) -> JsonObject | None:
    """Return null where there was nothing to judge."""
    if row is None or answer is None or answer.answer is None:
        return None
    return score_record(row.judgement)


def _judge_stamps(judge: JudgeFacts, answers: Mapping[Place, ArmAnswer], judged: Mapping[Place, JudgedScore]) -> JsonObject:
    kept = [row.judgement for place, row in judged.items() if place in answers and answers[place].answer is not None]
    sources = Counter(judgement.material_source for judgement in kept)
    stamps: JsonObject = {"judge_context_sources": dict(sorted(sources.items()))}
    if (stamp := judge_context_stamp(stored=sources["stored"], snippets=sources["snippet_fallback"])) is not None:
        stamps["judge_context"] = stamp
    stamps["judge_model"] = judge.model_stamp
    stamps["judge_provider"] = judge.provider
    stamps["judge_temperature"] = judge.sampling.temperature
    stamps["judge_prompt_sha256"] = judge.prompt_digest
    calls = sum(judgement.calls for judgement in kept)
    if calls:
        stamps["judge_metrics"] = {
            "calls": calls,
            "cost_known_calls": sum(judgement.calls for judgement in kept if judgement.cost_usd is not None),
            "cost_usd": rounded_or_none(known_sum(judgement.cost_usd for judgement in kept), 6),
            "prompt_tokens": known_sum(judgement.usage.prompt_tokens for judgement in kept),
            "completion_tokens": known_sum(judgement.usage.completion_tokens for judgement in kept),
            "total_tokens": known_sum(judgement.usage.total_tokens for judgement in kept),
            "redrawn_judgements": sum(judgement.redraws > 0 for judgement in kept),
        }
    return stamps


def judge_context_stamp(*, stored: int, snippets: int) -> str | None:
    """Return the stamp of what judges were shown, by how many scores saw stored material and how many saw snippets; None where all did."""
    if not snippets:
        return STORED_MATERIAL
    return MIXED_MATERIAL if stored else None


def _platform_facts(facts: RunFacts, draw: int, clusters: QuestionClusters | None) -> JsonObject:
    """Return what this platform writes beyond the format, so that a comparison can tell whether two files measured the same thing."""
    return {
        "base_url": facts.base_url,
        "answering_digest": facts.answering_digest,
        "cluster_field": None if clusters is None else clusters.field,
        "question_set_hash": facts.question_set_digest,
        "arm_specs": dict(facts.arm_specs),
        "document_sources": [{"arm": source.arm, "name": source.name, "digest": source.digest} for source in facts.document_sources],
        "input_digests": dict(facts.input_digests),
        "top_k": facts.top_k,
        "rerank_threshold": facts.rerank_threshold,
        "reranker": facts.reranker,
        "price_table_version": facts.price_table,
        "truncated": facts.truncated_reason,
        "cell_key": facts.cell_key,
        "judge_key": None if facts.judge is None else facts.judge.key,
        "judge_digest": None if facts.judge is None else facts.judge.behaviour_digest,
        "draw": draw,
        "draws": facts.draws,
    }
