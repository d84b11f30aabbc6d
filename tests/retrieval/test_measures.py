import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.errors import InputError
from evalplatform.retrieval.measures import RetrievedDocuments, document_id, hit_at_k, recall_at_k, retrieval_measures

IDS = st.sampled_from("abcdefgh")


@pytest.mark.parametrize(
    ("retrieved", "required", "k", "recall", "hit"),
    [
        (["a", "x", "b"], {"a", "b"}, 2, 0.5, True),
        (["a", "x", "b"], {"a", "b"}, 3, 1.0, True),
        (["x", "y"], {"a"}, 5, 0.0, False),
        (["a", "a", "b"], {"a", "b"}, 2, 0.5, True),
        (["a"], {"a", "b", "c", "d"}, 1, 0.25, True),
        ([], {"a"}, 3, 0.0, False),
    ],
)
def test_recall_counts_required_documents_among_the_first_k(retrieved, required, k, recall, hit):
    assert recall_at_k(retrieved, required, k=k) == recall
    assert hit_at_k(retrieved, required, k=k) is hit


def test_a_question_that_requires_nothing_is_not_measured():
    assert recall_at_k(["a"], set(), k=3) is None
    assert hit_at_k(["a"], set(), k=3) is None


def test_k_below_one_is_refused_even_without_rows():
    with pytest.raises(InputError, match="k is 0"):
        recall_at_k(["a"], {"a"}, k=0)
    with pytest.raises(InputError, match="k is 0"):
        retrieval_measures([], k=0)


def test_rates_average_over_questions_that_require_documents():
    rows = [
        RetrievedDocuments(retrieved=("a", "b"), required=frozenset({"a"})),
        RetrievedDocuments(retrieved=("x", "b"), required=frozenset({"a", "b", "c", "d"})),
        RetrievedDocuments(retrieved=("x",), required=frozenset({"a"})),
        RetrievedDocuments(retrieved=("x",), required=frozenset()),
    ]
    measures = retrieval_measures(rows, k=2)
    assert (measures.questions, measures.measured) == (4, 3)
    assert measures.mean_recall_rate == pytest.approx((1 + 0.25 + 0) / 3)
    assert measures.hit_rate == pytest.approx(2 / 3)
    assert measures.hits == 2
    assert measures.best_recall_rate == pytest.approx((1 + 0.5 + 1) / 3), "no two documents can be four"


def test_rates_of_no_measured_question_are_unknown_not_zero():
    measures = retrieval_measures([RetrievedDocuments(retrieved=("a",), required=frozenset())], k=3)
    assert measures.mean_recall_rate is None
    assert measures.hit_rate is None
    assert measures.best_recall_rate is None
    assert (measures.recall_ci_lo_rate, measures.hit_ci_lo_rate) == (None, None)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("gold_001.md", "gold_001"),
        ("cards/gold_001.md", "gold_001"),
        ("a.b.md", "a.b"),
        ("accounts_(general)_001.md", "accounts_(general)_001"),
    ],
)
def test_a_chunk_source_names_its_document(source, expected):
    assert document_id(source) == expected


@given(st.lists(IDS), st.sets(IDS, min_size=1), st.integers(1, 10))
def test_more_ranks_never_lower_recall(retrieved, required, k):
    fewer, more = recall_at_k(retrieved, required, k=k), recall_at_k(retrieved, required, k=k + 1)
    assert 0 <= fewer <= more <= 1
    assert hit_at_k(retrieved, required, k=k) == (fewer > 0)
