"""Refusals: the named reasons not to compare. They are values; a caller goes on, and `reports.refusal_words` says each as a sentence."""

from typing import Annotated, Literal

from pydantic import Field

from evalplatform.kernel.values import Value


class RunSays(Value):
    """What one run says of a factor, as text a person can read; None is not stated."""

    run: str
    says: str | None


class FactorDiffers(Value):
    """Runs differ in a factor that the comparison does not declare."""

    reason: Literal["factor_differs"] = "factor_differs"
    factor: str
    words: str
    sides: tuple[RunSays, ...]


class SamePluginSet(Value):
    """Both runs have the same plugin set, so there is no plugin to measure."""

    reason: Literal["same_plugin_set"] = "same_plugin_set"
    runs: tuple[str, str]
    plugin_set: str


class OnlyOneJudged(Value):
    """One run was judged and the other was not."""

    reason: Literal["only_one_judged"] = "only_one_judged"
    judged: str
    unjudged: str


class JudgeNotStamped(Value):
    """A judged run does not say who judged."""

    reason: Literal["judge_not_stamped"] = "judge_not_stamped"
    run: str
    missing: str


class MixedMaterial(Value):
    """Some of a run's scores saw the stored material and some only snippets: they are not of one kind."""

    reason: Literal["mixed_material"] = "mixed_material"
    run: str
    stamp: str


class QuestionsDiffer(Value):
    """Runs have other questions, or the same in another order. `position` is the first place, from 0, at which they part."""

    reason: Literal["questions_differ"] = "questions_differ"
    what: Literal["answers", "evaluations"]
    position: int
    sides: tuple[RunSays, ...]


class NoCommonQuestion(Value):
    """No question was scored by every run."""

    reason: Literal["no_common_question"] = "no_common_question"
    runs: tuple[str, ...]


Refusal = Annotated[
    FactorDiffers | SamePluginSet | OnlyOneJudged | JudgeNotStamped | MixedMaterial | QuestionsDiffer | NoCommonQuestion,
    Field(discriminator="reason"),
]


class Refused(Value):
    """A comparison that was not made, and every reason why."""

    comparison: str
    runs: tuple[str, ...]
    refusals: tuple[Refusal, ...] = Field(min_length=1)
