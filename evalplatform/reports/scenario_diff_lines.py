"""One scenario of two batches as lines of text: its verdicts, its violations, and where its two runs part."""

from collections.abc import Iterator

from evalplatform.comparisons.batches.records import ScenarioChange
from evalplatform.reports.batch_comparison_words import change_words, counts_of_both, not_compared_reason, run_words
from evalplatform.reports.trajectory_diff_text import other_texts_words, trajectory_diff_lines
from evalplatform.reports.visible import one_line, with_visible_spaces
from evalplatform.runs.trajectory import Trajectory
from evalplatform.runs.trajectory_diff import TrajectoryDiff

NOTHING_TO_SET_BESIDE = "There are no two trajectories to compare: a side has no run, could not run, or its trajectory is no longer kept."


def scenario_diff_lines(row: ScenarioChange, runs: tuple[Trajectory, Trajectory, TrajectoryDiff] | None) -> Iterator[str]:
    """Yield what is to be said of one scenario, each on one line; what belongs to the line above is indented by two spaces.

    Args:
        row: what was found of it.
        runs: the trajectories of the baseline and the candidate with their diff; None where there are not two.
    """
    for line in _lines(row, runs):
        yield f"  {one_line(line)}" if line.startswith("  ") else one_line(line)


def _lines(row: ScenarioChange, runs: tuple[Trajectory, Trajectory, TrajectoryDiff] | None) -> Iterator[str]:
    verdicts = f"{run_words(row.baseline)} → {run_words(row.candidate)}"
    yield f"{with_visible_spaces(row.scenario_id)}: {change_words(row)}; {verdicts}; runs passed {counts_of_both(row)}"
    if row.change == "not_compared":
        yield not_compared_reason(row)
    if runs is None:
        yield from _violation_lines(row, "the candidate", "the baseline")
        yield NOTHING_TO_SET_BESIDE
        return
    yield "A is the baseline's run, B the candidate's."
    yield from _violation_lines(row, "B", "A")
    before, after, diff = runs
    yield from trajectory_diff_lines(diff)
    if (others := other_texts_words(before, after, diff)) is not None:
        yield others


def _violation_lines(row: ScenarioChange, candidate: str, baseline: str) -> Iterator[str]:
    """Yield the violations that one run has and the other has not; that they are not known where a run was not scanned."""
    for found in row.new_violations or ():
        yield f'New violation: {candidate} breaches "{found.policy}" at step {found.step}.'
    for found in row.resolved_violations or ():
        yield f'Resolved violation: {baseline} breaches "{found.policy}" at step {found.step}.'
    if row.new_violations is None and row.candidate is not None and row.candidate.trajectory_digest is not None:
        yield "Whether there is a new violation is not known: a run was not scanned for violations."
