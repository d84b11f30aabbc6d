"""Two batches compared for `evalplatform diff`: which two, where their runs part first, and the diff pages of the rows."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from evalplatform.comparisons.batches.headline import first_divergence_row, headline_baseline
from evalplatform.comparisons.batches.records import BatchComparison, ComparedRun, HeadlineChoice, RunSetCount, ScenarioChange
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import InputError
from evalplatform.ports.batches import BatchStore
from evalplatform.ports.gates import GateStore
from evalplatform.reports import words
from evalplatform.reports.batch_comparison_report import short_commit
from evalplatform.reports.batch_comparison_words import count_words, run_words, short_batch_words
from evalplatform.reports.headline_words import Divergence
from evalplatform.reports.trajectory_diff_page import ComparedRun as ShownRun
from evalplatform.reports.trajectory_diff_page import trajectory_diff_html
from evalplatform.reports.view import Fact
from evalplatform.reports.visible import with_visible_spaces
from evalplatform.runs.records import Batch
from evalplatform.runs.trajectory import Trajectory
from evalplatform.runs.trajectory_diff import TrajectoryDiff, diff_trajectories
from evalplatform.stages.batch_sides import BatchSide, ReadTrajectory
from evalplatform.stages.gate_baseline import last_gate_baseline

PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
NAME_CHARS = 60


class RunDiff(NamedTuple):
    """The two trajectories that a row was compared by, and how they differ."""

    baseline: Trajectory
    candidate: Trajectory
    diff: TrajectoryDiff


class DiffPage(NamedTuple):
    """The page of one row's trajectory diff, and the name of its file."""

    scenario_id: str
    file_name: str
    html: str


def headline_batches(batches: BatchStore, gates: GateStore) -> HeadlineChoice:
    """Return the project's newest batch and the baseline chosen for it: what the last gate compared it with, else the batch before.

    Raises:
        InputError: fewer than two batches are kept that are not partial, so that there is no headline comparison.
    """
    chosen = headline_baseline(batches.batches())
    gated_against = None if chosen is None else last_gate_baseline(gates, chosen.candidate.id)
    if gated_against is not None:
        chosen = headline_baseline(batches.batches(), last_gate_baseline=gated_against)
    if chosen is None:
        raise InputError(
            "there is nothing to compare: it takes two batches that have not expired and are not partial. "
            "`evalplatform batches list` shows them; a partial one is compared where it is named."
        )
    return chosen


def run_diff(row: ScenarioChange, read_baseline: ReadTrajectory, read_candidate: ReadTrajectory) -> RunDiff | None:
    """Return the diff of the exact two runs that a row was compared by; None where a side has no trajectory, or no longer."""
    digests = (_digest(row.baseline), _digest(row.candidate))
    if digests[0] is None or digests[1] is None:
        return None
    before, after = read_baseline(digests[0]), read_candidate(digests[1])
    if before is None or after is None:
        return None
    return RunDiff(before, after, diff_trajectories(before, after))


def opened_run_diff(row: ScenarioChange, baseline: BatchSide, candidate: BatchSide) -> RunDiff | None:
    """Return the diff of one row; see `run_diff`."""
    with baseline.open_trajectories(_digests([row.baseline])) as before, candidate.open_trajectories(_digests([row.candidate])) as after:
        return run_diff(row, before, after)


def first_divergence(comparison: BatchComparison, baseline: BatchSide, candidate: BatchSide) -> Divergence | None:
    """Return where the first changed row's runs part, for the headline; None where no row has two trajectories that differ.

    Two runs may come to other verdicts by the same steps; then it is the first row whose tool paths differ, which surely part.
    """
    surely = next((row for row in comparison.changes if row.path_changed), None)
    for row in (first_divergence_row(comparison), surely):
        found = None if row is None else opened_run_diff(row, baseline, candidate)
        change = None if found is None else found.diff.first_divergence
        side = None if change is None else change.b or change.a
        if row is not None and side is not None:
            return Divergence(scenario_id=row.scenario_id, step=side.steps[0])
    return None


def diff_page_names(comparison: BatchComparison) -> dict[str, str]:
    """Return a file name for each row of the report that has a trajectory on both sides, by scenario id.

    A plain id is its own name. Any other is spelled in plain letters, with 8 hex digits of its digest, so that no two share a name, also
    not where a file system takes capitals for small letters.
    """
    rows = (row for row in comparison.changes if _digest(row.baseline) is not None and _digest(row.candidate) is not None)
    return {row.scenario_id: _file_name(row.scenario_id) for row in rows}


def diff_pages(
    comparison: BatchComparison, baseline: BatchSide, candidate: BatchSide, *, names: Mapping[str, str], comparison_file: str | None
) -> Iterator[DiffPage]:
    """Yield the page of each row's diff, one at a time; a row whose trajectory is no longer kept has none.

    Args:
        comparison: what was compared.
        baseline, candidate: its two sides.
        names: file names by scenario id, of `diff_page_names`.
        comparison_file: the page that these lead back to, as `trajectory_diff_html` takes it.
    """
    rows = [row for row in comparison.changes if row.scenario_id in names]
    of_baseline, of_candidate = (_digests(row.baseline for row in rows), _digests(row.candidate for row in rows))
    with baseline.open_trajectories(of_baseline) as before, candidate.open_trajectories(of_candidate) as after:
        for row in rows:
            found = run_diff(row, before, after)
            if found is not None:
                page = diff_page(row, found, comparison, comparison_file=comparison_file)
                yield DiffPage(row.scenario_id, names[row.scenario_id], page)


def diff_page(row: ScenarioChange, found: RunDiff, comparison: BatchComparison, *, comparison_file: str | None = None) -> str:
    """Return the page of one row: both runs side by side, each with its batch, verdict and k/n."""
    before = _facts(comparison.baseline, row.baseline, row.baseline_runs)
    after = _facts(comparison.candidate, row.candidate, row.candidate_runs)
    return trajectory_diff_html(
        scenario_id=with_visible_spaces(row.scenario_id),
        a=ShownRun(name="Baseline", facts=before, violations=row.resolved_violations or (), trajectory=found.baseline),
        b=ShownRun(name="Candidate", facts=after, violations=row.new_violations or (), trajectory=found.candidate),
        diff=found.diff,
        comparison_file=comparison_file,
    )


def _facts(batch: Batch, run: ComparedRun | None, counts: RunSetCount | None) -> tuple[Fact, ...]:
    """Return what is known of one side's run."""
    reason = "" if run is None or run.reason is None else f": {run.reason}"
    return (
        Fact(label="Batch", value=short_batch_words(batch)),
        Fact(label="Commit", value=short_commit(batch.header.commit)),
        Fact(label="Verdict", value=f"{run_words(run)}{reason}"),
        Fact(label="Score", value=words.points(None if run is None else run.score_points)),
        Fact(label="Runs passed", value=count_words(counts)),
        Fact(label="This run", value=words.MISSING if run is None else f"number {run.order + 1}, {run.run_id}"),
    )


def _digest(run: ComparedRun | None) -> str | None:
    return None if run is None else run.trajectory_digest


def _digests(runs: Iterable[ComparedRun | None]) -> frozenset[str]:
    return frozenset(digest for digest in map(_digest, runs) if digest is not None)


def _file_name(scenario_id: str) -> str:
    if PLAIN_NAME.fullmatch(scenario_id):
        return f"{scenario_id}.html"
    spelled = re.sub(r"[^a-z0-9_-]+", "-", scenario_id.lower()).strip("-_")[:NAME_CHARS] or "scenario"
    return f"{spelled}.{text_digest(scenario_id).removeprefix('sha256:')[:8]}.html"
