"""Verdicts in words: how often each arm passed at a threshold, and whether arms differ in it."""

from evalplatform.comparisons.verdicts import ArmPasses, ArmVerdicts, PassDelta
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.markdown import markdown_facts, markdown_section, markdown_text
from evalplatform.reports.view import Cell, Column, Fact, Section, Table
from evalplatform.stats.paired import MIN_PAIRS_FOR_TEST

COLUMNS = (
    Column(label="Arm", numeric=False),
    Column(label="Passed"),
    Column(label="Failed"),
    Column(label="Unscored", meaning="Without points, and so without a verdict; never counted as failed."),
    Column(label="Pass rate", meaning="Of the questions that were scored."),
    Column(label="95% interval"),
    Column(label="Delta", meaning="In percentage points, over the questions that both arms scored."),
    Column(label="95% interval of the delta"),
    Column(label="Passed here alone", meaning="Questions that this arm passed and the baseline arm failed."),
    Column(label="Passed there alone", meaning="Questions that the baseline arm passed and this arm failed."),
    Column(label="p (exact)"),
    Column(label="p (adjusted)"),
    Column(label="Verdict", numeric=False),
)


def verdict_section(verdicts: ArmVerdicts) -> Section:
    """Return the table of pass rates, one row an arm, with the paired difference from the baseline arm."""
    deltas = {delta.arm: delta for delta in verdicts.deltas}
    return Section(
        key="verdicts",
        title=f"Verdicts at {verdicts.pass_points:g} points",
        intro=f"An answer passes with {verdicts.pass_points:g} points or more. Deltas are against {verdicts.baseline_arm}.",
        table=Table(columns=COLUMNS, rows=tuple(_row(arm, deltas.get(arm.arm)) for arm in verdicts.arms)),
        notes=_notes(verdicts),
    )


def verdicts_markdown(verdicts: ArmVerdicts, *, title: str, facts: tuple[tuple[str, str], ...]) -> str:
    """Return the verdicts as a Markdown page: what they are of, the table, and what is unscored."""
    parts = [f"# {markdown_text(title)}\n", markdown_facts([Fact(label=label, value=value) for label, value in facts])]
    parts.append(markdown_section(verdict_section(verdicts)))
    unscored = [f"- {markdown_text(arm.arm)}: {markdown_text(words.tally(arm.unscored_reasons))}" for arm in verdicts.arms if arm.unscored]
    if unscored:
        parts.append("\n".join(["## Unscored questions", "", *unscored]) + "\n")
    return "\n".join(parts)


def _row(arm: ArmPasses, delta: PassDelta | None) -> tuple[Cell, ...]:
    interval = words.MISSING if arm.interval is None else f"[{words.percent(arm.interval.ci_lo)}, {words.percent(arm.interval.ci_hi)}]"
    texts = (arm.arm, words.count(arm.passed), words.count(arm.failed), words.count(arm.unscored), words.percent(arm.pass_rate), interval)
    return (*(Cell(text=text) for text in texts), *_delta_cells(delta))


def _delta_cells(delta: PassDelta | None) -> tuple[Cell, ...]:
    if delta is None:
        return (*(Cell(text=words.MISSING) for _ in range(6)), Cell(text="baseline", tone="muted"))
    rate = None if delta.delta_rate is None else delta.delta_rate * 100
    difference = delta.difference
    interval = words.MISSING if difference is None else words.interval(difference.ci_lo * 100, difference.ci_hi * 100, signed=True)
    texts = (
        words.points(rate, signed=True),
        interval,
        words.count(delta.passes.candidate_alone),
        words.count(delta.passes.baseline_alone),
        words.p_value(delta.p_exact),
        words.p_value(delta.p_adjusted),
        verdict_words(delta),
    )
    return tuple(Cell(text=text) for text in texts)


def verdict_words(delta: PassDelta) -> str:
    """Return `higher`, `lower` or `no difference shown`, or why there is no test."""
    if delta.significant_adjusted is not None:
        return words.direction(delta.significant_adjusted, delta.delta_rate)
    if delta.passes.pairs < MIN_PAIRS_FOR_TEST:
        return f"{words.MISSING} ({plural(delta.passes.pairs, 'pair')}, {MIN_PAIRS_FOR_TEST} needed)"
    return f"{words.MISSING} (no exact test with clusters)"


def _notes(verdicts: ArmVerdicts) -> tuple[str, ...]:
    if verdicts.clustered:
        notes = ["Questions are clustered: these intervals and the exact test would take them for independent, and are left out."]
    else:
        notes = [
            "Intervals are 95%: Wilson's of a rate, Newcombe's of a paired difference. The test is McNemar's, exact and two-sided.",
            "Verdicts are at 5%, corrected over the tested arms. “No difference shown” is not “no difference”.",
        ]
    if verdicts.draws > 1:
        notes.append(f"A question's points are the mean over its scored draws, of {verdicts.draws}.")
    return tuple(notes)
