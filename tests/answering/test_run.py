"""Answering a cell: one row for everything that was to be asked, whatever became of it."""

import asyncio

import pytest

from evalplatform.answering.records import ArmAnswer
from evalplatform.answering.run import AnswerPlan, AnswerSheet, answer_cell
from evalplatform.arms.treatment import AgentConfig
from evalplatform.kernel.digests import EMPTY_TEXT_DIGEST, text_digest
from evalplatform.kernel.errors import (
    BudgetExhaustedError,
    CircuitOpenError,
    DeferredError,
    FatalCallError,
    RetryableCallError,
    UnusableReplyError,
)
from evalplatform.kernel.material import JudgeMaterial
from evalplatform.kernel.usage import Usage
from evalplatform.ports.documents import Chunk
from evalplatform.ports.model_client import Sampling
from evalplatform.questions.records import Question
from tests.answering.answering_doubles import Adds, Ending, ScriptedAsker, reply

TREATED = AgentConfig(
    system_prompt="Be terse.",
    contexts=("Alpha.", "", "Beta."),
    chunks=(Chunk(source="a.md", text="x" * 201, relevance=0.5),),
    material=JudgeMaterial(injected="Alpha.", reference="more.md"),
    metadata={"arm_kind": "test"},
)


def plan(*questions: str, draws: int = 1, concurrency: int = 1, sampling: Sampling | None = None) -> AnswerPlan:
    asked = tuple(Question(id=f"q{number}", question=text) for number, text in enumerate(questions))
    return AnswerPlan(provider="p", model="m", questions=asked, draws=draws, concurrency=concurrency, sampling=sampling or Sampling())


def sheet(asked: AnswerPlan, asker: ScriptedAsker, **arms: Adds) -> AnswerSheet:
    return asyncio.run(answer_cell(asked, treatments=list(arms.items()), asker=asker))


def only(ending: Ending) -> ArmAnswer:
    (answer,) = sheet(plan("Why?"), ScriptedAsker(otherwise=ending), treated=Adds(TREATED)).answers
    return answer


def test_an_answered_row_holds_the_answer_what_it_cost_and_the_digests_of_what_was_sent() -> None:
    answer = only(reply("Because."))
    assert (answer.state, answer.answer, answer.reason) == ("answered", "Because.", None)
    assert (answer.usage, answer.cost_usd, answer.calls) == (Usage(prompt_tokens=10, completion_tokens=5), 0.25, 1)
    assert answer.context_digest == text_digest("Alpha.\n\n---\n\nBeta.")
    assert answer.system_prompt_digest == text_digest("Be terse.")
    assert answer.material_digest == TREATED.material.digest
    assert answer.used_system_prompt
    assert answer.metadata == {"arm_kind": "test"}
    (chunk,) = answer.context_chunks
    assert (chunk.source, chunk.snippet, chunk.relevance_score) == ("a.md", "x" * 200 + "…", 0.5)


@pytest.mark.parametrize(
    ("ending", "state", "reason"),
    [
        (reply("", "length"), "no_answer", "no_answer:budget"),
        (reply(" \n\t", "length"), "no_answer", "no_answer:budget"),
        (reply("", "content_filter"), "no_answer", "no_answer:filtered"),
        (reply("", "stop"), "no_answer", "no_answer:empty"),
        (reply("", "other"), "no_answer", "no_answer:empty"),
        (FatalCallError("auth", "Wrong key."), "failed", "generation_failed: auth: Wrong key."),
        (RetryableCallError("timeout", "No reply."), "failed", "generation_failed: timeout: No reply."),
        (UnusableReplyError("no_choices", "No choices."), "failed", "generation_failed: no_choices: No choices."),
        (BudgetExhaustedError("Spent."), "failed", "not_asked: budget_exhausted"),
        (CircuitOpenError("Open."), "failed", "not_asked: circuit_open"),
        (DeferredError("Later."), "failed", "not_asked: deferred"),
    ],
)
def test_what_is_no_answer_is_a_row_with_a_reason_and_never_an_empty_answer(ending: Ending, state: str, reason: str) -> None:
    answer = only(ending)
    assert (answer.state, answer.answer, answer.reason) == (state, None, reason)
    assert answer.request_digest is not None
    assert answer.material_digest == TREATED.material.digest  # the material is kept whatever became of the call
    if state == "failed":
        assert (answer.usage, answer.cost_usd, answer.calls) == (Usage(), None, 0)
    else:
        assert (answer.cost_usd, answer.calls) == (0.25, 1)  # an empty reply was paid for


def test_a_cut_answer_with_text_is_an_answer() -> None:
    assert only(reply("Half a sen", "length")).state == "answered"


def test_a_treatment_that_cannot_be_prepared_costs_its_own_rows_and_stores_no_material() -> None:
    asker = ScriptedAsker()
    done = sheet(plan("Why?", draws=2), asker, broken=Adds(fails=True), baseline=Adds())
    broken, healthy = done.answers[:2], done.answers[2:]
    for draw, answer in enumerate(broken):
        assert (answer.draw, answer.state, answer.calls) == (draw, "failed", 0)
        assert answer.reason == "prepare_failed: retrieval_failed: the source went away."
        assert (answer.material_digest, answer.context_digest, answer.request_digest) == (None, None, None)
        assert answer.metadata == {"arm_kind": "test", "error": "retrieval_failed"}
    assert [answer.state for answer in healthy] == ["answered", "answered"]
    assert len(asker.asked) == 2
    assert not done.is_complete


def test_rows_stand_in_the_order_question_arm_draw_whatever_the_concurrency() -> None:
    done = sheet(plan("A?", "B?", draws=2, concurrency=7), ScriptedAsker(), one=Adds(), two=Adds(TREATED))
    order = [(answer.question_id, answer.arm, answer.draw) for answer in done.answers]
    assert order == [(question, arm, draw) for question in ("q0", "q1") for arm in ("one", "two") for draw in (0, 1)]
    assert [(timing.question_id, timing.arm, timing.draw) for timing in done.timings] == order


def test_a_stop_asks_nothing_more_and_keeps_what_was_finished() -> None:
    asker = ScriptedAsker({"B?": BudgetExhaustedError("Spent.")})
    done = sheet(plan("A?", "B?", "C?", draws=2), asker, baseline=Adds())
    assert [answer.state for answer in done.answers] == ["answered"] * 2 + ["failed"] * 4
    assert {answer.reason for answer in done.answers[2:]} == {"not_asked: budget_exhausted"}
    assert [request.messages[-1].content.split()[1] for request, _ in asker.asked] == ["A?", "A?", "B?"]
    assert isinstance(done.stopped, BudgetExhaustedError)
    assert not done.is_complete


def test_a_run_without_failures_is_complete_and_an_empty_reply_is_none() -> None:
    done = sheet(plan("A?", "B?"), ScriptedAsker({"B?": reply("", "length")}), baseline=Adds())
    assert done.is_complete
    assert done.stopped is None


def test_arms_that_send_the_same_request_are_marked_per_draw_and_others_are_not() -> None:
    done = sheet(plan("Why?", draws=2), ScriptedAsker(), baseline=Adds(), empty_docs=Adds(), treated=Adds(TREATED))
    assert {(answer.arm, answer.same_call) for answer in done.answers} == {("baseline", True), ("empty_docs", True), ("treated", False)}


def test_two_draws_of_one_request_are_not_the_same_call() -> None:
    done = sheet(plan("Why?", draws=3), ScriptedAsker(), baseline=Adds())
    assert not any(answer.same_call for answer in done.answers)
    assert len({answer.request_digest for answer in done.answers}) == 1


def test_every_text_is_kept_once_by_its_digest() -> None:
    done = sheet(plan("A?", "B?", "C?"), ScriptedAsker(), one=Adds(TREATED), two=Adds(TREATED), baseline=Adds())
    assert all(text_digest(text) == digest for digest, text in done.texts.items())
    assert set(done.texts.values()) == {"", "Be terse.", "Alpha.\n\n---\n\nBeta.", TREATED.material.text}
    assert {answer.material_digest for answer in done.answers if answer.arm == "baseline"} == {EMPTY_TEXT_DIGEST}


def test_a_context_over_the_limit_is_cut_and_the_cut_recorded() -> None:
    long = AgentConfig(contexts=("x" * 9_000, "y" * 9_000), metadata={"arm_kind": "test"})
    done = sheet(plan("Why?"), ScriptedAsker(), long=Adds(long), short=Adds(AgentConfig(contexts=("x" * 15_000,))))
    cut, uncut = done.answers
    assert len(done.texts[cut.context_digest or ""]) == 15_000
    assert cut.metadata == {"arm_kind": "test", "context_truncated": True, "context_chars": 15_000, "context_chars_source": 18_007}
    assert uncut.metadata == {}


@pytest.mark.parametrize("replayed", [True, False])
def test_timings_say_how_long_the_call_took_and_whether_it_was_replayed(replayed: bool) -> None:
    done = sheet(plan("A?"), ScriptedAsker(replayed=replayed), baseline=Adds(), broken=Adds(fails=True))
    answered, failed = done.timings
    assert (answered.latency_seconds, answered.replayed) == (0.5, replayed)
    assert (failed.latency_seconds, failed.time_to_first_token_seconds, failed.replayed) == (None, None, False)
