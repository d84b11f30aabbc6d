"""What is recorded of a retrieval comes back from the metadata, alone or inside a combined arm."""

import pytest

from evalplatform.ports.documents import Chunk
from evalplatform.retrieval.recorded import RecordedRetrieval, recorded_retrievals, retrieval_record

FOUND = [Chunk(source=f"cards/{name}.md", text=name, relevance=0.5) for name in ("b", "a")]
RECORD = RecordedRetrieval(sources=("cards/b.md", "cards/a.md"), top_k=5)


def test_what_was_retrieved_comes_back_in_rank_order():
    assert recorded_retrievals({"arm_kind": "docs", **retrieval_record(FOUND, top_k=5)}) == (RECORD,)


def test_a_retrieval_that_found_nothing_is_still_on_record():
    assert recorded_retrievals(retrieval_record([], top_k=5)) == (RecordedRetrieval(sources=(), top_k=5),)


def test_every_retrieving_part_of_a_combined_arm_is_found():
    parts = [{"name": "docs", **retrieval_record(FOUND, top_k=5)}, {"name": "skill:x"}, {"name": "docs", **retrieval_record([], top_k=2)}]
    assert recorded_retrievals({"arm_kind": "combined", "treatments": parts}) == (RECORD, RecordedRetrieval(sources=(), top_k=2))


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"retrieved_sources": ["a"]},
        {"retrieved_sources": "a", "top_k": 5},
        {"retrieved_sources": ["a", 1], "top_k": 5},
        {"retrieved_sources": ["a"], "top_k": 0},
        {"treatments": "docs"},
    ],
)
def test_metadata_of_another_shape_is_no_record(metadata):
    assert recorded_retrievals(metadata) == ()
