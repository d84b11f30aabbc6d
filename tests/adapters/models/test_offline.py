import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.adapters.models.offline import ExtractiveReader, extract, read_prompt
from evalplatform.kernel.errors import FatalCallError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import Message, ModelReply, ModelRequest, Sampling

CONTEXT = """# Retention

Backups are kept for 30 days. Snapshots are kept for 7 days.
Nothing else is said here!

- `vacuum` removes old snapshots
"""


def ask(content: str, *, model: str = "extractive", before: tuple[Message, ...] = (), **sampling: int | float) -> ModelReply:
    request = ModelRequest(
        provider="offline",
        model=model,
        messages=(*before, Message(role="user", content=content)),
        sampling=Sampling.model_validate(sampling),
    )
    return asyncio.run(ExtractiveReader().complete(request))


def prompt(question: str, context: str | None = None) -> str:
    asked = f"Question: {question}\n\nAnswer directly."
    return asked if context is None else f"Use what helps.\n\n<context>\n{context}\n</context>\n\n{asked}"


def test_the_answer_is_the_sentences_that_share_words_with_the_question_in_reading_order() -> None:
    reply = ask(prompt("How long are snapshots kept, and by what does vacuum go?", CONTEXT))
    assert reply.text == "Backups are kept for 30 days.\nSnapshots are kept for 7 days.\n- `vacuum` removes old snapshots"
    assert (reply.finish_reason, reply.model_returned, reply.latency_seconds) == ("stop", "offline:extractive", 0.0)


def test_other_context_gives_another_answer() -> None:
    question = "How long are snapshots kept?"
    assert ask(prompt(question, "Snapshots stay 7 days.")).text != ask(prompt(question, "Snapshots stay 9 days.")).text


def test_without_context_the_question_is_restated() -> None:
    assert ask(prompt("How long are snapshots kept?")).text == "How long are snapshots kept?"


def test_context_that_shares_no_word_with_the_question_earns_the_same_floor() -> None:
    assert ask(prompt("Who pays?", CONTEXT)).text == "Who pays?"


def test_the_best_sentences_that_fit_the_token_limit_are_kept() -> None:
    assert ask(prompt("snapshots kept", CONTEXT), max_tokens=6).text == "Snapshots are kept for 7 days."
    cut = ask(prompt("snapshots kept", CONTEXT), max_tokens=3)
    assert (cut.text, cut.finish_reason) == ("Snapshots are kept", "length")


def test_an_unset_limit_is_120_words() -> None:
    lines = "\n".join(f"hen number {number} lays eggs daily" for number in range(100))
    assert ask(prompt("Which hen?", lines)).usage.completion_tokens == 120


def test_usage_counts_words() -> None:
    reply = ask("Question: Who pays?\n\nAnswer.", before=(Message(role="system", content="Be brief."),))
    assert reply.usage == Usage(prompt_tokens=6, completion_tokens=2)


def test_a_system_prompt_and_earlier_turns_are_read_like_context() -> None:
    before = (
        Message(role="system", content="Snapshots live seven days."),
        Message(role="user", content="Question: And backups?"),
        Message(role="assistant", content="Backups live a month."),
    )
    assert ask(prompt("How long do snapshots and backups live?"), before=before).text.splitlines() == [
        "Snapshots live seven days.",
        "Question: And backups?",
        "Backups live a month.",
    ]


def test_words_that_only_ask_choose_no_sentence() -> None:
    assert ask(prompt("What is the vacuum for?", "It is what it is, for the world.\nA vacuum cleans.")).text == "A vacuum cleans."


def test_a_question_of_asking_words_alone_still_finds_something() -> None:
    assert ask(prompt("What is it?", "It is here.\nNo.")).text == "It is here."


def test_a_sentence_that_two_chunks_repeat_is_said_once() -> None:
    assert ask(prompt("hens", "Hens lay.\n\n---\n\nHens lay.")).text == "Hens lay."


@pytest.mark.parametrize(
    ("content", "question", "context"),
    [
        ("Just this, no markers?", "Just this, no markers?", ""),
        ("Question: one\nQuestion: two\nlines\n\ntask", "two\nlines", ""),
        ("Question: crlf?\r\n\r\ntask", "crlf?", ""),
        ("<context>\nQuestion: not this\n</context>\n\nQuestion: this\n\ntask", "this", "Question: not this"),
        ("<context>\na </context> tag\n</context>\n\nQuestion: q", "q", "a </context> tag"),
        ("Read this.\n<context>\nfacts\n</context>\nWhat then?", "Read this.\nWhat then?", "facts"),
        ("<context>\n</context>\n\nQuestion: q", "q", ""),
        ("</context> before <context>", "</context> before <context>", ""),
    ],
)
def test_the_question_and_the_context_are_found_with_and_without_markers(content: str, question: str, context: str) -> None:
    assert read_prompt([Message(role="user", content=content)]) == (question, context)


def test_a_conversation_without_a_user_asks_by_its_last_message() -> None:
    assert read_prompt([Message(role="system", content="Facts."), Message(role="assistant", content="And?")]) == ("And?", "Facts.")


def test_another_model_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(FatalCallError, match="Did you mean 'extractive'") as caught:
        ask("q", model="extractiv")
    assert caught.value.reason == "not_found"


@given(question=st.text(max_size=60), context=st.text(max_size=300), limit=st.integers(1, 40))
def test_an_answer_holds_at_most_the_limit_is_repeatable_and_says_nothing_of_its_own(question: str, context: str, limit: int) -> None:
    asked = read_prompt([Message(role="user", content=prompt(question, context))])
    text, _ = extract(asked, limit_words=limit)
    assert (text, _) == extract(asked, limit_words=limit)
    assert len(text.split()) <= limit
    assert set(text.split()) <= set(asked.question.split()) | set(asked.context.split()) | set(_split_at_ends(asked.context))


def _split_at_ends(context: str) -> list[str]:
    for end in "。！？":
        context = context.replace(end, end + " ")
    return context.split()


@given(seed=st.integers(-(2**63), 2**63 - 1), temperature=st.floats(0, 2))
def test_seed_and_temperature_change_nothing(seed: int, temperature: float) -> None:
    asked = prompt("How long are snapshots kept?", CONTEXT)
    assert ask(asked, seed=seed, temperature=temperature) == ask(asked)
