import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.retrieval.lexical import LexicalIndex, lexical_score, word_tokens

WORDS = st.text(alphabet="abA_1é İß.-\n", max_size=12)


@pytest.mark.parametrize(
    ("query", "text", "score"),
    [
        ("map", "Mapping basics", 1.0),
        ("map tiles", "Mapping basics", 0.5),
        ("alpha, alpha! x_gam", "ALPHAS", 0.5),
        ("a", "", 0.0),
        ("?! --", "anything", 0.0),
        ("", "anything", 0.0),
        ("éa alpha", "alpha beta", 0.5),
        ("alpha beta gam", "ALPHAS _gam x", 2 / 3),
    ],
)
def test_the_score_is_the_share_of_distinct_query_words_found_anywhere_in_the_text(query, text, score):
    assert lexical_score(query, text) == score


def test_words_are_distinct_lower_case_and_in_order():
    assert word_tokens("Beta alpha-BETA_2 beta") == ["beta", "alpha", "beta_2"]


@given(st.lists(WORDS, max_size=6), WORDS)
def test_the_index_scores_exactly_as_the_plain_rule(texts, query):
    assert LexicalIndex(texts).scores(query) == [lexical_score(query, text) for text in texts]


@given(st.lists(st.text(max_size=20), max_size=5), st.text(max_size=20))
def test_the_index_agrees_with_the_plain_rule_on_any_characters(texts, query):
    assert LexicalIndex(texts).scores(query) == [lexical_score(query, text) for text in texts]


@given(st.lists(WORDS, min_size=1, max_size=5), st.lists(WORDS, min_size=2, max_size=4))
def test_earlier_queries_do_not_change_later_scores(texts, queries):
    index = LexicalIndex(texts)
    for query in [*queries, *queries]:
        assert index.scores(query) == [lexical_score(query, text) for text in texts]
