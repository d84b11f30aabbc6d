"""How the violations that a candidate adds are worded, or why nothing can be said of them."""

from collections.abc import Iterator

from evalplatform.comparisons.batches.records import BatchComparison, ScenarioChange
from evalplatform.kernel.text import plural
from evalplatform.kernel.values import Value
from evalplatform.reports.batch_comparison_words import run_words
from evalplatform.runs.records import ScanCoverage

APART = "Violations are apart from the verdict: a scenario can pass its checks and still breach a policy."


class ViolationLine(Value):
    """A violation that one of the two compared runs has and the other has not; `text` follows the scenario's name."""

    scenario_id: str
    text: str
    is_new: bool


def violation_lines(comparison: BatchComparison) -> Iterator[ViolationLine]:
    """Yield the new violations in the order of the report, then the resolved ones."""
    for change in comparison.changes:
        for found in change.new_violations or ():
            text = f'breaches "{found.policy}" (step {found.step}); the candidate {run_words(change.candidate)}{_nothing_before(change)}'
            yield ViolationLine(scenario_id=change.scenario_id, text=text, is_new=True)
    for change in comparison.changes:
        for found in change.resolved_violations or ():
            text = f'no longer breaches "{found.policy}" (step {found.step} of the baseline)'
            yield ViolationLine(scenario_id=change.scenario_id, text=text, is_new=False)


def violation_summary(comparison: BatchComparison) -> Iterator[str]:
    """Yield the sentences beside the list: the scan's coverage where a side was not wholly scanned, else what an empty list means.

    Breaches that were not compared are counted, and where there are any nothing is called free of new ones. The
    note that violations are apart from the verdict stands only where both sides were wholly scanned.
    """
    coverages = {"baseline": comparison.baseline_coverage, "candidate": comparison.candidate_coverage}
    is_whole = all(coverage.is_whole for coverage in coverages.values())
    if not is_whole:
        said = ", ".join(f"{_coverage(coverage)} of the {side}" for side, coverage in coverages.items())
        yield f"Scanned for violations: {said}. What was not scanned is not known to be free of them."
    elif not any(line.is_new for line in violation_lines(comparison)):
        yield from _without_new(comparison)
    if comparison.uncompared_breaches:
        runs = plural(comparison.uncompared_breaches, "further run")
        breaches = "breaches a policy, and was" if comparison.uncompared_breaches == 1 else "breach a policy, and were"
        yield f"{runs} of the candidate {breaches} not compared with a run of the baseline."
    if is_whole:
        yield APART


def _without_new(comparison: BatchComparison) -> Iterator[str]:
    if not comparison.candidate_coverage.runs:
        yield "No run of the candidate has steps, so that nothing was scanned for violations."
    elif comparison.uncompared_breaches:
        yield "The compared runs of the candidate breach nothing new."
    else:
        yield "No new violation: every run of both batches that has steps was scanned."


def _nothing_before(change: ScenarioChange) -> str:
    """Return why all that the candidate breaches is new, where the baseline has no steps to compare."""
    if change.baseline is not None and change.baseline.trajectory_digest is not None:
        return ""
    if change.baseline is None and change.baseline_gap is None:
        return "; the baseline does not have the scenario"
    return f"; the baseline has no {'steps of it' if change.baseline is not None else 'run of it to compare'}"


def _coverage(coverage: ScanCoverage) -> str:
    return f"{coverage.scanned_runs:,} of {plural(coverage.runs, 'run')} with steps"
