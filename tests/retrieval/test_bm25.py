import bm25s
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.retrieval.bm25 import Bm25Index, bm25_terms

WORDS = st.sampled_from(["red", "blue", "green", "fox", "hen", "the"])
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), min_size=1, max_size=8)


def test_terms_fold_case_keep_identifiers_whole_and_take_han_characters_one_by_one() -> None:
    assert bm25_terms("Use S3_Bucket, not STRASSE/straße! 数据") == ["use", "s3_bucket", "not", "strasse", "strasse", "数", "据"]


def test_a_text_that_shares_no_term_is_never_a_hit() -> None:
    index = Bm25Index(["red fox", "", "blue hen"])
    assert [hit.position for hit in index.search("hen")] == [2]
    assert index.search("owl") == []
    assert index.search("") == []


def test_a_term_that_every_text_holds_still_scores_above_zero() -> None:
    assert all(hit.score > 0 for hit in Bm25Index(["the fox", "the hen"]).search("the"))


def test_equal_scores_come_in_the_order_of_the_texts() -> None:
    index = Bm25Index(["hen one", "fox two", "hen two", "hen six"])
    assert [hit.position for hit in index.search("hen")] == [0, 2, 3]


def test_limit_keeps_the_best() -> None:
    index = Bm25Index(["hen", "hen fox", "fox owl cat"])
    assert [hit.position for hit in index.search("hen fox", limit=1)] == [1]
    assert len(index) == 3


def test_an_empty_index_has_no_hits() -> None:
    assert Bm25Index([]).search("hen") == []


@given(texts=TEXTS, query=st.lists(WORDS, min_size=1, max_size=5).map(" ".join))
def test_hits_are_exactly_the_texts_that_share_a_term_best_first(texts: list[str], query: str) -> None:
    hits = Bm25Index(texts).search(query)
    sharing = {position for position, text in enumerate(texts) if set(text.split()) & set(query.split())}
    assert {hit.position for hit in hits} == sharing
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.position))


@given(texts=TEXTS.filter(lambda texts: any(texts)), query=st.lists(WORDS, min_size=1, max_size=4, unique=True))
def test_scores_agree_with_bm25s_in_its_lucene_variant(texts: list[str], query: list[str]) -> None:
    vocabulary = sorted({word for text in texts for word in text.split()})
    known = [word for word in query if word in vocabulary]
    oracle = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    oracle.index([text.split() for text in texts], show_progress=False)
    expected = oracle.get_scores(known) if known else [0.0] * len(texts)
    scores = {hit.position: hit.score for hit in Bm25Index(texts).search(" ".join(query))}
    assert [scores.get(position, 0.0) for position in range(len(texts))] == pytest.approx(list(expected), rel=1e-5, abs=1e-7)
