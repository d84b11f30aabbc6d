"""Refusals: the named reasons not to compare. They are values; a caller goes on, and `reports.refusal_words` says each as a sentence.

A refusal about a factor of the comparability key has its name in `factor`.
"""

from typing import Annotated, Literal

from pydantic import Field

from evalplatform.kernel.values import Value

ComparisonKind = Literal["plugin_delta", "model_comparison", "pooled_replicates", "batch_pool", "cross_judge"]
"""The stable names of what compares runs with each other."""


class RunSays(Value):
    """What one run says of a factor, as text a person can read; None is not stated."""

    run: str
    says: str | None


class FactorDiffers(Value):
    """Runs differ in a factor that the comparison does not declare. `words` is how a sentence names it."""

    reason: Literal["factor_differs"] = "factor_differs"
    factor: str
    words: str
    sides: tuple[RunSays, ...]


class RunArms(Value):
    """The arms of one run, in its order."""

    run: str
    arms: tuple[str, ...]


class ArmsDiffer(Value):
    """Runs have other arms, or the same in another order."""

    reason: Literal["arms_differ"] = "arms_differ"
    factor: Literal["arms"] = "arms"
    sides: tuple[RunArms, ...]


class ArmContentsDiffer(Value):
    """Arms of one name inject other content (documents, skill, system prompt) in one run than in another. `arms` are the ones that do."""

    reason: Literal["arm_contents_differ"] = "arm_contents_differ"
    factor: Literal["arm_contents"] = "arm_contents"
    runs: tuple[str, ...]
    arms: tuple[str, ...]


class MaterialsDiffer(Value):
    """What stood beside an arm's answers is not the same material in every run: of `questions` common questions, `first` among them."""

    reason: Literal["materials_differ"] = "materials_differ"
    factor: Literal["arm_contents"] = "arm_contents"
    runs: tuple[str, ...]
    arm: str
    questions: int
    first: str


class ProfilesDiffer(Value):
    """One arm's name stands for several profile texts, told by their digests: the profile was edited and kept its id."""

    reason: Literal["profiles_differ"] = "profiles_differ"
    factor: Literal["arm_contents"] = "arm_contents"
    arm: str
    sides: tuple[RunSays, ...]


class QuestionTextsDiffer(Value):
    """Under one id runs hold different texts, or references to grade against: of `questions` common questions, `first` among them."""

    reason: Literal["question_texts_differ"] = "question_texts_differ"
    factor: str
    words: str
    runs: tuple[str, ...]
    questions: int
    first: str


class QuestionsDiffer(Value):
    """Runs have other questions (or judged questions), or the same in another order.

    `position` is the first place, from 0, at which they part; `sides` say which question each has there, and nothing where a run has ended.
    """

    reason: Literal["questions_differ"] = "questions_differ"
    factor: str
    words: str
    position: int
    sides: tuple[RunSays, ...]


class OnlySomeJudged(Value):
    """Some runs were judged and others were not."""

    reason: Literal["only_some_judged"] = "only_some_judged"
    factor: Literal["is_judged"] = "is_judged"
    judged: tuple[str, ...]
    unjudged: tuple[str, ...]


class JudgeNotStamped(Value):
    """A judged run does not say who judged; `missing` names the fields that it lacks."""

    reason: Literal["judge_not_stamped"] = "judge_not_stamped"
    run: str
    missing: tuple[str, ...]


class MixedMaterial(Value):
    """Some of a run's scores saw the stored material and some only snippets: they are not of one kind."""

    reason: Literal["mixed_material"] = "mixed_material"
    run: str
    stamp: str


class SamePluginSet(Value):
    """Both runs have the same plugin set, so there is no plugin to measure. `labels` are how they spell it."""

    reason: Literal["same_plugin_set"] = "same_plugin_set"
    runs: tuple[str, str]
    labels: tuple[str, str]


class SamePluginLabel(Value):
    """Both runs call their plugin set by one label although it does different things, so that no report could tell the sides apart."""

    reason: Literal["same_plugin_label"] = "same_plugin_label"
    runs: tuple[str, str]
    label: str
    ids: tuple[str, str]


class NoCommonQuestion(Value):
    """No question is in every run: judged in each of them (with or without points), asked where nobody judged, scored where pooled."""

    reason: Literal["no_common_question"] = "no_common_question"
    runs: tuple[str, ...]


class MaterialNotStored(Value):
    """Answers whose judge material cannot be shown to another judge: no digest names it, or no text has that digest.

    `questions` counts the arm's answers without it.
    """

    reason: Literal["material_not_stored"] = "material_not_stored"
    run: str
    arm: str
    questions: int


FactorRefusal = (
    FactorDiffers
    | ArmsDiffer
    | ArmContentsDiffer
    | MaterialsDiffer
    | ProfilesDiffer
    | QuestionTextsDiffer
    | QuestionsDiffer
    | OnlySomeJudged
)
"""Runs differ in a factor, whose name is in `factor`."""


class ScoredArmsDiffer(Value):
    """Runs have points for several arms beside the baseline, all together or one of them alone, and none is pinned: whose delta is it?"""

    reason: Literal["scored_arms_differ"] = "scored_arms_differ"
    arms: tuple[str, ...]
    sides: tuple[RunArms, ...]


class PinnedArmMissing(Value):
    """A run was not judged on the pinned arm in every question: in `judged` of its `questions`. `known` are the arms that it has."""

    reason: Literal["pinned_arm_missing"] = "pinned_arm_missing"
    run: str
    arm: str
    judged: int
    questions: int
    known: tuple[str, ...]


class SameConfiguration(Value):
    """Runs are samples of one configuration: ranking them against each other would report sampling noise as a difference of models."""

    reason: Literal["same_configuration"] = "same_configuration"
    runs: tuple[str, ...]
    model: str | None
    judge_model: str | None


class SameRun(Value):
    """Runs are one run, such as a file and its copy: every answer would count more than once."""

    reason: Literal["same_run"] = "same_run"
    runs: tuple[str, ...]


Refusal = Annotated[
    FactorRefusal
    | JudgeNotStamped
    | MixedMaterial
    | SamePluginSet
    | SamePluginLabel
    | NoCommonQuestion
    | MaterialNotStored
    | ScoredArmsDiffer
    | PinnedArmMissing
    | SameConfiguration
    | SameRun,
    Field(discriminator="reason"),
]


class Refused(Value):
    """A comparison that was not made, and every reason why."""

    comparison: ComparisonKind
    runs: tuple[str, ...]
    refusals: tuple[Refusal, ...] = Field(min_length=1)
