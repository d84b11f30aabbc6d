"""What a model is sent, word for word; and from a stored answer back to exactly that."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.answering.prompts import ANSWER_PROMPT_DIGEST, answer_messages
from evalplatform.answering.run import AnswerPlan, answer_cell
from evalplatform.answering.trace import rebuilt_request
from evalplatform.arms.treatment import AgentConfig
from evalplatform.kernel.errors import DigestMismatchError, InputError
from evalplatform.ports.model_client import Sampling
from evalplatform.questions.records import Question
from tests.answering.answering_doubles import Adds, ScriptedAsker
from tests.support.snapshots import assert_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
PROMPTS = {
    "plain": {"context": "", "system_prompt": None},
    "context": {"context": "Alpha.\n\n---\n\nBeta.", "system_prompt": None},
    "system_prompt": {"context": "", "system_prompt": "Be terse."},
    "both": {"context": "Alpha.", "system_prompt": "Be terse."},
}


@pytest.mark.parametrize("name", PROMPTS)
def test_prompts_are_word_for_word_what_they_were(name: str) -> None:
    """A wanted change makes every stored answer stale: ANSWER_PROMPT_DIGEST below changes with it."""
    messages = answer_messages("How do I boil water?", **PROMPTS[name])  # type: ignore[arg-type]
    assert_snapshot(SNAPSHOTS / f"prompt_{name}.txt", "".join(f"[{message.role}]\n{message.content}\n" for message in messages))


def test_the_digest_of_the_wording_changes_only_on_purpose() -> None:
    assert ANSWER_PROMPT_DIGEST == "sha256:93daf045bc274c8b59b5d49d181727525ab43667c13c94d1ac478da6848a8e7c"


def test_the_context_stands_before_the_question_so_that_it_can_be_a_cache_prefix() -> None:
    one, other = (answer_messages(question, context="Alpha.", system_prompt=None)[0].content for question in ("A?", "B?"))
    prefix = one[: one.index("Question: ")]
    assert "Alpha." in prefix
    assert other.startswith(prefix)


TEXTS = st.text(st.characters(), max_size=20)


@given(
    question=st.text(min_size=1, max_size=20).filter(str.strip),  # the reader refuses half a surrogate pair in a question
    contexts=st.lists(TEXTS, max_size=3),
    system_prompt=st.none() | TEXTS,
    seed=st.none() | st.integers(0, 9),
    base_url=st.none() | st.just("http://localhost:1/v1"),
)
def test_a_stored_answer_gives_back_the_exact_request(
    question: str, contexts: list[str], system_prompt: str | None, seed: int | None, base_url: str | None
) -> None:
    plan = AnswerPlan(
        provider="p", base_url=base_url, model="m", sampling=Sampling(seed=seed), questions=(Question(id="q", question=question),), draws=2
    )
    asker = ScriptedAsker()
    config = AgentConfig(contexts=tuple(contexts), system_prompt=system_prompt)
    sheet = asyncio.run(answer_cell(plan, treatments=[("arm", Adds(config))], asker=asker))
    for answer, (sent, _) in zip(sheet.answers, asker.asked, strict=True):
        cell = {"provider": plan.provider, "model": plan.model, "base_url": plan.base_url, "sampling": plan.sampling}
        assert rebuilt_request(answer, question=question, texts=sheet.texts, **cell) == sent  # type: ignore[arg-type]


def test_another_question_cell_or_text_is_found_out() -> None:
    plan = AnswerPlan(provider="p", model="m", questions=(Question(id="q", question="Why?"),))
    sheet = asyncio.run(
        answer_cell(
            plan, treatments=[("arm", Adds(AgentConfig(contexts=("Alpha.",)))), ("broken", Adds(fails=True))], asker=ScriptedAsker()
        )
    )
    answer, broken = sheet.answers

    def rebuilt(*, question: str = "Why?", model: str = "m", texts: dict[str, str] | None = None) -> object:
        return rebuilt_request(
            answer,
            question=question,
            texts=sheet.texts if texts is None else texts,
            provider="p",
            model=model,
            base_url=None,
            sampling=Sampling(),
        )

    assert rebuilt()
    for changed in ({"question": "Why not?"}, {"model": "n"}):
        with pytest.raises(DigestMismatchError, match="is not the one that was sent"):
            rebuilt(**changed)
    with pytest.raises(DigestMismatchError):
        rebuilt(texts={answer.context_digest or "": "Beta."})
    with pytest.raises(InputError, match="is not kept beside the answers"):
        rebuilt(texts={})
    with pytest.raises(InputError, match=r"has no request: prepare_failed: retrieval_failed"):
        rebuilt_request(broken, question="Why?", texts={}, provider="p", model="m", base_url=None, sampling=Sampling())
