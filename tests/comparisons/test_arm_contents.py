"""Arms of one name are one treatment only where their files, the profiles in their answers and their materials are the same."""

from dataclasses import replace

from evalplatform.comparisons.arm_contents import arm_content_refusals
from evalplatform.comparisons.comparability import DECLARED, refusals_among
from evalplatform.comparisons.plugin_delta import plugin_delta
from evalplatform.comparisons.refusals import ArmContentsDiffer, MaterialsDiffer, ProfilesDiffer, Refused
from tests.support.plugin_cells import changed, control_run, plugin_run, with_arm

CONTROL, PLUGIN = control_run(), plugin_run()
EDITED = {**CONTROL.arms["docs"].material_digests, "q004": "sha256:edited", "q007": "sha256:edited"}


def test_an_edited_profile_refuses_a_plugin_delta() -> None:
    before, after = (
        with_arm(run, "docs", profile_prompts=frozenset({(digest,)})) for run, digest in ((CONTROL, "sha256:old"), (PLUGIN, "sha256:new"))
    )
    refused = plugin_delta(before, after)
    assert isinstance(refused, Refused)
    (refusal,) = refused.refusals
    assert isinstance(refusal, ProfilesDiffer)
    assert (refusal.arm, [side.says for side in refusal.sides]) == ("docs", ["sha256:old", "sha256:new"])


def test_a_profile_edited_between_the_answers_of_one_run_is_found_and_two_profiles_in_every_answer_are_not_an_edit() -> None:
    both = with_arm(CONTROL, "docs", profile_prompts=frozenset({("sha256:a", "sha256:b")}))
    assert arm_content_refusals([both, with_arm(PLUGIN, "docs", profile_prompts=frozenset({("sha256:a", "sha256:b")}))]) == []
    half = with_arm(PLUGIN, "docs", profile_prompts=frozenset({("sha256:a",), ("sha256:b",)}))
    assert [refusal.reason for refusal in arm_content_refusals([CONTROL, half])] == ["profiles_differ"]


def test_other_material_beside_the_same_question_refuses_a_plugin_delta_of_files_without_content_digests() -> None:
    control, plugin = changed(CONTROL, arm_content_digests=None), changed(PLUGIN, arm_content_digests=None)
    refused = plugin_delta(control, with_arm(plugin, "docs", material_digests=EDITED))
    assert isinstance(refused, Refused)
    assert refused.refusals == (MaterialsDiffer(runs=("plain", "caveman"), arm="docs", questions=2, first="q004"),)


def test_an_arm_whose_files_differ_is_told_once() -> None:
    digests = {**(PLUGIN.identity.arm_content_digests or {}), "docs": "sha256:edited"}
    edited = changed(with_arm(PLUGIN, "docs", material_digests=EDITED), arm_content_digests=digests)
    assert arm_content_refusals([CONTROL, edited]) == [ArmContentsDiffer(runs=("plain", "caveman"), arms=("docs",))]


def test_what_arms_inject_that_no_number_is_of_is_left_alone() -> None:
    edited = with_arm(PLUGIN, "docs", material_digests=EDITED)
    assert arm_content_refusals([CONTROL, edited], {"baseline"}) == []
    assert arm_content_refusals([CONTROL, edited], {"baseline", "docs"})


def test_products_have_files_and_materials_of_their_own_and_share_a_profile() -> None:
    other = replace(changed(CONTROL, library_name="Kettle", arm_content_digests={"docs": "sha256:other"}), name="kettle")
    edited = with_arm(other, "docs", material_digests=EDITED)
    assert "arm_contents" not in DECLARED["batch_pool"]
    assert refusals_among("batch_pool", [CONTROL, edited]) == []
    one, two = (with_arm(run, "docs", profile_prompts=frozenset({(run.name,)})) for run in (CONTROL, edited))
    assert [refusal.reason for refusal in refusals_among("batch_pool", [one, two])] == ["profiles_differ"]
