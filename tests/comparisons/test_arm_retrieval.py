"""Retrieval measured per arm against the documents that questions require."""

import pytest

from evalplatform.answering.records import ArmAnswer, ContextChunk
from evalplatform.comparisons.arm_retrieval import arm_retrievals
from evalplatform.comparisons.arm_summary import QuestionClusters, summarise_arms
from tests.support.arm_rows import answer, failed, question_id

REQUIRED = {question_id(0): {"a", "b"}, question_id(1): {"c"}, question_id(2): {"a", "b", "c", "d", "e", "f"}}
ARMS = ("baseline", "docs")


def retrieving(number: int, retrieved: str, kept: str, *, arm: str = "docs", draw: int = 0) -> ArmAnswer:
    chunks = tuple(ContextChunk(source=f"pages/{name}.md", snippet=name, relevance_score=0.5) for name in kept)
    record = {"top_k": 5, "retrieved_sources": [f"pages/{name}.md" for name in retrieved]}
    return answer(number, arm, draw=draw).with_changes(context_chunks=chunks, metadata={"arm_kind": "docs", **record})


def test_recall_and_hits_are_counted_before_reranking_and_among_what_was_kept():
    answers = [retrieving(0, "axbyz", "axy"), retrieving(1, "vwxyz", "vwx"), retrieving(2, "abcde", "abc")]
    docs = arm_retrievals(ARMS, answers=answers, required=REQUIRED)["docs"]
    assert docs.questions == docs.retrieved.measured == docs.kept.measured == 3
    assert (docs.retrieved.k, docs.kept.k) == (5, 3)
    assert docs.retrieved.mean_recall_rate == pytest.approx((1 + 0 + 5 / 6) / 3)
    assert docs.kept.mean_recall_rate == pytest.approx((1 / 2 + 0 + 3 / 6) / 3)
    assert docs.retrieved.best_recall_rate == pytest.approx((1 + 1 + 5 / 6) / 3)
    assert (docs.retrieved.hits, docs.kept.hits) == (2, 2)
    assert docs.retrieved.hit_rate == pytest.approx(2 / 3)
    assert docs.retrieved.hit_ci_lo_rate < 2 / 3 < docs.retrieved.hit_ci_hi_rate
    assert 0 == docs.retrieved.recall_ci_lo_rate < docs.retrieved.recall_ci_hi_rate == 1, "three questions: cut at 0 and 1"


def test_an_arm_that_retrieves_nothing_is_not_measured():
    answers = [answer(0, "baseline"), retrieving(0, "a", "a")]
    assert list(arm_retrievals(ARMS, answers=answers, required=REQUIRED)) == ["docs"]


def test_where_no_question_requires_a_document_there_is_nothing_to_measure():
    answers = [retrieving(0, "a", "a")]
    assert arm_retrievals(ARMS, answers=answers, required={}) == {}
    assert arm_retrievals(ARMS, answers=answers, required={question_id(0): frozenset()}) == {}


def test_a_failed_retrieval_is_not_measured_and_not_hidden():
    gone = failed(1, "docs", reason="prepare_failed: retrieval_failed: gone").with_changes(metadata={"arm_kind": "docs"})
    docs = arm_retrievals(ARMS, answers=[retrieving(0, "ab", "ab"), gone], required=REQUIRED)["docs"]
    assert (docs.questions, docs.retrieved.measured, docs.retrieved.mean_recall_rate) == (3, 1, 1.0)
    assert docs.retrieved.recall_ci_lo_rate is None, "one question says nothing about spread"
    none_came_back = arm_retrievals(ARMS, answers=[gone], required=REQUIRED)["docs"]
    assert (none_came_back.questions, none_came_back.retrieved, none_came_back.kept) == (3, None, None)


def test_an_answer_that_failed_after_its_retrieval_counts():
    row = retrieving(0, "ab", "ab").with_changes(state="failed", answer=None, reason="generation_failed: timeout: no reply")
    assert arm_retrievals(ARMS, answers=[row], required=REQUIRED)["docs"].retrieved.measured == 1


def test_draws_share_one_retrieval():
    answers = [retrieving(0, "ab", "ab", draw=draw) for draw in range(3)]
    assert arm_retrievals(ARMS, answers=answers, required=REQUIRED)["docs"].retrieved.measured == 1


def test_two_sources_in_one_arm_are_measured_together():
    first, second = retrieving(0, "xa", "x"), retrieving(0, "by", "b")
    both = first.with_changes(
        context_chunks=(*first.context_chunks, *second.context_chunks),
        metadata={"arm_kind": "combined", "treatments": [first.metadata, second.metadata]},
    )
    docs = arm_retrievals(ARMS, answers=[both], required=REQUIRED)["docs"]
    assert (docs.retrieved.k, docs.retrieved.mean_recall_rate) == (10, 1.0)
    assert (docs.kept.k, docs.kept.mean_recall_rate) == (6, 0.5)


def test_the_summary_holds_it_and_clusters_widen_its_interval():
    answers = [retrieving(number, "axyzv" if number < 6 else "vwxyz", "ax" if number < 6 else "vw") for number in range(12)]
    fields = {
        "arms": ["docs"],
        "baseline_arm": "docs",
        "question_ids": [question_id(number) for number in range(12)],
        "answers": answers,
        "required_documents": {question_id(number): {"a"} for number in range(12)},
    }
    labels = {question_id(number): f"page {number // 3}" for number in range(12)}
    plain = summarise_arms(**fields).retrieval["docs"].retrieved
    clustered = summarise_arms(**fields, clusters=QuestionClusters(field="page", labels=labels)).retrieval["docs"].retrieved
    assert plain.mean_recall_rate == clustered.mean_recall_rate == 0.5
    assert clustered.recall_ci_lo_rate < plain.recall_ci_lo_rate
    assert plain.hit_ci_lo_rate is not None
    assert clustered.hit_ci_lo_rate is None, "Wilson's interval supposes independent questions"
