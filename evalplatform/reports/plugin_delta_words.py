"""The warnings of a plugin delta, each as a sentence."""

from collections.abc import Mapping, Sequence
from functools import singledispatch

from evalplatform.comparisons.plugin_delta_records import (
    ControlHasPlugins,
    DeltaWarning,
    FewPairs,
    OneHasJudgeMetrics,
    PartialCost,
    QuestionSetsDiffer,
    SeedsDiffer,
    WrongWayRound,
)
from evalplatform.comparisons.refusals import RunSays
from evalplatform.comparisons.run_warnings import RunTruncated
from evalplatform.kernel.text import plural
from evalplatform.project.policy import LEAST_COVERAGE_RATE
from evalplatform.reports import words
from evalplatform.reports.run_warning_words import truncated_sentence


@singledispatch
def delta_warning(warning: DeltaWarning) -> str:
    """Return what to know before reading the numbers of a plugin delta."""
    raise TypeError(f"no words for {type(warning).__name__}")


@delta_warning.register
def _(warning: ControlHasPlugins) -> str:
    return (
        f"{warning.run} has the plugin set {warning.plugin_set}: the delta is between two plugin sets, not against a run without plugins."
    )


@delta_warning.register
def _(warning: WrongWayRound) -> str:
    return (
        f"The runs are the wrong way round: {warning.control}, given as the control, has the plugin set {warning.plugin_set}, and "
        f"{warning.plain}, given as the run with plugins, has none. Every delta says what taking the plugins away does. "
        f"Give {warning.plain} as the control (--baseline-json) and {warning.control} as the run with plugins (--plugin-json)."
    )


@delta_warning.register
def _(warning: OneHasJudgeMetrics) -> str:
    return (
        f"{warning.having} records what its judge calls took (judge_metrics) and {warning.lacking} does not, so the scores may have come "
        "about in different ways."
    )


@delta_warning.register
def _(warning: RunTruncated) -> str:
    return truncated_sentence(warning)


@delta_warning.register
def _(warning: FewPairs) -> str:
    arms, verb = words.listed(list(warning.arms)), "was" if len(warning.arms) == 1 else "were"
    number = f"{warning.pairs:,} of {plural(warning.questions, 'question')}"
    rate = f"{words.share(warning.pairs / warning.questions)}, {words.share(LEAST_COVERAGE_RATE)} needed"
    if warning.most_pairs == 0:
        return f"{arms} {verb} scored in both runs for {number} ({rate}): nothing can be said of points."
    if warning.most_pairs == warning.pairs:
        each = "" if len(warning.arms) == 1 else " each"
        return f"{arms} {verb} scored in both runs for {number}{each} ({rate}): the questions left out may hide a difference."
    return (
        f"{arms} were scored in both runs for too few questions, {warning.worst_arm} for the fewest: {number} ({rate}). The questions left "
        "out may hide a difference."
    )


@delta_warning.register
def _(warning: QuestionSetsDiffer) -> str:
    return (
        f"The question sets have the same ids and texts and are not the same ({_sides(warning.sides)}): something else of them differs, "
        "perhaps what the judge grades against."
    )


@delta_warning.register
def _(warning: SeedsDiffer) -> str:
    return f"The runs have different seeds ({_sides(warning.sides)}): a part of every delta is the luck of the draw."


def partial_costs_sentence(costs: Sequence[PartialCost]) -> str:
    """Return which costs leave out answers, as one sentence."""
    by_arm: dict[str, list[str]] = {}
    for cost in costs:
        by_arm.setdefault(cost.arm, []).append(f"{cost.priced_answers:,} of {cost.answers:,} in {cost.run}")
    named = "; ".join(f"{arm} {', '.join(parts)}" for arm, parts in by_arm.items())
    return f"Some answers have no known price and are left out of the costs, so a cost delta is not of whole costs. Priced: {named}."


def not_compared_words(not_compared: Mapping[str, tuple[str, ...]]) -> str:
    """Return which runs do not say what: `a and b do not say the retrieval settings; b does not say the answer prompt`; else `nothing`."""
    by_runs: dict[tuple[str, ...], list[str]] = {}
    for factor, runs in not_compared.items():
        by_runs.setdefault(runs, []).append(factor)
    return (
        "; ".join(
            f"{words.listed(list(runs))} {'does' if len(runs) == 1 else 'do'} not say the {words.listed(factors)}"
            for runs, factors in by_runs.items()
        )
        or "nothing"
    )


def _sides(sides: tuple[RunSays, RunSays]) -> str:
    return ", ".join(f"{side.run}: {'none' if side.says is None else side.says}" for side in sides)
