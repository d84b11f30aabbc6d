"""Runs that may not stand beside each other, each with the sentence that says so, and what is only warned of."""

from pathlib import Path
from typing import Any

import pytest

from evalplatform.comparisons.compared_run import ComparedRun
from evalplatform.comparisons.model_comparison import compare_models
from evalplatform.comparisons.model_comparison_records import ModelComparison
from evalplatform.comparisons.refusals import Refused
from evalplatform.kernel.errors import InputError, UnknownNameError
from evalplatform.reports.compared_run_file import compared_run_of
from evalplatform.reports.model_comparison_report import warning_sentence
from evalplatform.reports.refusal_words import refusal_sentence
from tests.support.model_runs import TWO_ARMS, Points, arms_file, model_run, with_profile

THREE_ARMS: Points = {**TWO_ARMS, "skill:x": [61.0] * 8}


def why_not(*runs: ComparedRun, **options: Any) -> list[str]:
    refused = compare_models(runs, **options)
    assert isinstance(refused, Refused)
    assert refused.comparison == "model_comparison"
    assert refused.runs == tuple(run.name for run in runs)
    return [refusal_sentence(refusal) for refusal in refused.refusals]


def compared(*runs: ComparedRun, **options: Any) -> ModelComparison:
    found = compare_models(runs, **options)
    assert isinstance(found, ModelComparison), found
    return found


def warned(*runs: ComparedRun, **options: Any) -> list[str]:
    """Return the warnings but those of factors that files of another tool do not state."""
    warnings = compared(*runs, **options).warnings
    return [warning_sentence(warning) for warning in warnings if warning.warning != "factor_unstated"]


def profile_run(name: str, *digests: str, arm: str = "profile:terse", **stamps: Any) -> ComparedRun:
    points = {"baseline": TWO_ARMS["baseline"], arm: TWO_ARMS["docs"]}
    file = with_profile(arms_file(points, model=f"{name}-model", **stamps), arm, *digests) if digests else arms_file(points, model=name)
    return compared_run_of(file, path=Path(f"{name}.json"), name=name)


def test_runs_measured_from_different_zeros_are_not_compared() -> None:
    sentences = why_not(model_run("a"), model_run("b", baseline_arm="docs"))
    assert sentences[0] == "The runs differ in baseline arm: a says baseline; b says docs."


def test_runs_scored_on_different_arms_are_not_compared() -> None:
    other = {"baseline": TWO_ARMS["baseline"], "skill:x": TWO_ARMS["docs"]}
    assert why_not(model_run("a"), model_run("b", other)) == [
        (
            "The runs are scored on 2 different arms: a on docs; b on skill:x. Each delta would be of another treatment. "
            "Name the arm that every run must be scored on (--treatment-arm)."
        )
    ]


def test_runs_of_several_arms_need_a_pin_even_if_they_are_the_same_arms() -> None:
    runs = model_run("a", THREE_ARMS), model_run("b", THREE_ARMS)
    assert why_not(*runs)[0].startswith("The runs are scored on 2 different arms: a on docs and skill:x; b on docs and skill:x.")
    assert compared(*runs, treatment_arm="skill:x").treatment_arm == "skill:x"


def test_a_single_run_of_several_arms_needs_a_pin_too() -> None:
    assert len(why_not(model_run("a", THREE_ARMS))) == 1
    assert compared(model_run("a", THREE_ARMS), treatment_arm="docs").runs[0].treatment_arm == "docs"


def test_an_edited_profile_under_its_old_name_is_not_compared_and_a_pin_does_not_excuse_it() -> None:
    runs = profile_run("a", "sha256:one"), profile_run("b", "sha256:two"), profile_run("old")
    said = (
        "The arm 'profile:terse' stands for more than one profile text: a says sha256:one; b says sha256:two; old says nothing of it. "
        "A profile was edited and kept its id. Run every cell again on one text."
    )
    assert why_not(*runs) == [said]
    assert why_not(*runs, treatment_arm="profile:terse") == [said]


def test_a_profile_edited_in_the_middle_of_a_run_is_found() -> None:
    file = with_profile(arms_file({"baseline": TWO_ARMS["baseline"], "profile:terse": TWO_ARMS["docs"]}), "profile:terse", "sha256:one")
    file["answers"][3]["arms"]["profile:terse"]["metadata"] = {"profile_prompt_sha256": "sha256:two"}
    edited = compared_run_of(file, path=Path("a.json"), name="a")
    assert "a says sha256:one and sha256:two; b says sha256:one" in why_not(edited, profile_run("b", "sha256:one"))[0]


def test_profiles_inside_combined_arms_are_looked_up_and_two_profiles_combined_are_no_edit() -> None:
    arm = "profile:a+profile:b"
    runs = [profile_run(name, "sha256:one", second, arm=arm) for name, second in (("a", "sha256:two"), ("b", "sha256:other"))]
    assert "stands for more than one profile text" in why_not(*runs)[0]
    compared(runs[0], profile_run("c", "sha256:one", "sha256:two", arm=arm))


def test_runs_from_before_the_profile_stamp_are_left_alone() -> None:
    compared(profile_run("a", "sha256:one"), profile_run("old"))


def test_scores_of_mixed_material_are_compared_with_nothing() -> None:
    mixed = {"judge_context": "treatment_material.v1+snippet_fallback"}
    sentences = why_not(model_run("a", **mixed), model_run("b", **mixed))
    assert [sentence[:44] for sentence in sentences] == [
        "In a some scores saw the stored material and",
        "In b some scores saw the stored material and",
    ]


def test_scores_of_different_material_are_not_compared() -> None:
    assert why_not(model_run("a", judge_context=None), model_run("b")) == [
        "The runs differ in judge material (judge_context): a says nothing of it; b says treatment_material.v1."
    ]


def test_two_runs_of_one_configuration_are_not_rivals() -> None:
    runs = [model_run(name, model="small") for name in ("a", "b")]
    assert why_not(*runs, model_run("c")) == [
        (
            "a and b are runs of one configuration (small, judged by grader): samples of one thing, not rivals. "
            "Average them (--pool-replicates), or give one of them."
        )
    ]
    assert [row.run for row in compared(*runs, model_run("c"), pool_replicates=True).runs] == ["a[n=2]", "c"]


def test_another_seed_is_a_replicate_and_no_seed_beside_one_is_not() -> None:
    seeds = [model_run(name, model="small", run_config={"temperature": 0.5, "seed": seed}) for name, seed in (("a", 1), ("b", 2))]
    assert "runs of one configuration" in why_not(*seeds)[0]
    unseeded = model_run("c", model="small", run_config={"temperature": 0.5, "seed": None})
    assert len(compared(seeds[0], unseeded).runs) == 2


@pytest.mark.parametrize(
    ("stamp", "value", "said"),
    [
        ("judge_model", "other", "judge model"),
        ("judge_provider", "other", "judge provider"),
        ("judge_temperature", 0.5, "judge temperature"),
        ("judge_prompt_sha256", "sha256:" + "1" * 64, "judge prompt"),
        ("plugin_set_id", "sha256:other", "plugin set"),
        ("harness", "single-shot", "harness"),
        ("library_name", "Teapot", "library"),
    ],
)
def test_runs_that_differ_in_more_than_who_answers_are_not_compared(stamp: str, value: object, said: str) -> None:
    more = {"plugin_set": "caveman:full"} if stamp == "plugin_set_id" else {}
    sentences = why_not(model_run("a"), model_run("b", **{stamp: value, **more}))
    assert [sentence.split(":")[0] for sentence in sentences] == [f"The runs differ in {said}"]


def test_an_unjudged_run_is_not_compared_with_a_judged_one() -> None:
    unjudged = model_run("b", evaluations=None, judge_model=None, judge_provider=None, judge_context=None)
    assert why_not(model_run("a"), unjudged)[-1] == "a was judged and b was not. Judge all of them, or none."


def test_a_judged_run_names_its_judge() -> None:
    sentences = why_not(model_run("a", judge_model=""), model_run("b", judge_model=""))
    assert sentences[0] == "a was judged but does not say by whom: judge_model is missing."


@pytest.mark.parametrize("arm", ["docs", "baseline"])
def test_other_content_under_one_arms_name_is_not_compared(arm: str) -> None:
    runs = [model_run(name, input_digests={f"treatment:{arm}/documents": name}) for name in ("a", "b")]
    assert [sentence.split(":")[0] for sentence in why_not(*runs)] == ["The runs differ in content of the arms"]


def test_content_of_an_arm_that_is_not_compared_may_differ() -> None:
    runs = [model_run(name, THREE_ARMS, input_digests={"treatment:skill:x/body": name, "treatment:docs/d": "1"}) for name in ("a", "b")]
    compared(*runs, treatment_arm="docs")
    assert "skill:x" in why_not(*runs, treatment_arm="skill:x")[0]


def test_runs_without_a_common_question_are_not_compared() -> None:
    other = model_run("b", ids=[f"other{place}" for place in range(8)])
    assert why_not(model_run("a"), other) == ["No question was scored by all of a, b."]


def test_a_pinned_arm_that_a_run_lacks_is_said_with_the_nearest_it_has() -> None:
    assert why_not(model_run("a"), model_run("b"), treatment_arm="doc")[0] == "a has no arm 'doc'; it has docs. Did you mean 'docs'?"


def test_a_pinned_arm_that_is_missing_from_a_question_is_said() -> None:
    file = arms_file(THREE_ARMS)
    del file["evaluations"][2]["scores"]["skill:x"]
    run = compared_run_of(file, path=Path("a.json"), name="a")
    assert why_not(run, treatment_arm="skill:x") == [
        "a was judged on 'skill:x' in 7 of its 8 questions: an arm that runs are compared on is in every one."
    ]


def test_every_reason_is_said_the_most_fundamental_first() -> None:
    sentences = why_not(model_run("a"), model_run("b", library_name="Teapot", baseline_arm="docs", judge_context=None))
    assert [sentence.split(":")[0] for sentence in sentences] == [
        "The runs differ in baseline arm",
        "The runs are scored on 2 different arms",
        "The runs differ in judge material (judge_context)",
        "The runs differ in library",
    ]


def test_a_single_run_is_checked_for_nothing_that_takes_two() -> None:
    assert warned(model_run("a", judge_context="treatment_material.v1+snippet_fallback", judge_model="")) == []


def test_other_question_sets_are_a_warning() -> None:
    hashes = [model_run(name, question_set_hash=name * 4) for name in ("a", "b")]
    assert warned(*hashes) == [
        (
            "The runs differ in question set (question_set_hash): a says aaaa; b says bbbb. "
            "Only the questions that all runs have are compared, and they may still be other questions under one id."
        )
    ]
    assert warned(hashes[0], model_run("c")) == [], "a run from before the stamp says nothing of it"


def test_other_sampling_is_a_warning() -> None:
    hot = {"max_tokens": 800, "temperature": 1.0, "seed": None}
    assert warned(model_run("a"), model_run("b", run_config=hot)) == [
        (
            "The runs differ in answer sampling (run_config): a says max_tokens 800; b says max_tokens 800, temperature 1. "
            "A difference between these runs may come from how answers were sampled, not from the model."
        )
    ]


def test_other_texts_under_the_same_ids_are_never_compared() -> None:
    file = arms_file(TWO_ARMS, model="b-model")
    file["answers"][0]["question_text"] = "Another question?"
    runs = model_run("a"), compared_run_of(file, path=Path("b.json"), name="b"), model_run("c")
    assert why_not(*runs) == [
        "The runs differ in text of the questions: a, b and c hold another under the same id for 1 question, the first of them q0."
    ]


def test_a_run_without_a_scored_arm_is_a_warning() -> None:
    only_baseline = {"baseline": TWO_ARMS["baseline"]}
    assert warned(model_run("a"), model_run("b", only_baseline)) == [
        "b has no points for a scored arm: it gives baseline numbers and no delta."
    ]


def test_a_run_that_ended_early_is_a_warning() -> None:
    assert warned(model_run("a", truncated="budget_exhausted")) == ["a ended before its last question: the budget was spent."]


def test_what_could_not_be_compared_is_said() -> None:
    runs = model_run("a"), model_run("b", answer_prompt_sha256="x", input_digests={"answer_prompt": "1"})
    sentences = [warning_sentence(warning) for warning in compared(*runs).warnings]
    assert any(sentence.startswith("a does not say the") and "answer prompt" in sentence for sentence in sentences)
    assert not any(sentence.startswith("b") and "answer prompt" in sentence for sentence in sentences)


def test_no_run_an_unnamed_run_and_two_runs_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="at least one run"):
        compare_models([])
    with pytest.raises(InputError, match="must not be empty"):
        compare_models([model_run(" ")])
    with pytest.raises(InputError, match="'a' is there twice"):
        compare_models([model_run("a"), model_run("a")])


def test_the_baseline_is_no_treatment_and_is_an_arm_of_its_run() -> None:
    with pytest.raises(InputError, match="'baseline' is the baseline arm"):
        compare_models([model_run("a")], treatment_arm="baseline")
    with pytest.raises(UnknownNameError, match=r"unknown baseline arm 'basline'.*Did you mean 'baseline'"):
        compare_models([model_run("a", baseline_arm="basline")])


SAMPLING = {"max_tokens": 800, "temperature": 0, "seed": None}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"run_config": SAMPLING}, {"run_config": {**SAMPLING, "temperature": 0.0}}),
        ({"run_config": {"max_tokens": 800, "temperature": None}}, {"run_config": {"max_tokens": 800}}),
        ({}, {"base_url": "http://one:1/v1"}),
        ({"answering_digest": "sha256:one"}, {}),
        ({"plugin_set_id": None}, {}),
    ],
)
def test_one_configuration_written_in_two_ways_is_one(first: dict[str, Any], second: dict[str, Any]) -> None:
    runs = [model_run(name, model="small", **stamps) for name, stamps in (("a", first), ("b", second))]
    assert why_not(*runs)[0].startswith("a and b are runs of one configuration")
    assert [row.run for row in compared(*runs, pool_replicates=True).runs] == ["a[n=2]"]


def test_another_order_of_arms_is_no_other_configuration() -> None:
    turned = {arm: TWO_ARMS[arm] for arm in ("docs", "baseline")}
    runs = model_run("a", model="small"), model_run("b", turned, model="small")
    assert why_not(*runs)[0].startswith("a and b are runs of one configuration")
    assert compared(*runs, pool_replicates=True).runs[0].delta.delta_points == 13.5


def test_other_settings_of_the_answers_are_another_configuration_where_both_say_them() -> None:
    runs = [model_run(name, model="small", answering_digest=f"sha256:{name}") for name in ("a", "b")]
    assert len(compared(*runs).runs) == 2


def test_a_run_that_does_not_state_its_address_is_not_pooled_with_runs_of_two() -> None:
    runs = [model_run(name, model="small", **({"base_url": url} if url else {})) for name, url in (("a", None), ("b", "x"), ("c", "y"))]
    assert why_not(*runs)[0].startswith("a, b and c are runs of one configuration")
    assert why_not(*runs, pool_replicates=True) == [
        "The runs differ in base URL of the endpoint: a says nothing of it; b says x; c says y."
    ]


def test_replicates_that_differ_in_an_arm_that_is_not_compared_are_not_pooled() -> None:
    runs = [model_run(name, THREE_ARMS, model="small", input_digests={"treatment:skill:x/body": name}) for name in ("a", "b")]
    assert [sentence.split(":")[0] for sentence in why_not(*runs, treatment_arm="docs", pool_replicates=True)] == [
        "The runs differ in content of the arms"
    ]


def test_replicates_of_other_questions_under_the_same_ids_are_not_pooled() -> None:
    file = arms_file(TWO_ARMS, model="small")
    file["answers"][0]["question_text"] = "Another question?"
    runs = model_run("a", model="small"), compared_run_of(file, path=Path("b.json"), name="b")
    assert len(why_not(*runs, pool_replicates=True)) == 1


def test_a_baseline_arm_that_is_an_edited_profile_is_not_compared() -> None:
    points = {"profile:terse": TWO_ARMS["baseline"], "docs": TWO_ARMS["docs"]}
    files = {
        name: with_profile(arms_file(points, model=name, baseline_arm="profile:terse"), "profile:terse", f"sha256:{name}") for name in "ab"
    }
    runs = [compared_run_of(file, path=Path(f"{name}.json"), name=name) for name, file in files.items()]
    assert "'profile:terse' stands for more than one profile text" in why_not(*runs)[0]


def test_an_arm_of_any_name_may_combine_two_profiles() -> None:
    compared(*(profile_run(name, "sha256:one", "sha256:two", arm="mine") for name in ("a", "b")))


def test_a_single_run_whose_profile_was_edited_on_the_way_is_no_treatment() -> None:
    file = with_profile(arms_file({"baseline": TWO_ARMS["baseline"], "profile:terse": TWO_ARMS["docs"]}), "profile:terse", "sha256:one")
    file["answers"][3]["arms"]["profile:terse"]["metadata"] = {"profile_prompt_sha256": "sha256:two"}
    assert "stands for more than one profile text" in why_not(compared_run_of(file, path=Path("a.json"), name="a"))[0]
