"""Which names mean one model."""

import pytest

from evalplatform.kernel.model_names import base_model_name, same_model


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o", "GPT-4o "),
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("gpt-4o", "openai:gpt-4o"),
        ("gpt-4o", "openai/gpt-4o"),
        ("gpt-4o", "openrouter:openai/gpt-4o:extended"),
        ("gpt-4.1", "openai/gpt-4.1-2025-04-14"),
        ("llama-3", "meta/llama-3:free"),
        ("llama-3", "groq:meta/llama-3"),
        ("llama3:8b", "ollama/llama3:8b"),
        ("llama3:8b", "ollama:llama3:8b"),
        ("llama3", "llama3:latest"),
        ("mistral-large", "mistral:mistral-large-latest"),
        ("claude-sonnet-4", "us.anthropic.claude-sonnet-4"),
        ("claude-sonnet-4", "anthropic.claude-sonnet-4-20250514-v1:0"),
        ("claude-sonnet-4", "us-gov.anthropic.claude-sonnet-4-20250514-v1:0"),
        ("claude-sonnet-4", "bedrock/eu.anthropic.claude-sonnet-4-20250514-v1:0"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet@20240620"),
        ("gemini-2.5-pro", "publishers/google/models/gemini-2.5-pro"),
        ("amazon.nova-pro-v1:0", "us.amazon.nova-pro-v1:0"),
    ],
)
def test_spellings_of_one_model_are_the_same(one: str, other: str) -> None:
    assert same_model(one, other)
    assert same_model(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gpt-4o", "gpt-4o-mini"),
        ("gpt-4o", "gpt-4"),
        ("gpt-4.1", "gpt-4.5"),
        ("llama3:8b", "llama3:70b"),
        ("llama3:8b-instruct-q4", "llama3:70b-instruct-q4"),
        ("mistral:7b", "qwen:7b"),
        ("mistral:latest", "qwen:latest"),
        ("gemma3n:e2b", "gemma3n:e4b"),
        ("claude-3-opus-20240229", "claude-3-haiku-20240307"),
        ("anthropic.claude-v2", "anthropic.claude-instant"),
        ("model-2024", "model-2025"),
        ("model-19991231", "model"),
        ("openai", "anthropic"),
        ("ft:gpt-4o:mine::a1", "gpt-4o"),
        ("ft:gpt-4o:mine::a1", "ft:gpt-4o:mine::b2"),
        ("openai/a", "openai/b"),
    ],
)
def test_other_models_are_not_the_same(one: str, other: str) -> None:
    assert not same_model(one, other)
    assert not same_model(other, one)


@pytest.mark.parametrize("name", ["/", "a/", ":", "-20240101", "openai.", "us.", ":free"])
def test_a_name_that_is_nothing_but_what_is_left_out_stays_itself(name: str) -> None:
    assert base_model_name(name) == name
