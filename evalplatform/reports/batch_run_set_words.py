"""How the run sets of two batches are worded, and what one run a side can and cannot tell."""

from collections.abc import Iterator

from evalplatform.comparisons.batches.records import (
    BatchComparison,
    RunSetDrop,
    RunSetReading,
    RunSetReport,
    SmallestDrop,
)
from evalplatform.kernel.text import plural
from evalplatform.reports.batch_comparison_words import count_words, some_scenarios
from evalplatform.runs.records import Batch
from evalplatform.stats.boschloo_drop import can_flag, most_passes_flagged

SHOWN_RUN_COUNTS = (4, 10)
SMALLEST_P = 0.0005
READINGS: dict[RunSetReading, str] = {"drop": "drop", "not_significant": "not significant", "cannot_flag": "cannot flag"}


def run_set_title(report: RunSetReport) -> str:
    """Return the heading of the run sets, with the runs a side; `up to` where the scenarios have different numbers of them."""
    up_to = "up to " if len(report.smallest_drops) > 1 else ""
    return f"Run sets ({up_to}{report.baseline_runs} vs {report.candidate_runs} runs per scenario)"


def drop_words(drop: RunSetDrop) -> str:
    """Return one drop: both sides' passes, the p-value, how it reads, and how many failures are budget stops."""
    counts = f"{count_words(drop.baseline)} → {count_words(drop.candidate)}"
    reading = READINGS[drop.reading]
    if drop.reading == "cannot_flag":
        reading = f"{reading} at {drop.baseline.passes.graded} vs {drop.candidate.passes.graded}"
    stops = f"; {plural(drop.candidate_budget_stops, 'budget stop')} among the failures" if drop.candidate_budget_stops else ""
    return f"{counts}  ({p_words(drop.p)}, {reading}){stops}"


def p_words(p: float) -> str:
    """Return a p-value with three decimals."""
    return "p <0.001" if p < SMALLEST_P else f"p {p:.3f}"


def run_set_summary(report: RunSetReport) -> Iterator[str]:
    """Yield what the run sets show as a whole: flags, those that chance alone gives, the smallest drop, and what was not tested."""
    if report.tested:
        yield _flags(report)
    yield from (_smallest(drop) for drop in report.smallest_drops)
    if report.not_tested:
        verb = "is" if report.not_tested == 1 else "are"
        yield f"{plural(report.not_tested, 'scenario')} with one graded run on each side {verb} not tested here."
    if report.ungraded_sides:
        yield f"Without a graded run on a side, and so not tested: {some_scenarios(report.ungraded_sides)}."
    if report.could_not_run:
        yield f"{plural(report.could_not_run, 'run')} could not run (harness): left out of the counts."
    if report.missing:
        yield f"{plural(report.missing, 'planned run')} missing: shown under the count of the scenario."


def run_sets_against_verdict(comparison: BatchComparison) -> str | None:
    """Return a sentence where the run sets and the compared runs say different things of scenarios; None where they do not."""
    found = comparison.run_set_disagreement
    parts = []
    if found.flagged_not_failing:
        is_not = "is" if len(found.flagged_not_failing) == 1 else "are"
        drops = plural(len(found.flagged_not_failing), "flagged drop")
        parts.append(f"{drops} {is_not} not newly failing ({some_scenarios(found.flagged_not_failing)})")
    if found.failing_not_flagged:
        has = "has" if len(found.failing_not_flagged) == 1 else "have"
        failing = plural(len(found.failing_not_flagged), "newly failing scenario")
        parts.append(f"{failing} {has} no flagged drop ({some_scenarios(found.failing_not_flagged)})")
    if not parts:
        return None
    rests = "rests on one run a side, the most recent that was made and not left ungraded; run sets do not decide it."
    return f"Run sets and verdict differ: {'; '.join(parts)}. The verdict ({comparison.verdict}) {rests}"


def one_run_sentences(comparison: BatchComparison) -> Iterator[str]:
    """Yield what a comparison of one run a side can and cannot tell; nothing where a scenario has more, or nothing was compared."""
    if comparison.run_sets is not None or not comparison.compared:
        return
    if all(map(_only_replays, (comparison.baseline, comparison.candidate))):
        yield (
            "All runs are replays of recordings, no more than one of a scenario on a side. A recording gives the same run each time, so "
            "what differs here is the recordings or the checks, and not chance."
        )
        return
    yield (
        "No scenario has more than one run on a side. That shows what an agent did, and where two runs part; it cannot tell a change of "
        "the agent from chance."
    )
    yield (
        "An agent compared with itself flips too: a scenario that passes half of the time flips in half of such comparisons, one that "
        "passes nine times in ten in 18 of 100. So newly failing here means: look at it; not: it got worse."
    )
    shown = "; ".join(_power(runs) for runs in SHOWN_RUN_COUNTS)
    yield f"Repeated runs can tell: {shown}."


def _only_replays(batch: Batch) -> bool:
    planned = batch.header.scenarios.values()
    return bool(planned) and all(scenario.leg == "replay" for scenario in planned)


def _flags(report: RunSetReport) -> str:
    tested = plural(report.tested, "tested scenario")
    if all(drop.most_passes is None for drop in report.smallest_drops):
        return f"No drop can be flagged with so few runs ({tested}), and that none is says nothing."
    expected = f"{report.expected_flags:.1f} expected by chance"
    if not report.flagged:
        return f"No drop detectable at this power: 0 flagged of {tested}, {expected}."
    return f"{report.flagged:,} flagged, {expected} (chance of {report.flagged:,} or more: {_chance(report.chance_of_as_many)})."


def _chance(chance: float) -> str:
    return "<0.01" if chance < 0.005 else f"{chance:.2f}"


def _smallest(drop: SmallestDrop) -> str:
    sides = f"{drop.baseline_graded} vs {drop.candidate_graded} graded runs"
    scenarios = plural(drop.scenarios, "scenario")
    if drop.most_passes is None:
        return f"At {sides} no drop can be flagged ({scenarios})."
    whole = f"{drop.baseline_graded}/{drop.baseline_graded}"
    fewer = f"{drop.most_passes}/{drop.candidate_graded}{' or fewer' if drop.most_passes else ''}"
    return f"At {sides} a drop from {whole} is flagged at {fewer} passes ({scenarios})."


def _power(runs: int) -> str:
    if not can_flag(runs, runs):
        return f"at {runs} vs {runs} runs no drop is flagged"
    return f"at {runs} vs {runs} runs a drop from {runs}/{runs} is flagged at {most_passes_flagged(runs, runs)}/{runs} or fewer"
