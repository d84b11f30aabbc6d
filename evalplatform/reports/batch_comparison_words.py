"""How a comparison of two batches is worded: verdict, counts, classes, run counts, tool paths. Everything is one line of plain text."""

from collections.abc import Iterator, Sequence

from evalplatform.comparisons.batches.records import (
    CHANGE_CLASSES,
    BatchComparison,
    ChangeClass,
    ComparedRun,
    ComparisonVerdict,
    Gap,
    RunSetCount,
    ScenarioChange,
)
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.visible import with_visible_spaces
from evalplatform.runs.records import Batch, Leg, Outcome, Retention
from evalplatform.runs.tolerance import DEFAULT_TOLERANCE, PathTolerance

CLASS_WORDS: dict[ChangeClass, str] = {
    "newly_failing": "newly failing",
    "newly_passing": "newly passing",
    "degraded": "degraded",
    "path_drift": "path drift",
    "dropped": "dropped",
    "added": "added",
    "not_compared": "not compared",
    "unchanged": "unchanged",
}
TOLERANCE_WORDS: dict[PathTolerance, str] = {"exact": "exact", "any_order": "any order", "tool_set": "tool set"}
OUTCOME_WORDS: dict[Outcome, str] = {
    "passed": "passed",
    "failed": "failed",
    "agent_error": "failed (agent error)",
    "budget_stop": "failed (budget stop)",
    "harness_error": "could not run (harness)",
    "ungraded": "ungraded",
}
COULD_NOT_RUN = OUTCOME_WORDS["harness_error"]
NAMES_SHOWN = 5
RETENTION_WORDS: dict[Retention, str] = {
    "compacted": "compacted: one run of each scenario is kept",
    "expired": "expired: its runs are no longer kept",
}
"""What is said of a batch that does not keep all its runs."""
AS_RECORDED = ", as it was recorded"
"""What counts of a batch say that are of all its runs, where not all are kept any more."""
LISTED_CLASSES = tuple(change for change in CHANGE_CLASSES if change != "unchanged")


def batch_words(batch: Batch) -> str:
    """Return a batch with its commit and recorded time, and what it lacks: partial, truncated, compacted, expired."""
    commit = "no commit recorded" if batch.header.commit is None else f"commit {batch.header.commit}"
    said = [batch.id, commit, f"recorded {batch.header.recorded_at:%Y-%m-%d %H:%M} UTC"]
    return "; ".join([", ".join(said), *shortfall_words(batch)])


def short_batch_words(batch: Batch) -> str:
    """Return a batch's id, and in a word each what it lacks: `b-1 (truncated)`."""
    lacks = (["partial"] if batch.is_partial else []) + (["truncated"] if batch.truncated else [])
    lacks += [] if batch.retention == "whole" else [batch.retention]
    return f"{batch.id} ({', '.join(lacks)})" if lacks else batch.id


def shortfall_words(batch: Batch) -> Iterator[str]:
    """Yield what a batch lacks, each with its reason; nothing of a whole one."""
    if batch.is_partial:
        yield partial_words(batch)
    if batch.truncated_reason is not None:
        yield f"truncated: {batch.truncated_reason.rstrip('.')}"
    if batch.retention in RETENTION_WORDS:
        yield RETENTION_WORDS[batch.retention]


def partial_words(batch: Batch) -> str:
    """Return of a partial batch how many scenarios of its file it was recorded of: `partial: 1 of 7 scenarios`."""
    return f"partial: {len(batch.header.scenarios):,} of {batch.header.set_scenarios:,} scenarios"


def left_out_words(comparison: BatchComparison) -> Iterator[str]:
    """Yield how many scenarios were left out since a partial batch was not recorded of them: a sentence for each side that has such."""
    sides = (("baseline", "candidate", comparison.not_run_in_candidate), ("candidate", "baseline", comparison.not_run_in_baseline))
    for has, lacks, number in sides:
        if number:
            yield f"{plural(number, 'scenario')} of the {has} {'has' if number == 1 else 'have'} no run in the {lacks}, which is partial."


def some_scenarios(scenario_ids: Sequence[str]) -> str:
    """Return the first few scenarios by name, and how many more there are."""
    left = len(scenario_ids) - NAMES_SHOWN
    return ", ".join(map(with_visible_spaces, scenario_ids[:NAMES_SHOWN])) + (f" and {left:,} more" if left > 0 else "")


def flipped_to_failed(comparison: BatchComparison) -> int:
    """Return how many scenarios passed in the baseline and fail in the candidate; those that could not run are no flips."""
    return comparison.counts.get("newly_failing", 0) - comparison.could_not_run


def verdict_sentence(comparison: BatchComparison) -> str:
    """Return the verdict with the counts that it rests on, as a sentence."""
    return f"{comparison.verdict.capitalize()}: {_verdict_reason(comparison)}."


def counts_line(comparison: BatchComparison) -> str:
    """Return the classes that have scenarios with their counts, such as `1 newly failing · 2 path drift`.

    Without any it says `no change`, and `nothing compared` where that is why.
    """
    counted = [f"{comparison.counts[name]:,} {CLASS_WORDS[name]}" for name in LISTED_CLASSES if comparison.counts.get(name)]
    return " · ".join(counted) or ("no change" if comparison.compared else "nothing compared")


def change_words(change: ScenarioChange) -> str:
    """Return what a report's Change column says."""
    if change.change == "newly_failing" and "candidate" in change.could_not_run:
        return COULD_NOT_RUN
    return CLASS_WORDS[change.change]


def run_words(run: ComparedRun | None) -> str:
    """Return the verdict of a compared run, how it came about where that is not by the checks, and a replay; `—` without a run."""
    return words.MISSING if run is None else outcome_words(run.outcome, run.leg)


def outcome_words(outcome: Outcome, leg: Leg) -> str:
    """Return how a run ended, and of a replayed recording that it is one: `passed`, `passed (replay)`, `failed (agent error; replay)`."""
    said = OUTCOME_WORDS[outcome]
    if leg == "live":
        return said
    return f"{said.removesuffix(')')}; replay)" if said.endswith(")") else f"{said} (replay)"


def count_words(count: RunSetCount | None) -> str:
    """Return k/n of a run set, and under it what is not graded or missing: `3/4`, `2/3 (1 missing)`; `—` without the scenario."""
    if count is None:
        return words.MISSING
    apart = {"could not run": count.could_not_run, "ungraded": count.ungraded, "missing": count.missing}
    named = ", ".join(f"{number:,} {name}" for name, number in apart.items() if number)
    return f"{count.passes.passed}/{count.passes.graded}{f' ({named})' if named else ''}"


def counts_of_both(change: ScenarioChange) -> str:
    """Return k/n of both run sets, such as `4/4 → 1/4`."""
    return f"{count_words(change.baseline_runs)} → {count_words(change.candidate_runs)}"


def path_words(change: ScenarioChange) -> str:
    """Return what the Tool path column says; the class is named where one was declared."""
    if change.path_changed is None:
        return words.MISSING
    if not change.path_changed:
        return "same"
    named = f" ({TOLERANCE_WORDS[change.tolerance]})" if declares_tolerance(change) else ""
    return f"within tolerance{named}" if change.within_tolerance else f"changed{named}"


def declares_tolerance(change: ScenarioChange) -> bool:
    """Return whether a side declares a path tolerance for this scenario."""
    return change.baseline_tolerance is not None or change.candidate_tolerance is not None


def tolerance_lines(comparison: BatchComparison) -> Iterator[str]:
    """Yield which scenarios stayed within their tolerance, and where the two batches declare different classes."""
    within = [change.scenario_id for change in comparison.changes if change.within_tolerance]
    if within:
        yield f"Within path tolerance ({len(within):,}): {some_scenarios(within)}"
    for change in comparison.changes:
        if change.tolerances_differ:
            baseline, candidate = (side or DEFAULT_TOLERANCE for side in (change.baseline_tolerance, change.candidate_tolerance))
            yield (
                f"{with_visible_spaces(change.scenario_id)}: path tolerance {TOLERANCE_WORDS[candidate]} in the candidate, "
                f"{TOLERANCE_WORDS[baseline]} in the baseline; {TOLERANCE_WORDS[change.tolerance]} applies"
            )


def tolerance_caption(comparison: BatchComparison) -> str | None:
    """Return what the tolerance classes mean and how many rows are within them; None where no compared path has one declared."""
    if not any(declares_tolerance(change) and change.path_changed is not None for change in comparison.changes):
        return None
    within = sum(change.within_tolerance for change in comparison.changes)
    return (
        "Path tolerance: exact compares the called tools in their order; any order, how often each tool was called; tool set, only which "
        f"tools were called. {plural(within, 'row')} within path tolerance."
    )


def not_compared_reason(change: ScenarioChange) -> str:
    """Return why a scenario of both batches was not compared: what each side lacks."""
    sides = (("baseline", change.baseline_gap, change.baseline), ("candidate", change.candidate_gap, change.candidate))
    return "; ".join(_gap_words(side, gap, run) for side, gap, run in sides if gap is not None)


def incomparable_words(comparison: BatchComparison) -> str:
    """Return why two batches could not be compared, without a full stop."""
    if comparison.incomparable_reason == "baseline_expired":
        return f"the baseline {comparison.baseline.id} has expired, and its runs are no longer kept"
    if comparison.incomparable_reason == "candidate_expired":
        return f"the candidate {comparison.candidate.id} has expired, and its runs are no longer kept"
    if comparison.incomparable_reason == "partly_compared":
        left = plural(comparison.counts.get("not_compared", 0), "scenario")
        rest = f"the {comparison.compared:,} that could {'is' if comparison.compared == 1 else 'are'} not newly failing"
        return f"{left} could not be compared; {rest}, which is not the same as clean"
    return "no compared run has a verdict on both sides"


def _gap_words(side: str, gap: Gap, run: ComparedRun | None) -> str:
    if gap == "could_not_run":
        why = f": {run.reason.rstrip('.')}" if run is not None and run.reason else ""
        return f"the {side}'s run could not run (harness){why}"
    return f"the {side} has only ungraded runs of it" if gap == "ungraded" else f"the {side} has no run of it"


def _of_compared(number: int, comparison: BatchComparison) -> str:
    """Return `2 of 9 compared scenarios`, or that it is the one there is."""
    return "the one compared scenario" if comparison.compared == 1 else f"{number:,} of {comparison.compared:,} compared scenarios"


def _regressed_reason(comparison: BatchComparison) -> str:
    flips, stopped = flipped_to_failed(comparison), comparison.could_not_run
    if not flips:
        return f"{_of_compared(stopped, comparison)} passed in the baseline and could not run in the candidate"
    flipped = f"{_of_compared(flips, comparison)} passed in the baseline and {'fails' if flips == 1 else 'fail'} in the candidate"
    return f"{flipped}; {stopped:,} more could not run" if stopped else flipped


def _verdict_reason(comparison: BatchComparison) -> str:
    verdict: ComparisonVerdict = comparison.verdict
    if verdict == "incomparable":
        return incomparable_words(comparison)
    if verdict == "regressed":
        return _regressed_reason(comparison)
    if verdict == "improved":
        better = comparison.counts.get("newly_passing", 0)
        now = "passes" if better == 1 else "pass"
        return f"{_of_compared(better, comparison)} failed in the baseline and {now} in the candidate; none the other way"
    only = comparison.compared == 1
    if verdict == "changed":
        none_fails = "the one compared scenario is not" if only else f"none of {comparison.compared:,} compared scenarios is"
        return f"{none_fails} newly failing, but not all is as it was"
    if only:
        return "the one compared scenario neither flips nor scores lower nor drifts in its tool path"
    return f"none of {comparison.compared:,} compared scenarios flips, scores lower or drifts in its tool path"
