"""Refusals to compare, each as one sentence that names the runs, the factor, and what each run says of it."""

from functools import singledispatch

from evalplatform.comparisons.refusals import (
    FactorDiffers,
    JudgeNotStamped,
    MixedMaterial,
    NoCommonQuestion,
    OnlyOneJudged,
    QuestionsDiffer,
    Refusal,
    RunSays,
    SamePluginSet,
)
from evalplatform.kernel.text import clip

SHOWN_CHARS = 80


@singledispatch
def refusal_sentence(refusal: Refusal) -> str:
    """Return why the runs cannot be compared, as one sentence."""
    raise TypeError(f"no words for {type(refusal).__name__}")


@refusal_sentence.register
def _(refusal: FactorDiffers) -> str:
    return f"The runs differ in {refusal.words}: {_sides(refusal.sides)}."


@refusal_sentence.register
def _(refusal: SamePluginSet) -> str:
    return f"{refusal.runs[0]} and {refusal.runs[1]} have the same plugin set, {refusal.plugin_set}: there is no plugin to measure."


@refusal_sentence.register
def _(refusal: OnlyOneJudged) -> str:
    return f"{refusal.judged} was judged and {refusal.unjudged} was not; judge both, or neither."


@refusal_sentence.register
def _(refusal: JudgeNotStamped) -> str:
    return f"{refusal.run} was judged but does not say by whom: {refusal.missing} is missing."


@refusal_sentence.register
def _(refusal: MixedMaterial) -> str:
    return f"In {refusal.run} some scores saw the stored material and some only snippets ({refusal.stamp}); they are not of one kind."


@refusal_sentence.register
def _(refusal: QuestionsDiffer) -> str:
    return f"The runs part in their {refusal.what} at position {refusal.position} (from 0): {_sides(refusal.sides)}."


@refusal_sentence.register
def _(refusal: NoCommonQuestion) -> str:
    return f"No question was scored by all of {', '.join(refusal.runs)}."


def _sides(sides: tuple[RunSays, ...]) -> str:
    return "; ".join(f"{side.run} says {'nothing' if side.says is None else clip(side.says, SHOWN_CHARS)}" for side in sides)
