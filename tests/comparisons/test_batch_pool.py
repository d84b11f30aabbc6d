"""Pooling the files of a batch: which are refused, and which of their pairs depend on each other."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from evalplatform.comparisons.batch_pool import PairedArms, PooledDelta, cell_delta, pool
from evalplatform.comparisons.compared_run import ComparedArm, ComparedRun, CostFigures, RunIdentity
from evalplatform.comparisons.refusals import ArmContentsDiffer, FactorDiffers, MaterialsDiffer, ProfilesDiffer, Refusal, Refused, SameRun
from evalplatform.reports.refusal_words import refusal_sentence

SKILL = "skill:kettle"
QUESTIONS = {f"q{number}": f"What does part {number} do?" for number in range(10)}
MORE = {**QUESTIONS, "q10": "And what does the lid do?"}


def run(name: str, *, questions: Mapping[str, str] = QUESTIONS, arm: str = SKILL, **stamps: Any) -> ComparedRun:
    """A judged run whose treatment gains 10 points on the first question, and 2 more on each one after it."""
    points = {"baseline": [50.0] * len(questions), arm: [60.0 + 2 * place for place in range(len(questions))]}
    ids = tuple(questions)
    facts: dict[str, Any] = {
        "library_name": "Kettle",
        "model": name,
        "provider": "anthropic",
        "harness": "arms-runner",
        "arms": tuple(points),
        "baseline_arm": "baseline",
        "total_questions": len(ids),
        "question_ids": ids,
        "question_texts_digest": f"texts of {name}",
        "evaluation_ids": ids,
        "judge_model": "grader",
        "judge_provider": "anthropic",
        "judge_context": "treatment_material.v1",
    }
    return ComparedRun(
        name=name,
        source=f"{name}.json",
        identity=RunIdentity(**{**facts, **stamps}),
        arms={arm: ComparedArm(points=dict(zip(ids, of_arm, strict=True)), answers=len(ids)) for arm, of_arm in points.items()},
        question_texts=questions,
    )


def with_arm(one: ComparedRun, arm: str, **changes: Any) -> ComparedRun:
    return replace(one, arms={**one.arms, arm: replace(one.arms[arm], **changes)})


def pooled_or_refused(*runs: ComparedRun) -> PooledDelta | Refused:
    found = pool([PairedArms(run=one, treatment_arm=one.treatment_arms[0], stated_delta_points=None) for one in runs])
    assert found is not None
    return found


def refusals(*runs: ComparedRun) -> tuple[Refusal, ...]:
    """Return why runs are not pooled; none where they are."""
    found = pooled_or_refused(*runs)
    return found.refusals if isinstance(found, Refused) else ()


def clusters(*runs: ComparedRun) -> tuple[int, int | None]:
    """Return the pairs of a pooled delta and in how many clusters they lie; None where each stands for itself."""
    found = pooled_or_refused(*runs)
    assert isinstance(found, PooledDelta)
    assert found.effect is not None
    return found.pairs, found.effect.clusters


def test_a_run_and_its_copy_are_one_run_and_not_twice_the_pairs() -> None:
    one = run("haiku")
    (refusal,) = refusals(one, run("opus"), replace(one, name="copy", source="copy.json"))
    assert refusal == SameRun(runs=("haiku", "copy"))
    assert refusal_sentence(refusal) == "haiku and copy hold one run, so its answers would count again with each: leave one of them."


def test_equal_answers_of_other_calls_are_another_run_of_the_same_questions() -> None:
    one = run("haiku")
    again = with_arm(replace(one, name="again"), SKILL, cost=CostFigures(mean_latency_seconds=2.0))
    assert clusters(one, again) == (20, 10)


def test_one_model_is_sampled_alike_in_every_file_and_another_need_not_be() -> None:
    hot, cold = {"max_tokens": 100, "temperature": 1.5}, {"max_tokens": 800, "temperature": 0.0}
    haiku, opus = run("haiku", run_config=hot), run("opus", run_config=cold)
    assert refusals(haiku, opus) == ()
    (refusal,) = refusals(haiku, opus, run("haiku again", model="haiku", run_config=cold))
    assert isinstance(refusal, FactorDiffers)
    assert (refusal.factor, [side.run for side in refusal.sides]) == ("run_config", ["haiku", "haiku again"])


@pytest.mark.parametrize("edited", ["baseline", "docs+skill:kettle"])
def test_every_arm_that_is_compared_has_one_content_in_every_file(edited: str) -> None:
    files = {"baseline": "0", "docs+skill:kettle": "a"}
    haiku, opus = (run(name, arm="docs+skill:kettle", arm_content_digests=files) for name in ("haiku", "opus"))
    assert refusals(haiku, opus) == ()
    other = run("other", arm="docs+skill:kettle", arm_content_digests={**files, edited: "edited"})
    assert refusals(haiku, opus, other) == (ArmContentsDiffer(runs=("haiku", "opus", "other"), arms=(edited,)),)


def test_a_combined_arm_with_another_profile_in_one_file_is_two_treatments() -> None:
    arm = "profile:concise+profile:kind"
    haiku, opus, edited = (
        with_arm(run(name, arm=arm), arm, profile_prompts=frozenset({("sha256:a", digest)}))
        for name, digest in (("haiku", "sha256:b"), ("opus", "sha256:b"), ("edited", "sha256:c"))
    )
    assert refusals(haiku, opus) == ()
    (refusal,) = refusals(haiku, edited)
    assert isinstance(refusal, ProfilesDiffer)


def test_the_baseline_was_given_the_same_material_in_every_file() -> None:
    haiku, opus = (with_arm(run(name), "baseline", material_digests={"q3": digest}) for name, digest in (("haiku", "a"), ("opus", "b")))
    (refusal,) = refusals(haiku, opus)
    assert isinstance(refusal, MaterialsDiffer)
    assert (refusal.arm, refusal.first) == ("baseline", "q3")


def test_a_question_asked_in_two_files_is_one_cluster_also_where_one_file_asks_one_more() -> None:
    assert clusters(run("haiku", questions=MORE)) == (11, None)
    assert clusters(run("haiku"), run("opus")) == (20, 10)
    assert clusters(run("haiku"), run("opus", questions=MORE)) == (21, 11)


@pytest.mark.parametrize(
    "other",
    [
        run("opus", questions={question: f"{text} Say it in French." for question, text in QUESTIONS.items()}),
        run("opus", library_name="Another Library"),
        replace(run("opus"), question_texts={}),
    ],
    ids=["another text", "another product", "a text that nobody knows"],
)
def test_questions_that_share_no_more_than_an_id_are_different_questions(other: ComparedRun) -> None:
    assert clusters(run("haiku"), other) == (20, None)


def test_what_a_run_clusters_is_clustered_in_its_own_delta_and_across_files() -> None:
    labels = {question: f"part {place // 2}" for place, question in enumerate(QUESTIONS)}
    clustered = replace(run("haiku", cluster_field="part"), clusters=labels)
    own = cell_delta(PairedArms(run=clustered, treatment_arm=SKILL, stated_delta_points=None))
    assert own is not None
    assert own.effect is not None
    assert own.effect.clusters == 5
    assert clusters(clustered) == (10, 5)
    assert clusters(clustered, run("opus", questions=MORE)) == (21, 6), "whoever says it, questions of one part depend on each other"
