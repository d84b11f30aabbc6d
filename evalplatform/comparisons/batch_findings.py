"""What a batch check can find: one small frozen value a finding. `reports.batch_check_words` says each as a sentence."""

from typing import Annotated, Literal

from pydantic import Field

from evalplatform.comparisons.refusals import Refused
from evalplatform.kernel.values import Value

FileCheckName = Literal[
    "schema",
    "complete",
    "arms",
    "baseline_arm",
    "treatment_arm",
    "judge",
    "self_judging",
    "judge_context",
    "question_count",
    "answers",
    "points",
    "system_prompt",
    "profile",
    "coverage",
]
BatchCheckName = Literal["files", "pooling"]
CheckName = FileCheckName | BatchCheckName


class NotReadable(Value):
    """The file is no JSON, or no valid arms.v1; `problem` says where and why."""

    check: Literal["schema"] = "schema"
    finding: Literal["not_readable"] = "not_readable"
    problem: str


class Rejected(Value):
    """The file is a result that its writer did not accept: a run of the batch that was paid for and is not among its artifacts."""

    check: Literal["schema"] = "schema"
    finding: Literal["rejected"] = "rejected"


class NoRun(Value):
    """What lies where a file of the batch would, by its name, is no arms.v1 file; `what` says what it is instead.

    `suffix` is the one of the expected ones that its name ends in; None for a link that leads nowhere, whatever its name.
    """

    check: Literal["schema"] = "schema"
    finding: Literal["no_run"] = "no_run"
    what: str
    suffix: str | None = None


class Truncated(Value):
    """The run says that it stopped before every question was asked."""

    check: Literal["complete"] = "complete"
    finding: Literal["truncated"] = "truncated"
    reason: str


class NotTwoArms(Value):
    """The run has fewer or more arms than a baseline and a treatment."""

    check: Literal["arms"] = "arms"
    finding: Literal["not_two_arms"] = "not_two_arms"
    arms: tuple[str, ...]


class OtherBaseline(Value):
    """Deltas of the run are measured from another arm, or from one that it does not have."""

    check: Literal["baseline_arm"] = "baseline_arm"
    finding: Literal["other_baseline"] = "other_baseline"
    wanted: str
    stated: str
    arms: tuple[str, ...]


class OtherTreatment(Value):
    """The treatment arm does not fit the pattern."""

    check: Literal["treatment_arm"] = "treatment_arm"
    finding: Literal["other_treatment"] = "other_treatment"
    pattern: str
    arm: str


class NotJudged(Value):
    """Nobody judged the run."""

    check: Literal["judge"] = "judge"
    finding: Literal["not_judged"] = "not_judged"


class OtherJudge(Value):
    """Another judge than the pinned one; None is not stated."""

    check: Literal["judge"] = "judge"
    finding: Literal["other_judge"] = "other_judge"
    wanted_provider: str
    wanted_model: str
    provider: str | None
    model: str | None


class JudgesItself(Value):
    """The judge is the answering model, by its name without vendor, region, variant and date, whoever serves it."""

    check: Literal["self_judging"] = "self_judging"
    finding: Literal["judges_itself"] = "judges_itself"
    model: str
    provider: str | None
    judge_model: str
    judge_provider: str | None


class MixedJudgeContext(Value):
    """Some of the run's scores saw the stored material and some only snippets."""

    check: Literal["judge_context"] = "judge_context"
    finding: Literal["mixed_judge_context"] = "mixed_judge_context"
    stamp: str


class NoSuffixFits(Value):
    """The file's name ends in none of the suffixes, so nothing but the file itself says how many questions it should have."""

    check: Literal["question_count"] = "question_count"
    finding: Literal["no_suffix_fits"] = "no_suffix_fits"
    suffixes: tuple[str, ...]
    total_questions: int


class WrongMap(Value):
    """The expected count is not the size of the question set that the file states: the map is mis-specified, the run is not short."""

    check: Literal["question_count"] = "question_count"
    finding: Literal["wrong_map"] = "wrong_map"
    suffix: str
    expected: int
    total_questions: int


class AnswersMissing(Value):
    """Arms without a row for some question. `answers_by_arm` holds the arms that are short."""

    check: Literal["answers"] = "answers"
    finding: Literal["answers_missing"] = "answers_missing"
    total_questions: int
    answers_by_arm: dict[str, int]


class PointsWithoutAnswer(Value):
    """Scores with points where the answer failed, is blank or has no row, counted by arm; they are no points."""

    check: Literal["points"] = "points"
    finding: Literal["points_without_answer"] = "points_without_answer"
    questions: int
    points_by_arm: dict[str, int]


class SystemPromptMisplaced(Value):
    """A profile's system prompt did not reach every answer of the treatment arm, or reached some of the baseline."""

    check: Literal["system_prompt"] = "system_prompt"
    finding: Literal["system_prompt_misplaced"] = "system_prompt_misplaced"
    treatment_arm: str
    treatment_without: int
    treatment_answered: int
    baseline_arm: str
    baseline_with: int
    baseline_answered: int


class NoProfileDigest(Value):
    """The treatment's answers do not say which prompt they were sent."""

    check: Literal["profile"] = "profile"
    finding: Literal["no_profile_digest"] = "no_profile_digest"
    treatment_arm: str


class StaleProfile(Value):
    """The treatment's answers were sent another prompt than the profile's file gives now."""

    check: Literal["profile"] = "profile"
    finding: Literal["stale_profile"] = "stale_profile"
    treatment_arm: str
    profile: str
    stamped: tuple[str, ...]
    current: str


class LowCoverage(Value):
    """Too few questions were scored in both arms."""

    check: Literal["coverage"] = "coverage"
    finding: Literal["low_coverage"] = "low_coverage"
    pairs: int
    total_questions: int
    least_rate: float
    unscored: dict[str, int]


class OtherFileCount(Value):
    """The batch has fewer or more files than it should."""

    check: Literal["files"] = "files"
    finding: Literal["other_file_count"] = "other_file_count"
    expected: int
    files: int


class NotPooled(Value):
    """The batch's questions are not pooled, and every reason why."""

    check: Literal["pooling"] = "pooling"
    finding: Literal["not_pooled"] = "not_pooled"
    refused: Refused


BatchFinding = Annotated[
    NotReadable
    | Rejected
    | NoRun
    | Truncated
    | NotTwoArms
    | OtherBaseline
    | OtherTreatment
    | NotJudged
    | OtherJudge
    | JudgesItself
    | MixedJudgeContext
    | NoSuffixFits
    | WrongMap
    | AnswersMissing
    | PointsWithoutAnswer
    | SystemPromptMisplaced
    | NoProfileDigest
    | StaleProfile
    | LowCoverage
    | OtherFileCount
    | NotPooled,
    Field(discriminator="finding"),
]


class CheckResult(Value):
    """How one check ended: passed; failed with a finding; or not made, and why."""

    check: CheckName
    finding: BatchFinding | None = None
    not_made: str | None = None

    @property
    def passed(self) -> bool | None:
        """Whether the check passed; None where it was not made."""
        return None if self.not_made is not None else self.finding is None
