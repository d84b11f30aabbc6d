"""How the factors of a run's identity are put together, in one place: a file and stored artifacts of one run must say the same."""

from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from evalplatform.kernel.digests import json_digest, text_digest

RECORD_SEPARATOR = "\x1e"
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
    return text_digest(RECORD_SEPARATOR.join(texts))  # in one go: a digest a text takes as long as reading all else of a large file


def config_without_seed(run_config: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Return the sampling and limits of a run without its seed, which asks for other samples of the same thing; None where none is said.

    Two ways to write one setting become one: what is null is not set and is left out, and a whole number is an int.
    """
    if not run_config:
        return None
    return {name: _one_spelling(value) for name, value in run_config.items() if name != "seed" and value is not None}


def retrieval_settings(*, top_k: int | None, rerank_threshold: float | None, reranker: str | None) -> dict[str, JsonValue] | None:
    """Return how documents were chosen; None where the run says nothing of it."""
    settings: dict[str, JsonValue] = {"top_k": top_k, "rerank_threshold": rerank_threshold, "reranker": reranker}
    return settings if any(value is not None for value in settings.values()) else None


def profile_prompts(metadata: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the profile digests that one answer carries, sorted: at the top of its metadata, and in a combined arm's treatments."""
    return tuple(sorted(_profile_digests(metadata)))


def _one_spelling(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _one_spelling(inner) for name, inner in value.items()}
    return value


def _profile_digests(metadata: Mapping[str, JsonValue]) -> Iterator[str]:
    treatments = metadata.get("treatments")
    for one in (metadata, *(treatments if isinstance(treatments, list) else ())):
        if isinstance(one, dict) and isinstance(digest := one.get("profile_prompt_sha256"), str):
            yield digest
