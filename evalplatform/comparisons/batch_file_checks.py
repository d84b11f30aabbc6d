"""The checks that a batch check makes of each run: each returns a finding, a sentence on why it was not made, or None where all is well."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from itertools import chain

from evalplatform.comparisons.batch_findings import (
    AnswersMissing,
    BatchFinding,
    CheckResult,
    FileCheckName,
    JudgesItself,
    LowCoverage,
    MixedJudgeContext,
    NoProfileDigest,
    NoRun,
    NoSuffixFits,
    NotJudged,
    NotReadable,
    NotTwoArms,
    OtherBaseline,
    OtherJudge,
    OtherTreatment,
    PointsWithoutAnswer,
    Rejected,
    StaleProfile,
    SystemPromptMisplaced,
    Truncated,
    WrongMap,
)
from evalplatform.comparisons.batch_rules import BatchRules, expected_count
from evalplatform.comparisons.comparability import MIXED_MATERIAL
from evalplatform.comparisons.compared_run import ComparedArm, ComparedRun
from evalplatform.judging.judge import model_of_stamp
from evalplatform.kernel.model_names import same_model
from evalplatform.plugins.plugin_set import NO_PLUGINS_LABEL

UNREADABLE = "the file cannot be read"
NO_TREATMENT = "it is not known which arm is the treatment"
NOT_JUDGED = "nobody judged the run"
NO_PROFILE_ARM = "the treatment is no profile"
NO_PROFILE_NAMED = "no profile was named to compare with"
PROMPTS_OF_PLUGINS = "the cell's plugins write a system prompt into every arm, so having one says nothing of the profile"

Found = BatchFinding | str | None


def file_results(run: ComparedRun | NotReadable | Rejected | NoRun, rules: BatchRules) -> tuple[CheckResult, ...]:
    """Return how every check of one file ended, in a fixed order. The run's `name` is the file's."""
    if not isinstance(run, ComparedRun):
        return (CheckResult(check="schema", finding=run), *(CheckResult(check=name, not_made=UNREADABLE) for name in _CHECKS))
    return (CheckResult(check="schema"), *(_result(name, check(run, rules)) for name, check in _CHECKS.items()))


def treatment_of(run: ComparedRun, rules: BatchRules) -> str | None:
    """Return the one arm that the rules call the treatment, or None where the run's arms are not those of the rules."""
    if _arms(run, rules) is not None or _baseline_arm(run, rules) is not None:
        return None
    (arm,) = run.treatment_arms
    return arm if _fits(arm, rules) else None


def _result(check: FileCheckName, found: Found) -> CheckResult:
    return CheckResult(check=check, not_made=found) if isinstance(found, str) else CheckResult(check=check, finding=found)


def _complete(run: ComparedRun, rules: BatchRules) -> Found:
    return None if run.truncated_reason is None else Truncated(reason=run.truncated_reason)


def _arms(run: ComparedRun, rules: BatchRules) -> Found:
    return None if len(run.identity.arms) == 2 else NotTwoArms(arms=run.identity.arms)


def _baseline_arm(run: ComparedRun, rules: BatchRules) -> Found:
    stated, arms = run.identity.baseline_arm, run.identity.arms
    if stated == rules.baseline_arm and stated in arms:
        return None
    return OtherBaseline(wanted=rules.baseline_arm, stated=stated, arms=arms)


def _treatment_arm(run: ComparedRun, rules: BatchRules) -> Found:
    if _arms(run, rules) is not None or _baseline_arm(run, rules) is not None:
        return NO_TREATMENT
    (arm,) = run.treatment_arms
    return None if _fits(arm, rules) else OtherTreatment(pattern=rules.treatment_arm, arm=arm)


def _fits(arm: str, rules: BatchRules) -> bool:
    return arm == rules.treatment_arm or fnmatchcase(arm, rules.treatment_arm)


def _judge(run: ComparedRun, rules: BatchRules) -> Found:
    if not run.identity.is_judged:
        return NotJudged()
    model, provider = run.identity.judge_model, run.identity.judge_provider
    if (model, provider) == (rules.judge_model, rules.judge_provider):
        return None
    return OtherJudge(wanted_provider=rules.judge_provider, wanted_model=rules.judge_model, provider=provider, model=model)


def _self_judging(run: ComparedRun, rules: BatchRules) -> Found:
    """Ask by name alone: one model behind two providers favours its own answers just as well."""
    of = run.identity
    if of.judge_model is None:
        return NOT_JUDGED
    if of.model is None:
        return "the run does not say which model answered"
    if not same_model(model_of_stamp(of.judge_model), of.model):
        return None
    return JudgesItself(model=of.model, provider=of.provider, judge_model=of.judge_model, judge_provider=of.judge_provider)


def _judge_context(run: ComparedRun, rules: BatchRules) -> Found:
    if not run.identity.is_judged:
        return NOT_JUDGED
    stamp = run.identity.judge_context
    return MixedJudgeContext(stamp=stamp) if stamp == MIXED_MATERIAL else None


def _question_count(run: ComparedRun, rules: BatchRules) -> Found:
    total = run.identity.total_questions
    expected = expected_count(run.name, rules.expected_questions)
    if expected is None:
        return NoSuffixFits(suffixes=tuple(rules.expected_questions), total_questions=total)
    if expected.questions == total:
        return None
    return WrongMap(suffix=expected.suffix, expected=expected.questions, total_questions=total)


def _answers(run: ComparedRun, rules: BatchRules) -> Found:
    total = run.identity.total_questions
    missing = {arm: run.arms[arm].answers for arm in run.identity.arms if run.arms[arm].answers != total}
    return AnswersMissing(total_questions=total, answers_by_arm=missing) if missing else None


def _points(run: ComparedRun, rules: BatchRules) -> Found:
    if not run.identity.is_judged:
        return NOT_JUDGED
    by_arm = {arm: count for arm in run.identity.arms if (count := run.arms[arm].points_without_answer)}
    return PointsWithoutAnswer(questions=len(run.compared_questions), points_by_arm=by_arm) if by_arm else None


def _system_prompt(run: ComparedRun, rules: BatchRules) -> Found:
    arm = treatment_of(run, rules)
    if arm is None:
        return NO_TREATMENT
    treatment, baseline = run.arms[arm], run.arms[run.identity.baseline_arm]
    if not _has_profile(arm, treatment):
        return NO_PROFILE_ARM
    if run.identity.plugin_set != NO_PLUGINS_LABEL and baseline.with_system_prompt:
        return PROMPTS_OF_PLUGINS
    treatment_answered, baseline_answered = treatment.answers - treatment.failed, baseline.answers - baseline.failed
    without = treatment_answered - treatment.with_system_prompt
    if not without and not baseline.with_system_prompt:
        return None
    return SystemPromptMisplaced(
        treatment_arm=arm,
        treatment_without=without,
        treatment_answered=treatment_answered,
        baseline_arm=run.identity.baseline_arm,
        baseline_with=baseline.with_system_prompt,
        baseline_answered=baseline_answered,
    )


def _has_profile(name: str, arm: ComparedArm) -> bool:
    return bool(arm.profile_prompt_digests) or name.startswith("profile:") or "+profile:" in name


def _profile(run: ComparedRun, rules: BatchRules) -> Found:
    if rules.profile is None:
        return NO_PROFILE_NAMED
    arm = treatment_of(run, rules)
    if arm is None:
        return NO_TREATMENT
    prompts = run.arms[arm].profile_prompts
    if not prompts:
        return NoProfileDigest(treatment_arm=arm)
    current = rules.profile.prompt_digest
    if all(current in of_answer for of_answer in prompts):  # a combined arm's answers carry the digest of each of its profiles
        return None
    stamped = tuple(sorted(run.arms[arm].profile_prompt_digests))
    return StaleProfile(treatment_arm=arm, profile=rules.profile.path, stamped=stamped, current=current)


def _coverage(run: ComparedRun, rules: BatchRules) -> Found:
    arm = treatment_of(run, rules)
    if arm is None:
        return NO_TREATMENT
    if not run.identity.is_judged:
        return NOT_JUDGED
    baseline, treatment = run.arms[run.identity.baseline_arm], run.arms[arm]
    pairs = sum(question in treatment.points for question in baseline.points)
    # A file that states fewer questions than it holds does not cover them all by saying so.
    total = max(run.identity.total_questions, len(run.identity.question_ids))
    if total and pairs / total >= rules.least_coverage_rate:
        return None
    return LowCoverage(pairs=pairs, total_questions=total, least_rate=rules.least_coverage_rate, unscored=_unscored(baseline, treatment))


def _unscored(*arms: ComparedArm) -> dict[str, int]:
    reasons = sorted(set(chain.from_iterable(arm.unscored_reasons for arm in arms)))
    return {reason: sum(arm.unscored_reasons.get(reason, 0) for arm in arms) for reason in reasons}


_CHECKS: Mapping[FileCheckName, Callable[[ComparedRun, BatchRules], Found]] = {
    "complete": _complete,
    "arms": _arms,
    "baseline_arm": _baseline_arm,
    "treatment_arm": _treatment_arm,
    "judge": _judge,
    "self_judging": _self_judging,
    "judge_context": _judge_context,
    "question_count": _question_count,
    "answers": _answers,
    "points": _points,
    "system_prompt": _system_prompt,
    "profile": _profile,
    "coverage": _coverage,
}
