"""A batch of runs is what it should be, or every way in which it is not is found; deltas are over what both arms scored."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.comparisons.batch_check import BatchCheck, BatchFile, check_batch
from evalplatform.comparisons.batch_findings import (
    AnswersMissing,
    JudgesItself,
    LowCoverage,
    MixedJudgeContext,
    NoProfileDigest,
    NoSuffixFits,
    NotJudged,
    NotPooled,
    NotReadable,
    NotTwoArms,
    OtherBaseline,
    OtherFileCount,
    OtherJudge,
    OtherTreatment,
    Rejected,
    StaleProfile,
    SystemPromptMisplaced,
    Truncated,
    WrongMap,
)
from evalplatform.comparisons.batch_rules import BatchRules, ProfileNow, expected_count
from evalplatform.comparisons.compared_run import ComparedArm, ComparedRun, RunIdentity
from evalplatform.comparisons.refusals import ArmContentsDiffer, FactorDiffers, MixedMaterial, ProfilesDiffer

PROFILE = "profile:concise"
RULES = BatchRules()
MIXED = "treatment_material.v1+snippet_fallback"


def points(values: Sequence[float | None]) -> dict[str, float]:
    return {f"q{number}": value for number, value in enumerate(values) if value is not None}


def arm(values: Sequence[float | None], *, has_prompt: bool = False, **changes: Any) -> ComparedArm:
    scored = points(values)
    facts: dict[str, Any] = {
        "points": scored,
        "unscored_reasons": {"malformed_reply": len(values) - len(scored)} if len(scored) < len(values) else {},
        "answers": len(values),
        "with_system_prompt": len(values) if has_prompt else 0,
        "profile_prompts": frozenset({("sha256:now",)}) if has_prompt else frozenset(),
    }
    return ComparedArm(**{**facts, **changes})


def run(
    name: str = "haiku_regular.json",
    *,
    arms: Mapping[str, ComparedArm] | None = None,
    truncated_reason: str | None = None,
    **stamps: Any,
) -> ComparedRun:
    given_arms = arms or {"baseline": arm([50.0] * 40), PROFILE: arm([60.0 + number % 3 for number in range(40)], has_prompt=True)}
    questions = next(iter(given_arms.values())).answers
    ids = tuple(f"q{number}" for number in range(questions))
    facts: dict[str, Any] = {
        "library_name": "Object Storage",
        "model": "haiku",
        "provider": "anthropic",
        "harness": "arms-runner",
        "arms": tuple(given_arms),
        "baseline_arm": "baseline",
        "total_questions": questions,
        "question_ids": ids,
        "question_texts_digest": f"texts of {questions}",
        "evaluation_ids": ids,
        "judge_model": "claude-sonnet-5-5",
        "judge_provider": "anthropic",
        "judge_context": "treatment_material.v1",
    }
    return ComparedRun(
        name=name, source=name, identity=RunIdentity(**{**facts, **stamps}), arms=given_arms, truncated_reason=truncated_reason
    )


def checked(*runs: ComparedRun, rules: BatchRules = RULES, stated: Mapping[str, float] | None = None) -> BatchCheck:
    return check_batch([BatchFile(name=one.name, run=one, stated_deltas_points=stated or {}) for one in runs], rules)


def findings_of(one: ComparedRun, rules: BatchRules = RULES) -> list[Any]:
    return list(checked(one, rules=rules).files[0].findings)


def test_a_batch_that_is_what_it_should_be_has_no_finding_and_one_pooled_delta() -> None:
    golden = {"baseline": arm([40.0] * 20), PROFILE: arm([42.0 + number % 2 for number in range(20)], has_prompt=True)}
    check = checked(run(), run("haiku_golden.json", arms=golden))
    assert check.passed
    assert check.findings == 0
    assert check.pooled is not None
    assert (check.pooled.files, check.pooled.pairs) == (2, 60)
    first, second = (file.delta.mean_points for file in check.files if file.delta is not None)
    assert (first, second) == pytest.approx((10.975, 2.5))
    assert check.pooled.mean_points == pytest.approx((40 * 10.975 + 20 * 2.5) / 60), "every question weighs alike"
    assert check.pooled.mean_of_file_means_points == pytest.approx((10.975 + 2.5) / 2), "every file weighs alike"
    assert check.pooled.effect is not None
    assert check.pooled.effect.clusters is None
    assert check.pooled.effect.p_t is not None


@pytest.mark.parametrize(
    ("one", "finding"),
    [
        (run(truncated_reason="budget_exhausted"), Truncated(reason="budget_exhausted")),
        (
            run(arms={"baseline": arm([50.0] * 40), PROFILE: arm([60.0] * 40, has_prompt=True), "docs": arm([55.0] * 40)}),
            NotTwoArms(arms=("baseline", PROFILE, "docs")),
        ),
        (run(baseline_arm=PROFILE), OtherBaseline(wanted="baseline", stated=PROFILE, arms=("baseline", PROFILE))),
        (
            run(arms={"plain": arm([50.0] * 40), PROFILE: arm([60.0] * 40, has_prompt=True)}),
            OtherBaseline(wanted="baseline", stated="baseline", arms=("plain", PROFILE)),
        ),
        (run(arms={"baseline": arm([50.0] * 40), "docs": arm([60.0] * 40)}), OtherTreatment(pattern="profile:*", arm="docs")),
        (run(evaluation_ids=None, judge_model=None, judge_provider=None), NotJudged()),
        (
            run(judge_model="claude-sonnet-4-6", judge_provider="amazon-bedrock"),
            OtherJudge(wanted_provider="anthropic", wanted_model="claude-sonnet-5-5", provider="amazon-bedrock", model="claude-sonnet-4-6"),
        ),
        (run(judge_context=MIXED), MixedJudgeContext(stamp=MIXED)),
        (run("haiku.json"), NoSuffixFits(suffixes=("regular", "golden"), total_questions=40)),
        (run("haiku_golden.json"), WrongMap(suffix="golden", expected=20, total_questions=40)),
        (
            run(arms={"baseline": arm([50.0] * 40), PROFILE: arm([60.0] * 40, has_prompt=True, answers=39, with_system_prompt=39)}),
            AnswersMissing(total_questions=40, answers_by_arm={PROFILE: 39}),
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, ComparedRun) else value.name,
)
def test_what_is_wrong_with_a_run_is_its_one_finding(one: ComparedRun, finding: Any) -> None:
    assert findings_of(one) == [finding]


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-sonnet-5-5", "anthropic"),
        ("anthropic/claude-sonnet-5-5", "openrouter"),
        ("global.anthropic.claude-sonnet-5-5-20260201-v1:0", "amazon-bedrock"),
    ],
)
def test_a_judge_that_is_the_answering_model_is_found_whoever_serves_it(model: str, provider: str) -> None:
    (finding,) = findings_of(run(model=model, provider=provider))
    assert finding == JudgesItself(model=model, provider=provider, judge_model="claude-sonnet-5-5", judge_provider="anthropic")


def test_a_panel_of_the_answering_model_judges_itself() -> None:
    stamp = "panel[doc_reviewer+technical_expert]:haiku"
    findings = findings_of(run(judge_model=stamp), BatchRules(judge_model=stamp))
    assert findings == [JudgesItself(model="haiku", provider="anthropic", judge_model=stamp, judge_provider="anthropic")]


@pytest.mark.parametrize(
    ("treatment_with", "baseline_with", "failed"),
    [(39, 0, 0), (40, 1, 0), (0, 40, 0), (38, 0, 1)],
    ids=["one lacks it", "leaked", "swapped", "failed"],
)
def test_a_profile_that_missed_an_answer_or_reached_the_baseline_is_found(treatment_with: int, baseline_with: int, failed: int) -> None:
    arms = {
        "baseline": arm([50.0] * 40, with_system_prompt=baseline_with),
        PROFILE: arm([60.0] * 40, has_prompt=True, with_system_prompt=treatment_with, failed=failed),
    }
    (finding,) = findings_of(run(arms=arms))
    assert isinstance(finding, SystemPromptMisplaced)
    assert (finding.treatment_without, finding.treatment_answered) == (40 - failed - treatment_with, 40 - failed)
    assert (finding.baseline_with, finding.baseline_answered) == (baseline_with, 40)


def test_an_answer_that_failed_was_sent_no_prompt_and_that_is_no_finding() -> None:
    treatment = arm([*[60.0] * 39, None], has_prompt=True, failed=1, with_system_prompt=39)
    assert findings_of(run(arms={"baseline": arm([50.0] * 40), PROFILE: treatment})) == []


def test_where_plugins_write_system_prompts_their_presence_is_not_asked_for() -> None:
    arms = {"baseline": arm([50.0] * 40, with_system_prompt=40), PROFILE: arm([60.0] * 40, has_prompt=True)}
    check = checked(run(arms=arms, plugin_set="caveman:full", plugin_set_id="sha256:1"))
    assert check.passed
    (result,) = (result for result in check.files[0].results if result.check == "system_prompt")
    assert result.passed is None
    assert "plugins" in (result.not_made or "")


def test_a_profile_that_was_edited_since_is_stale_and_one_without_a_stamp_cannot_be_told() -> None:
    now = BatchRules(profile=ProfileNow(path="concise.md", prompt_digest="sha256:now"))
    edited = BatchRules(profile=ProfileNow(path="concise.md", prompt_digest="sha256:edited"))
    assert findings_of(run(), now) == []
    assert findings_of(run(), edited) == [
        StaleProfile(treatment_arm=PROFILE, profile="concise.md", stamped=("sha256:now",), current="sha256:edited")
    ]
    unstamped = {"baseline": arm([50.0] * 40), PROFILE: arm([60.0] * 40, has_prompt=True, profile_prompts=frozenset())}
    assert findings_of(run(arms=unstamped), now) == [NoProfileDigest(treatment_arm=PROFILE)]
    half = {"baseline": arm([50.0] * 40), PROFILE: arm([60.0] * 40, has_prompt=True, profile_prompts=frozenset({("sha256:now",), ("x",)}))}
    assert [type(finding) for finding in findings_of(run(arms=half), now)] == [StaleProfile]
    both = {"baseline": arm([50.0] * 40), PROFILE: arm([60.0] * 40, has_prompt=True, profile_prompts=frozenset({("a", "sha256:now")}))}
    assert findings_of(run(arms=both), now) == [], "a combined arm's answers carry the digest of each of its profiles"


@pytest.mark.parametrize(("scored", "passes"), [(38, True), (37, False)])
def test_ninety_five_percent_must_be_scored_in_both_arms(scored: int, passes: bool) -> None:
    treatment = arm([60.0 if number < scored else None for number in range(40)], has_prompt=True)
    findings = findings_of(run(arms={"baseline": arm([50.0] * 40), PROFILE: treatment}))
    expected = [] if passes else [LowCoverage(pairs=scored, total_questions=40, least_rate=0.95, unscored={"malformed_reply": 40 - scored})]
    assert findings == expected


def test_arms_that_each_scored_enough_may_have_too_little_in_common() -> None:
    baseline = arm([None, None, *[50.0] * 38])
    treatment = arm([*[60.0] * 38, None, None], has_prompt=True)
    (finding,) = findings_of(run(arms={"baseline": baseline, PROFILE: treatment}))
    assert isinstance(finding, LowCoverage)
    assert finding.pairs == 36


def test_a_failed_judgement_takes_its_question_from_both_arms_and_the_files_own_delta_is_shown_beside() -> None:
    """The first question is easy, and only the baseline's answer to it could be scored: averages over 40 and 39 questions differ."""
    baseline, treatment = arm([98.0, *[50.0] * 39]), arm([None, *[52.0] * 39], has_prompt=True)
    check = checked(run(arms={"baseline": baseline, PROFILE: treatment}), stated={PROFILE: 0.8})
    delta = check.files[0].delta
    assert delta is not None
    assert (delta.pairs, delta.mean_points, delta.stated_points, delta.stated_differs) == (39, 2.0, 0.8, True)
    assert (delta.baseline_scored, delta.treatment_scored) == (40, 39)


@pytest.mark.parametrize(("stated", "differs"), [(2.1, False), (1.9, False), (2.2, True), (None, False)])
def test_a_stated_delta_within_rounding_is_the_same(stated: float | None, differs: bool) -> None:
    arms = {"baseline": arm([50.0] * 40), PROFILE: arm([52.0] * 40, has_prompt=True)}
    delta = checked(run(arms=arms), stated={} if stated is None else {PROFILE: stated}).files[0].delta
    assert delta is not None
    assert delta.stated_differs is differs


def test_the_questions_of_several_models_are_clusters_since_they_are_the_same_questions() -> None:
    check = checked(run("haiku_regular.json"), run("opus_regular.json", model="opus"))
    assert check.passed
    assert check.pooled is not None
    assert check.pooled.pairs == 80
    assert check.pooled.effect is not None
    assert check.pooled.effect.clusters == 40
    alone = checked(run("haiku_regular.json")).pooled
    assert alone is not None
    assert alone.effect is not None
    width, width_alone = (effect.ci_hi - effect.ci_lo for effect in (check.pooled.effect, alone.effect))
    assert width == pytest.approx(width_alone, rel=0.03), "asking the same questions again does not narrow the interval"


@pytest.mark.parametrize(
    ("changes", "factor"),
    [
        ({"judge_temperature": 0.7}, "judge_temperature"),
        ({"judge_context": None}, "judge_context"),
        ({"plugin_set": "truncate:80", "plugin_set_id": "sha256:1"}, "plugin_set"),
        ({"harness": "agent"}, "harness"),
        ({"draws": 3}, "draws"),
        ({"grounded_from_topics": True}, "grounded_from_topics"),
    ],
)
def test_runs_that_differ_in_more_than_a_batch_may_are_not_pooled(changes: dict[str, Any], factor: str) -> None:
    check = checked(
        run(grounded_from_topics=False), run("opus_regular.json", **{"grounded_from_topics": False, "model": "opus", **changes})
    )
    assert check.pooled is None
    (pooling,) = (result.finding for result in check.results if result.check == "pooling")
    assert isinstance(pooling, NotPooled)
    assert [refusal.factor for refusal in pooling.refused.refusals if isinstance(refusal, FactorDiffers)] == [factor]
    assert not check.passed


def test_mixed_material_pools_with_nothing() -> None:
    check = checked(run(judge_context=MIXED), run("opus_regular.json", model="opus", judge_context=MIXED))
    (pooling,) = (result.finding for result in check.results if result.check == "pooling")
    assert isinstance(pooling, NotPooled)
    assert pooling.refused.refusals == (
        MixedMaterial(run="haiku_regular.json", stamp=MIXED),
        MixedMaterial(run="opus_regular.json", stamp=MIXED),
    )


def test_one_arm_name_with_two_prompts_is_two_treatments() -> None:
    other = {"baseline": arm([50.0] * 40), PROFILE: arm([60.0] * 40, has_prompt=True, profile_prompts=frozenset({("sha256:old",)}))}
    unstamped = {"baseline": arm([50.0] * 40), PROFILE: arm([60.0] * 40, has_prompt=True, profile_prompts=frozenset())}
    assert checked(run(), run("opus_regular.json", arms=unstamped)).passed, "what was written before the stamp is left alone"
    check = checked(run(), run("opus_regular.json", arms=other))
    assert check.pooled is None
    (pooling,) = (result.finding for result in check.results if result.check == "pooling")
    assert isinstance(pooling, NotPooled)
    (refusal,) = pooling.refused.refusals
    assert isinstance(refusal, ProfilesDiffer)
    assert [side.says for side in refusal.sides] == ["sha256:now", "sha256:old"]


def test_a_skill_that_was_edited_between_files_is_two_treatments_within_one_product() -> None:
    rules = BatchRules(treatment_arm="skill:*")
    arms = {"baseline": arm([50.0] * 40), "skill:x": arm([60.0] * 40)}

    def runs(library: str) -> list[ComparedRun]:
        first = run(arms=arms, arm_content_digests={"baseline": "0", "skill:x": "a"})
        return [first, run("opus_regular.json", arms=arms, arm_content_digests={"baseline": "0", "skill:x": "b"}, library_name=library)]

    assert checked(*runs("Another Library"), rules=rules).passed
    check = checked(*runs("Object Storage"), rules=rules)
    (pooling,) = (result.finding for result in check.results if result.check == "pooling")
    assert isinstance(pooling, NotPooled)
    assert pooling.refused.refusals == (ArmContentsDiffer(runs=("haiku_regular.json", "opus_regular.json"), arms=("skill:x",)),)


def test_different_skills_are_pooled_where_the_pattern_takes_them_all() -> None:
    rules = BatchRules(treatment_arm="skill:*")
    runs = [run(f"{name}_regular.json", arms={"baseline": arm([50.0] * 40), f"skill:{name}": arm([60.0] * 40)}) for name in ("x", "y")]
    check = checked(*runs, rules=rules)
    assert check.passed
    assert check.pooled is not None
    assert check.pooled.files == 2


def test_files_that_cannot_be_read_or_were_rejected_are_findings_and_not_left_out() -> None:
    files = [
        BatchFile(name="haiku_regular.json", run=run()),
        BatchFile(name="opus_regular.json", run=NotReadable(problem="is not JSON.")),
        BatchFile(name="gpt_regular.json.rejected", run=Rejected()),
    ]
    check = check_batch(files, BatchRules(expected_files=3))
    assert [file.findings for file in check.files] == [(), (NotReadable(problem="is not JSON."),), (Rejected(),)]
    assert {result.passed for result in check.files[1].results[1:]} == {None}, "no other check is said to have passed"
    assert [result.finding for result in check.results] == [OtherFileCount(expected=3, files=2), None]


def test_a_file_with_other_arms_has_no_delta_and_is_not_pooled() -> None:
    other = run("opus_regular.json", arms={"baseline": arm([50.0] * 40), "docs": arm([90.0] * 40)})
    check = checked(run(), other)
    assert check.files[1].delta is None
    assert check.pooled is not None
    assert check.pooled.files == 1


def test_a_batch_without_points_has_nothing_to_pool_and_says_so() -> None:
    arms = {"baseline": arm([None] * 40), PROFILE: arm([None] * 40, has_prompt=True)}
    check = checked(run(arms=arms))
    assert check.pooled is None
    assert check.results[1].not_made == "no file has points in both arms"
    assert [type(finding) for finding in check.files[0].findings] == [LowCoverage]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("haiku_regular.json", ("regular", 40)),
        ("haiku_regular.d0.json", ("regular", 40)),
        ("regular.json", ("regular", 40)),
        ("qt_golden.json", ("qt_golden", 111)),
        ("onedal_golden.json", ("golden", 20)),
        ("regular_haiku.json", None),
        ("haiku.json", None),
    ],
)
def test_the_longest_suffix_that_a_name_ends_in_says_its_size(name: str, expected: tuple[str, int] | None) -> None:
    assert expected_count(name, {"regular": 40, "golden": 20, "qt_golden": 111}) == expected


scores = st.lists(st.one_of(st.none(), st.floats(0, 100)), min_size=5, max_size=30)


@given(baseline=scores, treatment=scores)
def test_no_delta_uses_a_question_that_one_arm_did_not_score(baseline: list[float | None], treatment: list[float | None]) -> None:
    size = min(len(baseline), len(treatment))
    arms = {"baseline": arm(baseline[:size]), PROFILE: arm(treatment[:size], has_prompt=True)}
    check = checked(run("x_all.json", arms=arms), rules=BatchRules(expected_questions={"all": size}))
    both = [b - a for a, b in zip(baseline, treatment, strict=False) if a is not None and b is not None]
    delta = check.files[0].delta
    assert (delta is None) is (not both)
    if delta is not None and check.pooled is not None:
        assert delta.pairs == check.pooled.pairs == len(both)
        assert delta.mean_points == pytest.approx(sum(both) / len(both), abs=1e-9)
        assert check.pooled.mean_points == delta.mean_points
    assert any(isinstance(finding, LowCoverage) for finding in check.files[0].findings) is (len(both) / size < 0.95)
