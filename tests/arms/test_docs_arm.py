import asyncio
from pathlib import Path

import pytest

from evalplatform.arms.build import ArmBuildContext, build_treatment
from evalplatform.arms.treatment import AgentConfig
from evalplatform.kernel.errors import ArmSpecError, RetrievalError
from evalplatform.kernel.material import SEPARATOR
from evalplatform.questions.records import Question
from tests.support.documents import ScriptedSource

QUESTION = Question(id="q1", question="alpha beta")


def opened(source: ScriptedSource, **known: object) -> tuple[dict[str, str], AgentConfig]:
    context = ArmBuildContext(base_folder=Path(), open_document_source=lambda spec: source, **known)
    treatment = build_treatment("docs:local:d", context=context)

    async def run() -> tuple[dict[str, str], AgentConfig]:
        try:
            return await treatment.open(), await treatment.prepare(QUESTION)
        finally:
            await treatment.aclose()

    return asyncio.run(run())


def test_chunks_are_reranked_the_best_three_injected_and_all_of_it_recorded():
    source = ScriptedSource(["zzz", "alpha", "alpha beta", "beta", "beta alpha", "alpha beta too late"])
    _, config = opened(source)
    assert config.contexts == ("alpha beta", "beta alpha", "alpha")
    assert [(chunk.source, round(chunk.relevance, 2)) for chunk in config.chunks] == [("page-2", 0.62), ("page-4", 0.62), ("page-1", 0.32)]
    assert config.material.text == SEPARATOR.join(config.contexts)
    assert config.metadata == {
        "arm_kind": "docs",
        "top_k": 5,
        "retrieved_sources": ["page-0", "page-1", "page-2", "page-3", "page-4"],
        "raw_count": 5,
        "after_rerank": 3,
        "top_score": 0.62,
        "error": None,
        "document_source": "scripted",
        "reranker": "lexical-v1",
    }
    assert (source.queries, source.closed) == (["alpha beta"], 1)


@pytest.mark.parametrize("texts", [[], ["zzz"]])
def test_nothing_relevant_is_a_plain_prompt_and_no_error(texts):
    _, config = opened(ScriptedSource(texts))
    assert (config.contexts, config.chunks, config.material.text, config.system_prompt) == ((), (), "", None)
    assert (config.metadata["raw_count"], config.metadata["after_rerank"], config.metadata["top_score"]) == (len(texts), 0, None)


def test_the_threshold_decides_what_passes():
    source = ScriptedSource(["zzz", "alpha"])
    assert opened(source, rerank_threshold=0.0)[1].contexts == ("alpha", "zzz")
    assert opened(source, rerank_threshold=0.5)[1].contexts == ()


def test_documents_and_retrieval_settings_each_have_a_digest():
    one, _ = opened(ScriptedSource(["a"]))
    other_documents, _ = opened(ScriptedSource(["b"]))
    other_settings, _ = opened(ScriptedSource(["a"]), top_k=4)
    assert set(one) == {"documents", "retrieval"}
    assert (one["documents"] != other_documents["documents"], one["retrieval"] == other_documents["retrieval"]) == (True, True)
    assert (one["documents"] == other_settings["documents"], one["retrieval"] != other_settings["retrieval"]) == (True, True)


def test_a_source_that_dies_is_a_failure_and_never_an_unaided_answer():
    with pytest.raises(RetrievalError, match="went away") as failed:
        opened(ScriptedSource(["alpha"], fails_at_retrieve=True))
    assert failed.value.reason == "retrieval_failed"
    with pytest.raises(RetrievalError, match="is down"):
        opened(ScriptedSource(fails_at_open=True))


@pytest.mark.parametrize(
    ("spec", "opened_as"),
    [
        ("docs", "context7:/acme/widgets"),
        ("docs:context7", "context7:/acme/widgets"),
        ("docs:local:d", "local:d"),
        ("docs:handbook", "local:docs/handbook"),
        ("docs:service", "context7:/acme/widgets"),
    ],
)
def test_a_source_is_named_directly_or_by_the_products_own_name_for_it(spec, opened_as):
    asked = []

    def opener(source_spec: str) -> ScriptedSource:
        asked.append(source_spec)
        return ScriptedSource()

    context = ArmBuildContext(
        base_folder=Path(),
        open_document_source=opener,
        product="widgets",
        library_ids={"widgets": "/acme/widgets"},
        document_sources={"handbook": "local:docs/handbook", "service": "context7"},
    )
    build_treatment(spec, context=context)
    assert asked == [opened_as]


def test_the_service_is_refused_where_no_library_can_be_told():
    context = ArmBuildContext(base_folder=Path(), open_document_source=lambda spec: ScriptedSource(), product="widgets")
    with pytest.raises(ArmSpecError, match="neither registered nor qualified"):
        build_treatment("docs", context=context)
