"""Refusals to compare, each as a sentence or two: which runs, which factor, what each run says of it, and what to do about it."""

from collections.abc import Iterable
from functools import singledispatch

from evalplatform.comparisons.refusals import (
    ArmContentsDiffer,
    ArmsDiffer,
    FactorDiffers,
    JudgeNotStamped,
    MaterialNotStored,
    MaterialsDiffer,
    MixedMaterial,
    NoCommonQuestion,
    OnlySomeJudged,
    PinnedArmMissing,
    ProfilesDiffer,
    QuestionsDiffer,
    QuestionTextsDiffer,
    Refusal,
    RunSays,
    SameConfiguration,
    SamePluginLabel,
    SamePluginSet,
    SameRun,
    ScoredArmsDiffer,
)
from evalplatform.kernel.errors import nearest_name
from evalplatform.kernel.text import clip, plural
from evalplatform.reports import words
from evalplatform.reports.visible import one_line

SHOWN_CHARS = 80
MAX_ARMS_SHOWN = 8


@singledispatch
def refusal_sentence(refusal: Refusal) -> str:
    """Return why the runs cannot be compared."""
    raise TypeError(f"no words for {type(refusal).__name__}")


@refusal_sentence.register
def _(refusal: FactorDiffers) -> str:
    return f"The runs differ in {refusal.words}: {_sides(refusal.sides)}."


@refusal_sentence.register
def _(refusal: ArmsDiffer) -> str:
    everywhere = set(refusal.sides[0].arms).intersection(*(side.arms for side in refusal.sides))
    alone = [(side.run, [arm for arm in side.arms if arm not in everywhere]) for side in refusal.sides]
    if any(arms for _, arms in alone):
        more = "; ".join(f"{run} has {_some(arms) if arms else 'none'}" for run, arms in alone)
        return f"The runs differ in arms: beside what all have, {more}. Run the same arms in each."
    orders = "; ".join(f"{side.run} has {', '.join(side.arms)}" for side in refusal.sides)
    return f"The runs differ in the order of their arms: {orders}. Run them in one order."


@refusal_sentence.register
def _(refusal: ArmContentsDiffer) -> str:
    one = len(refusal.arms) == 1
    return (
        f"The runs differ in content of the arms: {_some(refusal.arms)} {'does' if one else 'do'} not inject the same documents, skill or "
        f"profile in {words.listed(list(refusal.runs))}. Run {'it' if one else 'them'} on the same files."
    )


@refusal_sentence.register
def _(refusal: MaterialsDiffer) -> str:
    return (
        f"The runs differ in content of the arms: what stood beside the answers of {refusal.arm} is not the same in "
        f"{words.listed(list(refusal.runs))} for {plural(refusal.questions, 'question')}, the first of them {_value(refusal.first)}. "
        "Run it on the same files."
    )


@refusal_sentence.register
def _(refusal: QuestionTextsDiffer) -> str:
    return (
        f"The runs differ in {refusal.words}: {words.listed(list(refusal.runs))} hold another under the same id for "
        f"{plural(refusal.questions, 'question')}, the first of them {_value(refusal.first)}."
    )


@refusal_sentence.register
def _(refusal: QuestionsDiffer) -> str:
    there = "; ".join(f"{side.run} has {'no more' if side.says is None else _value(side.says)}" for side in refusal.sides)
    return f"The runs differ in {refusal.words}: at place {refusal.position + 1:,} {there}."


@refusal_sentence.register
def _(refusal: OnlySomeJudged) -> str:
    judged, unjudged = words.listed(list(refusal.judged)), words.listed(list(refusal.unjudged))
    return f"{judged} {_was(refusal.judged)} judged and {unjudged} {_was(refusal.unjudged)} not. Judge all of them, or none."


@refusal_sentence.register
def _(refusal: JudgeNotStamped) -> str:
    missing = words.listed(list(refusal.missing))
    return f"{refusal.run} was judged but does not say by whom: {missing} {'is' if len(refusal.missing) == 1 else 'are'} missing."


@refusal_sentence.register
def _(refusal: MixedMaterial) -> str:
    return (
        f"In {refusal.run} some scores saw the stored material and some only snippets (judge_context {refusal.stamp}); they are not of one "
        "kind. Judge it again."
    )


@refusal_sentence.register
def _(refusal: SamePluginSet) -> str:
    first, second = refusal.labels
    spelt = first if first == second else f"spelt {first} in one and {second} in the other"
    return f"{refusal.runs[0]} and {refusal.runs[1]} have the same plugin set, {spelt}: there is no plugin to measure."


@refusal_sentence.register
def _(refusal: SamePluginLabel) -> str:
    return (
        f"{refusal.runs[0]} and {refusal.runs[1]} both call their plugin set {refusal.label}, although its ids differ ({refusal.ids[0]} "
        f"and {refusal.ids[1]}): a delta could not say which is which."
    )


@refusal_sentence.register
def _(refusal: NoCommonQuestion) -> str:
    return f"No question was scored by all of {', '.join(refusal.runs)}."


@refusal_sentence.register
def _(refusal: MaterialNotStored) -> str:
    return (
        f"{refusal.run} does not hold what the judge was shown beside {plural(refusal.questions, 'answer')} of the arm {refusal.arm}, "
        "so another judge cannot be shown the same; run answering and judging again."
    )


@refusal_sentence.register
def _(refusal: ScoredArmsDiffer) -> str:
    scored = "; ".join(f"{side.run} on {_some(side.arms)}" for side in refusal.sides)
    return (
        f"The runs are scored on {len(refusal.arms)} different arms: {scored}. Each delta would be of another treatment. "
        "Name the arm that every run must be scored on (--treatment-arm)."
    )


@refusal_sentence.register
def _(refusal: PinnedArmMissing) -> str:
    if refusal.arm not in refusal.known:
        nearest = nearest_name(refusal.arm, refusal.known)
        return f"{refusal.run} has no arm {refusal.arm!r}; it has {_some(refusal.known)}.{f' Did you mean {nearest!r}?' if nearest else ''}"
    return (
        f"{refusal.run} was judged on {refusal.arm!r} in {refusal.judged:,} of its {plural(refusal.questions, 'question')}: "
        "an arm that runs are compared on is in every one."
    )


@refusal_sentence.register
def _(refusal: ProfilesDiffer) -> str:
    return (
        f"The arm {refusal.arm!r} stands for more than one profile text: {_sides(refusal.sides)}. A profile was edited and kept its id. "
        "Run every cell again on one text."
    )


@refusal_sentence.register
def _(refusal: SameConfiguration) -> str:
    return (
        f"{words.listed(list(refusal.runs))} are runs of one configuration ({refusal.model or 'unknown model'}, judged by "
        f"{refusal.judge_model or 'nobody'}): samples of one thing, not rivals. Average them (--pool-replicates), or give one of them."
    )


@refusal_sentence.register
def _(refusal: SameRun) -> str:
    return f"{words.listed(list(refusal.runs))} hold one run, so its answers would count again with each: leave one of them."


def _sides(sides: Iterable[RunSays]) -> str:
    """Return what the runs say; those that say the same are named together."""
    by_value: dict[str | None, list[str]] = {}
    for side in sides:
        by_value.setdefault(side.says, []).append(side.run)
    return "; ".join(
        f"{words.listed(runs)} {'says' if len(runs) == 1 else 'say'} {'nothing of it' if says is None else _value(says)}"
        for says, runs in by_value.items()
    )


def _value(says: str) -> str:
    return clip(one_line(says), SHOWN_CHARS)


def _some(arms: Iterable[str]) -> str:
    named = list(arms)
    left = len(named) - MAX_ARMS_SHOWN
    return words.listed([*named[:MAX_ARMS_SHOWN], f"{left} more"] if left > 0 else named)


def _was(runs: tuple[str, ...]) -> str:
    return "was" if len(runs) == 1 else "were"
