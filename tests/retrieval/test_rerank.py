import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.ports.documents import Chunk
from evalplatform.retrieval.rerank import KEPT_CHUNKS, length_score, rerank, rerank_score


@pytest.mark.parametrize(
    ("question", "text", "score"),
    [
        ("alpha beta", "alpha", 0.32),
        ("alpha beta of", "alpha of", 0.32),
        ("alpha alpha beta", "alpha", 0.32),
        ("alpha-beta gamma", "alpha", 0.22),
        ("alpha", "alphas", 0.02),
        ("Alpha_beta gamma", "ALPHA_BETA x", 0.32),
        ("function", "function", 0.82),
        ("zzz class", "yyy template", 0.22),
        ("zzz class", "yyy std::sort", 0.22),
        ("zzz classes", "yyy subclass", 0.02),
        ("a b", "abc a b", 0.0),
        ("100 alpha", "alpha 1alpha", 0.62),
        ("1alpha beta", "alpha", 0.02),
        ("élan vital", "élan", 0.32),
        ("", "abc", 0.0),
    ],
)
def test_shared_words_length_and_code_make_the_score(question, text, score):
    assert rerank_score(question, text) == pytest.approx(score)


@pytest.mark.parametrize(
    ("chars", "score"),
    [(0, 0.1), (99, 0.1), (100, 1 / 6), (200, 1 / 3), (299, 299 / 600), (300, 0.5), (650, 0.75), (1_000, 1.0), (32_000, 1.0)],
)
def test_longer_texts_are_favoured_up_to_a_thousand_characters(chars, score):
    assert length_score(chars) == pytest.approx(score)


def chunks(*texts: str) -> list[Chunk]:
    return [Chunk(source=str(place), text=text, relevance=0.5) for place, text in enumerate(texts)]


def test_the_best_three_that_pass_are_kept_and_equal_ones_stay_in_order():
    kept = rerank("alpha beta", chunks("alpha", "zzz", "beta", "alpha beta", "alpha"), threshold=0.3)
    assert [(chunk.source, round(chunk.relevance, 2)) for chunk in kept] == [("3", 0.62), ("0", 0.32), ("2", 0.32)]


def test_a_score_at_the_threshold_passes():
    [score] = {chunk.relevance for chunk in rerank("alpha", chunks("alpha"), threshold=0)}
    assert len(rerank("alpha", chunks("alpha"), threshold=score)) == 1


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=6), st.floats(min_value=0, max_value=1))
def test_scores_stay_between_0_and_1_and_nothing_below_the_threshold_is_kept(question, texts, threshold):
    kept = rerank(question, chunks(*texts), threshold=threshold)
    scores = [chunk.relevance for chunk in kept]
    assert len(kept) <= KEPT_CHUNKS
    assert scores == sorted(scores, reverse=True)
    assert all(threshold <= score <= 1 for score in scores)
