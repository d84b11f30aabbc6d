"""One table says what must be equal for which comparison; every factor of a run stands in it, or is left out on purpose."""

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from evalplatform.comparisons.comparability import (
    DECLARED,
    FACTORS,
    MIXED_MATERIAL,
    NOT_FACTORS,
    differing_factors,
    refusals_among,
    unstated_factors,
)
from evalplatform.comparisons.compared_run import PROVIDER_ADDRESS, RunIdentity
from evalplatform.comparisons.refusals import (
    ArmContentsDiffer,
    ArmsDiffer,
    ComparisonKind,
    FactorDiffers,
    JudgeNotStamped,
    MixedMaterial,
    OnlySomeJudged,
    QuestionsDiffer,
    QuestionTextsDiffer,
    RunArms,
    RunSays,
)
from tests.support.plugin_cells import CAVEMAN_ID, NO_PLUGINS_ID, changed, control_run, plugin_run, unjudged

PAGE = Path(__file__).parents[2] / "docs" / "comparability.md"
CONTROL, PLUGIN = control_run(), plugin_run()


def test_every_field_of_a_run_is_a_factor_or_left_out_for_a_reason() -> None:
    named = [field for factor in FACTORS for field in factor.fields]
    of_questions_and_arms = {"question_texts", "references", "profile_prompts", "material_digests"}
    assert set(named) | set(NOT_FACTORS) == set(RunIdentity.model_fields) | of_questions_and_arms
    assert not set(named) & set(NOT_FACTORS)
    assert all(reason.endswith(".") for reason in NOT_FACTORS.values())


def test_what_a_comparison_declares_are_factors_and_every_kind_declares() -> None:
    assert set(DECLARED) == set(get_args(ComparisonKind))
    assert set().union(*DECLARED.values()) <= {factor.name for factor in FACTORS}
    assert len({factor.name for factor in FACTORS}) == len(FACTORS)


def test_the_documented_table_is_the_table() -> None:
    """docs/comparability.md has a row a factor, and a column a comparison."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines() if line.startswith("|")]
    header, table = rows[0], {row[0].strip("`"): row for row in rows[2:] if row[0].startswith("`")}
    kinds = [re.sub(r"[ -]", "_", cell.lower()) for cell in header[2:]]
    assert kinds == list(DECLARED)
    assert list(table) == [factor.name for factor in FACTORS]
    for factor in FACTORS:
        unknown = " *" if factor.where_unknown == "passes" else ""
        assert table[factor.name][1:] == [
            factor.words + unknown,
            *("may differ" if factor.name in declared else "equal" for declared in DECLARED.values()),
        ]


def test_runs_that_differ_in_the_plugin_set_alone_are_comparable() -> None:
    assert refusals_among("plugin_delta", [CONTROL, PLUGIN]) == []


def test_one_run_or_none_differs_in_nothing() -> None:
    assert differing_factors("plugin_delta", [CONTROL]) == differing_factors("plugin_delta", []) == []


def test_every_difference_is_named_and_not_the_first_alone() -> None:
    other = changed(PLUGIN, model="large", harness="agent", judge_temperature=1.0)
    assert [refusal.factor for refusal in differing_factors("plugin_delta", [CONTROL, other])] == ["model", "harness", "judge_temperature"]


def test_one_setting_that_differs_is_shown_alone_and_what_is_null_is_not_set() -> None:
    config = {"max_tokens": 400, "temperature": 0.0, "grounded_from_topics": False}
    (refusal,) = differing_factors("plugin_delta", [CONTROL, changed(PLUGIN, run_config=config)])
    assert refusal == FactorDiffers(
        factor="run_config",
        words="answer sampling (run_config)",
        sides=(RunSays(run="plain", says="max_tokens 800"), RunSays(run="caveman", says="max_tokens 400")),
    )


def test_a_run_that_states_no_settings_differs_from_one_that_does() -> None:
    (refusal,) = differing_factors("plugin_delta", [CONTROL, changed(PLUGIN, run_config=None)])
    assert isinstance(refusal, FactorDiffers)
    assert refusal.sides == (
        RunSays(run="plain", says="max_tokens 800, temperature 0, grounded_from_topics false"),
        RunSays(run="caveman", says=None),
    )
    assert differing_factors("plugin_delta", [changed(CONTROL, run_config=None), changed(PLUGIN, run_config=None)]) == []


def test_arms_in_another_order_are_other_arms() -> None:
    arms = CONTROL.identity.arms[::-1]
    (refusal,) = differing_factors("plugin_delta", [CONTROL, changed(PLUGIN, arms=arms)])
    assert refusal == ArmsDiffer(sides=(RunArms(run="plain", arms=CONTROL.identity.arms), RunArms(run="caveman", arms=arms)))


def test_arms_whose_content_differs_are_named() -> None:
    digests = {**(PLUGIN.identity.arm_content_digests or {}), "docs": "sha256:edited"}
    (refusal,) = differing_factors("plugin_delta", [CONTROL, changed(PLUGIN, arm_content_digests=digests)])
    assert refusal == ArmContentsDiffer(runs=("plain", "caveman"), arms=("docs",))


@pytest.mark.parametrize("ids", [("q000", "q001", "q007"), ("q000", "q001")], ids=["another question", "a question less"])
def test_the_first_question_at_which_runs_part_is_shown(ids: tuple[str, ...]) -> None:
    (refusal,) = differing_factors(
        "plugin_delta", [changed(CONTROL, question_ids=("q000", "q001", "q002")), changed(PLUGIN, question_ids=ids)]
    )
    there = ids[2] if len(ids) == 3 else None
    assert isinstance(refusal, QuestionsDiffer)
    assert (refusal.factor, refusal.position) == ("question_ids", 2)
    assert refusal.sides == (RunSays(run="plain", says="q002"), RunSays(run="caveman", says=there))


def test_texts_of_other_questions_are_not_a_second_reason() -> None:
    other = changed(PLUGIN, question_ids=("a",), question_texts={"a": "How does a work?"})
    assert [refusal.factor for refusal in differing_factors("plugin_delta", [CONTROL, other])] == ["question_ids"]


@pytest.mark.parametrize(("field", "factor"), [("question_texts", "question_texts"), ("references", "references")])
def test_another_text_under_one_id_is_counted_and_the_first_question_named(field: str, factor: str) -> None:
    for kind in ("plugin_delta", "model_comparison", "pooled_replicates"):
        reworded = changed(CONTROL, **{field: {**getattr(CONTROL, field), "q003": "Another?", "q009": "Another?"}})
        (refusal,) = differing_factors(kind, [CONTROL, replace(reworded, name="other")])
        assert isinstance(refusal, QuestionTextsDiffer)
        assert (refusal.factor, refusal.questions, refusal.first, refusal.runs) == (factor, 2, "q003", ("plain", "other"))


def test_in_a_pool_of_sets_questions_that_share_an_id_alone_have_references_of_their_own() -> None:
    texts, references = ({question: f"another {question}" for question in CONTROL.question_texts} for _ in range(2))
    other = replace(changed(CONTROL, question_texts=texts, references=references), name="other")
    assert differing_factors("batch_pool", [CONTROL, other]) == []


def test_settings_that_no_single_stamp_says_are_a_factor_by_the_digest_of_all_and_a_stamp_that_says_it_is_enough() -> None:
    for field, factor, stamp in (("answering_digest", "answering", "model"), ("judge_digest", "judge", "judge_model")):
        other = changed(PLUGIN, **{field: "sha256:other"})
        assert [refusal.factor for refusal in differing_factors("plugin_delta", [CONTROL, other])] == [factor]
        told = changed(other, **{stamp: "large"})
        assert [refusal.factor for refusal in differing_factors("plugin_delta", [CONTROL, told])] == [stamp]


def test_beside_a_run_that_nobody_judged_its_judge_is_no_further_reason() -> None:
    assert differing_factors("plugin_delta", [CONTROL, unjudged(PLUGIN)]) == [OnlySomeJudged(judged=("plain",), unjudged=("caveman",))]
    assert refusals_among("plugin_delta", [unjudged(CONTROL), unjudged(PLUGIN)]) == []


def test_scores_of_mixed_material_are_comparable_with_none_not_even_their_like() -> None:
    mixed = [changed(run, judge_context=MIXED_MATERIAL) for run in (CONTROL, PLUGIN)]
    assert refusals_among("plugin_delta", mixed) == [MixedMaterial(run=run.name, stamp=MIXED_MATERIAL) for run in mixed]


def test_two_runs_without_a_material_stamp_pair_and_one_does_not() -> None:
    bare = changed(CONTROL, judge_context=None)
    assert refusals_among("plugin_delta", [bare, changed(PLUGIN, judge_context=None)]) == []
    assert [refusal.factor for refusal in differing_factors("plugin_delta", [bare, PLUGIN])] == ["judge_context"]


def test_a_judged_run_says_who_judged() -> None:
    nameless = [changed(run, judge_model=None, judge_provider="") for run in (CONTROL, PLUGIN)]
    missing = ("judge_model", "judge_provider")
    assert refusals_among("plugin_delta", nameless) == [JudgeNotStamped(run=run.name, missing=missing) for run in nameless]


def test_one_behaviour_under_two_spellings_is_one_plugin_set_and_two_under_one_label_are_two() -> None:
    spelt = changed(CONTROL, plugin_set="caveman", plugin_set_id=CAVEMAN_ID)
    assert differing_factors("model_comparison", [spelt, PLUGIN]) == []
    (refusal,) = differing_factors("model_comparison", [CONTROL, changed(PLUGIN, plugin_set="none")])
    assert isinstance(refusal, FactorDiffers)
    assert [side.says for side in refusal.sides] == [f"none ({NO_PLUGINS_ID})", f"none ({CAVEMAN_ID})"]
    without_ids = [changed(CONTROL, plugin_set_id=None), changed(PLUGIN, plugin_set="none")]
    assert differing_factors("model_comparison", without_ids) == []


def test_what_could_not_be_compared_is_known() -> None:
    bare = changed(unjudged(CONTROL), base_url=None, retrieval=None)
    other = changed(unjudged(PLUGIN), retrieval=None)
    assert unstated_factors("plugin_delta", [bare, other]) == {
        "base URL of the endpoint": ("plain",),
        "retrieval settings": ("plain", "caveman"),
    }


def test_the_providers_own_address_is_an_address_and_a_run_that_names_none_is_left_alone() -> None:
    own = changed(CONTROL, base_url=PROVIDER_ADDRESS)
    assert unstated_factors("plugin_delta", [own, changed(PLUGIN, base_url=PROVIDER_ADDRESS)]) == {}
    (refusal,) = differing_factors("plugin_delta", [own, PLUGIN])
    assert isinstance(refusal, FactorDiffers)
    assert [side.says for side in refusal.sides] == [PROVIDER_ADDRESS, PLUGIN.identity.base_url]
    unstated = [changed(CONTROL, base_url=None), changed(PLUGIN, base_url=None)]
    assert unstated_factors("plugin_delta", unstated) == {"base URL of the endpoint": ("plain", "caveman")}
