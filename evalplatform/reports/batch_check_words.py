"""What a batch check finds, each as one sentence that says what is there, what should be, and what that means."""

from functools import singledispatch

from evalplatform.comparisons import batch_findings as found
from evalplatform.comparisons.batch_findings import BatchFinding, CheckName
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.refusal_words import refusal_sentence

CHECK_WORDS: dict[CheckName, str] = {
    "schema": "is a readable arms.v1 file",
    "complete": "the run was not cut short",
    "arms": "has exactly two arms",
    "baseline_arm": "measures from the baseline arm",
    "treatment_arm": "the other arm is the treatment",
    "judge": "was judged by the pinned judge",
    "self_judging": "the judge is not the answering model",
    "judge_context": "all scores saw the same kind of material",
    "question_count": "has the expected number of questions",
    "answers": "has a row for every question in both arms",
    "points": "all points are of answers",
    "system_prompt": "the profile reached the treatment and not the baseline",
    "profile": "was answered with the profile as it is now",
    "coverage": "enough questions were scored in both arms",
    "files": "the batch has the expected number of files",
    "pooling": "the files can be pooled",
}
"""What it means that a check passed."""


@singledispatch
def finding_sentence(finding: BatchFinding) -> str:
    """Return what is wrong, as one sentence or two."""
    raise TypeError(f"no words for {type(finding).__name__}")


@finding_sentence.register
def _(finding: found.NotReadable) -> str:
    return f"The file cannot be read as arms.v1: {finding.problem}"


@finding_sentence.register
def _(finding: found.Rejected) -> str:
    return "The writer of this result rejected it as invalid; it was paid for, and the batch lacks the file it should have become."


@finding_sentence.register
def _(finding: found.NoRun) -> str:
    if finding.suffix is None:
        return f"It is {finding.what}, so what should be there is not."
    return f"The name ends in {finding.suffix}, as a file of the batch does by --expect-n, and it is no arms.v1 file: {finding.what}."


@finding_sentence.register
def _(finding: found.Truncated) -> str:
    return f"The run is truncated ({finding.reason}): it stopped before every question was asked."


@finding_sentence.register
def _(finding: found.NotTwoArms) -> str:
    return f"A file of a batch has exactly two arms; this one has {len(finding.arms)}: {words.listed(list(finding.arms))}."


@finding_sentence.register
def _(finding: found.OtherBaseline) -> str:
    if finding.stated != finding.wanted:
        return f"Deltas are measured from {finding.stated}, not from {finding.wanted}: from another zero."
    return f"The baseline arm {finding.wanted} is not among its arms: {words.listed(list(finding.arms))}."


@finding_sentence.register
def _(finding: found.OtherTreatment) -> str:
    return f"The treatment arm is {finding.arm}, which does not fit {finding.pattern}."


@finding_sentence.register
def _(finding: found.NotJudged) -> str:
    return "The run was not judged: it has answers and no points."


@finding_sentence.register
def _(finding: found.OtherJudge) -> str:
    wanted = f"{finding.wanted_provider}/{finding.wanted_model}"
    said = f"The judge is {finding.provider or 'not stated'}/{finding.model or 'not stated'}, and the batch's judge is {wanted}."
    if finding.provider is None or finding.model != finding.wanted_model:
        return said
    return f"{said} --judge-provider takes a provider as files state it, such as {finding.provider}; the id of an endpoint is none."


@finding_sentence.register
def _(finding: found.JudgesItself) -> str:
    answered, judged = f"{finding.provider or '?'}/{finding.model}", f"{finding.judge_provider or '?'}/{finding.judge_model}"
    return f"Self-judging: {answered} answered and {judged} judged, which is one model by its name; models favour what they would write."


@finding_sentence.register
def _(finding: found.MixedJudgeContext) -> str:
    return f"Some scores saw the stored material and some only snippets ({finding.stamp}); such a run pools with nothing."


@finding_sentence.register
def _(finding: found.NoSuffixFits) -> str:
    suffixes = words.listed(list(finding.suffixes))
    own = f"gated by its own count of {finding.total_questions:,} it would hold by construction"
    return f"The file's name ends in none of the suffixes of --expect-n ({suffixes}), and {own}; give it a suffix and a count."


@finding_sentence.register
def _(finding: found.WrongMap) -> str:
    said = f"--expect-n says {finding.suffix}={finding.expected:,}, and the file states {plural(finding.total_questions, 'question')}"
    return f"{said}: the map is mis-specified for this file; that is no short run."


@finding_sentence.register
def _(finding: found.AnswersMissing) -> str:
    arms = [f"{arm} has {count:,}" for arm, count in finding.answers_by_arm.items()]
    return f"The file states {plural(finding.total_questions, 'question')}, and {words.listed(arms)} answer rows."


@finding_sentence.register
def _(finding: found.PointsWithoutAnswer) -> str:
    arms = [f"{arm} has points for {count:,}" for arm, count in finding.points_by_arm.items()]
    of = plural(finding.questions, "judged question")
    return f"Of {of}, {words.listed(arms)} whose answer failed, is blank or is missing: these are no points, and are not counted."


@finding_sentence.register
def _(finding: found.SystemPromptMisplaced) -> str:
    parts = []
    if finding.treatment_without:
        parts.append(f"did not reach {_of(finding.treatment_without, finding.treatment_answered)} of {finding.treatment_arm}")
    if finding.baseline_with:
        parts.append(f"reached {_of(finding.baseline_with, finding.baseline_answered)} of {finding.baseline_arm}")
    return f"A system prompt {' and '.join(parts)}: the delta is not the profile's."


@finding_sentence.register
def _(finding: found.NoProfileDigest) -> str:
    return f"The answers of {finding.treatment_arm} do not say which prompt they were sent, so whether it is current cannot be told."


@finding_sentence.register
def _(finding: found.StaleProfile) -> str:
    sent = f"{finding.treatment_arm} was sent the prompt {words.listed(list(finding.stamped))}"
    return f"STALE ARTIFACT: {sent}, and {finding.profile} now gives {finding.current}. Run it again."


@finding_sentence.register
def _(finding: found.LowCoverage) -> str:
    share = words.share(finding.pairs / finding.total_questions) if finding.total_questions else words.MISSING
    scored = f"{finding.pairs:,} of {plural(finding.total_questions, 'question')} were scored in both arms ({share})"
    why = f"unscored: {words.tally(finding.unscored)}" if any(finding.unscored.values()) else "the others are not in the scores at all"
    return f"Coverage: {scored}, below {finding.least_rate * 100:g}%; {why}."


@finding_sentence.register
def _(finding: found.OtherFileCount) -> str:
    return f"The batch has {plural(finding.files, 'file')}, and --expect-files says {finding.expected:,}."


@finding_sentence.register
def _(finding: found.NotPooled) -> str:
    reasons = " ".join(refusal_sentence(refusal) for refusal in finding.refused.refusals)
    return f"The files are not pooled. {reasons}"


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {plural(whole, 'answer')}"
