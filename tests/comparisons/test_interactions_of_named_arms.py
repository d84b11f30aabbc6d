"""Interactions of arms that were given names of their own."""

from evalplatform.comparisons.interactions import CombinedArm, combined_arms

SPECS = {"baseline": "baseline", "guide": "docs:local:docs", "sk": "skill:skills/c++-guide"}


def found(**more: str) -> list[CombinedArm]:
    specs = SPECS | more
    return combined_arms(list(specs), baseline_arm="baseline", specs=specs)


def test_an_arm_with_a_name_of_its_own_is_known_by_its_spec():
    assert found(both="docs:local:docs + skill:skills/c++-guide") == [CombinedArm(arm_a="guide", arm_b="sk", combined_arm="both")]


def test_a_combination_whose_part_is_no_arm_gives_no_interaction():
    assert found(both="docs:local:other+skill:skills/c++-guide") == []


def test_names_that_split_go_before_specs():
    arms = ["baseline", "docs", "skill:x", "docs+skill:x"]
    specs = {"docs": "docs:local:a", "skill:x": "skill:x", "docs+skill:x": "docs:local:b+skill:x"}
    combined = CombinedArm(arm_a="docs", arm_b="skill:x", combined_arm="docs+skill:x")
    assert combined_arms(arms, baseline_arm="baseline", specs=specs) == [combined]
