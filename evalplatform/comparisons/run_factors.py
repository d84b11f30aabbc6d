"""How the factors of a run's identity are put together, in one place: a file and stored artifacts of one run must say the same."""

from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from evalplatform.kernel.digests import json_digest, text_digest

TREATMENT_INPUT = "treatment:"
"""How the named input of something that an arm can inject begins: `treatment:ARM/NAME`."""


def arm_content_digests(arms: Iterable[str], inputs: Mapping[str, str]) -> dict[str, str] | None:
    """Return one digest an arm of all that it can inject, from the named inputs of the answers; None where none are named."""
    if not inputs:
        return None
    by_arm = {arm: {name: digest for name, digest in inputs.items() if name.startswith(f"{TREATMENT_INPUT}{arm}/")} for arm in arms}
    return {arm: json_digest(digests) for arm, digests in by_arm.items()}


def question_texts_digest(texts: Iterable[str]) -> str:
    """Return one digest of the questions' texts, in the order of the run."""
    return json_digest([text_digest(text) for text in texts])


def config_without_seed(run_config: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Return the sampling and limits of a run without its seed, which asks for other samples of the same thing; None where none is said."""
    return {name: value for name, value in run_config.items() if name != "seed"} or None


def retrieval_settings(*, top_k: int | None, rerank_threshold: float | None, reranker: str | None) -> dict[str, JsonValue] | None:
    """Return how documents were chosen; None where the run says nothing of it."""
    settings: dict[str, JsonValue] = {"top_k": top_k, "rerank_threshold": rerank_threshold, "reranker": reranker}
    return settings if any(value is not None for value in settings.values()) else None


def profile_digests(metadata: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yield the profile digests of an answer: at the top of its metadata, and one level down in a combined arm's treatments."""
    treatments = metadata.get("treatments")
    for one in (metadata, *(treatments if isinstance(treatments, list) else ())):
        if isinstance(one, dict) and isinstance(digest := one.get("profile_prompt_sha256"), str):
            yield digest
