"""Interactions in words: whether a combined arm does more (synergy) or less (interference) than its parts add up to."""

from evalplatform.comparisons.records import ArmSummary, Interaction
from evalplatform.comparisons.significance import ALPHA
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.arms_sections import EFFECT_COLUMNS, effect_cells, lack_of_a_test, tone_of
from evalplatform.reports.arms_view import InteractionRow
from evalplatform.reports.view import Cell, Column, Finding, Section, Table


def interaction_section(summary: ArmSummary) -> Section | None:
    """Return the factorial interactions, or None when no arm combines two others."""
    if not summary.interactions:
        return None
    names = tuple(Column(label=label, numeric=False) for label in ("Combined arm", "A", "B", "Verdict"))
    deltas = tuple(Column(label=label) for label in ("Delta A", "Delta B", "Delta combined", "Additive expectation"))
    interaction = Column(label="Interaction", meaning="Combined minus A minus B plus baseline, per question.")
    effect = (EFFECT_COLUMNS[0], interaction, *EFFECT_COLUMNS[2:])
    question = "Does a combined arm do more (synergy) or less (interference) than its parts add up to?"
    return Section(
        key="interaction",
        title=f"Factorial interaction: {words.listed([item.combined_arm for item in summary.interactions])}",
        intro=f"{question} Over the questions that all four arms scored.",
        table=Table(columns=(*names, *deltas, *effect), rows=tuple(_interaction_row(item) for item in summary.interactions)),
        notes=("Interactions are a family of their own: their p-values are corrected apart from those of the deltas.",),
    )


def interaction_finding(item: Interaction) -> Finding:
    """Return what was found about one combined arm, with the interval and the p-values of its interaction."""
    effect, parts = item.effect, f"{item.arm_a} and {item.arm_b}"
    size = f"interaction {words.points(effect.delta_mean, signed=True)} points, 95% interval {_interval(item)}"
    size = f"{size}, {plural(effect.n, 'question')} scored in all four arms"
    if item.significant_adjusted is None:
        why = lack_of_a_test(effect) or "the interaction is the same in every question"
        return Finding(sentence=f"{item.combined_arm} was not tested for an interaction", evidence=f"{size}; {why}.", tone="muted")
    evidence = f"{size}; adjusted p {words.p_value(item.p_adjusted)}, Wilcoxon p {words.p_value(effect.p_wilcoxon)}."
    if not item.significant_adjusted:
        why = ", since the tests disagree" if _tests_disagree(item) else ""
        sentence = f"{item.combined_arm}: neither synergy nor interference of {parts} shown{why}"
        return Finding(sentence=sentence, evidence=evidence, tone="muted")
    word = words.synergy(True, effect.delta_mean)
    amount = "more" if effect.delta_mean > 0 else "less"
    sentence = f"{item.combined_arm}: {word}; {parts} together do {amount} than they add up to"
    return Finding(sentence=sentence, evidence=evidence, tone=tone_of(True, effect.delta_mean))


def interaction_rows(summary: ArmSummary) -> tuple[InteractionRow, ...]:
    """Return the worded interaction of every combined arm; empty where none combines two others."""
    return tuple(
        InteractionRow(
            arm=item.combined_arm,
            arm_a=item.arm_a,
            arm_b=item.arm_b,
            interaction_points=words.points(item.effect.delta_mean, signed=True),
            interaction_interval=_interval(item),
            questions=words.count(item.effect.n),
            p_adjusted=words.p_value(item.p_adjusted),
            verdict=_verdict(item),
        )
        for item in summary.interactions
    )


def _interval(item: Interaction) -> str:
    return words.interval(item.effect.ci_lo, item.effect.ci_hi, signed=True)


def _verdict(item: Interaction) -> str:
    if item.significant_adjusted is None:
        return f"{words.MISSING} ({lack_of_a_test(item.effect) or 'N/A: no spread'})"
    word = words.synergy(item.significant_adjusted, item.effect.delta_mean)
    return f"{word} (tests disagree)" if _tests_disagree(item) else word


def _tests_disagree(item: Interaction) -> bool:
    """Say whether the adjusted t-test alone would have decided: a verdict needs the Wilcoxon test too."""
    return item.significant_adjusted is False and item.p_adjusted is not None and item.p_adjusted < ALPHA


def _interaction_row(item: Interaction) -> tuple[Cell, ...]:
    # The expectation is the sum of the two deltas as shown, so that the row adds up (treatment-arms spec, 9).
    expected = round(item.delta_a_points, 2) + round(item.delta_b_points, 2)
    numbers = (item.delta_a_points, item.delta_b_points, item.delta_combined_points, expected)
    tone = tone_of(item.significant_adjusted, item.effect.delta_mean)
    verdict = Cell(text=_verdict(item), tone="muted" if tone == "plain" else tone)
    names = (Cell(text=item.combined_arm), Cell(text=item.arm_a), Cell(text=item.arm_b), verdict)
    deltas = tuple(Cell(text=words.fixed(number, 2, signed=True)) for number in numbers)
    return (*names, *deltas, *effect_cells(item.effect, item))
