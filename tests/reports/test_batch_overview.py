"""Recorded batches as text: what is not whole about them is said."""

import pytest

from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.comparisons.batches.scenario_runs import runs_by_scenario
from evalplatform.reports.batch_comparison_words import batch_words, short_batch_words
from evalplatform.reports.batch_overview import batch_json, batch_lines, batch_list_lines, coverage_words
from evalplatform.reports.run_lines import run_failure_lines
from evalplatform.runs.bundle import BundleSummary
from evalplatform.runs.records import Batch, Retention, Run, ScanCoverage, Violation
from tests.support.recorded_batches import recorded


def lines_of(batch: Batch, runs: tuple[Run, ...]) -> list[str]:
    return list(batch_lines(batch, runs_by_scenario(BatchRuns(batch, lambda: iter(runs)))))


def with_violations(summary: BundleSummary, *found: tuple[Violation, ...] | None) -> BundleSummary:
    return summary._replace(
        runs=tuple(run.with_changes(violations=violations) for run, violations in zip(summary.runs, found, strict=True))
    )


@pytest.mark.parametrize(
    ("scanned", "said"),
    [(0, "no run was scanned"), (1, "1 of 4 runs with steps scanned: partial"), (4, "4 of 4 runs with steps scanned")],
)
def test_coverage_tells_no_scan_from_a_partial_and_a_whole_one(scanned: int, said: str) -> None:
    assert coverage_words(ScanCoverage(scanned_runs=scanned, runs=4)) == said


def test_violations_of_runs_that_were_not_scanned_are_not_counted_as_none() -> None:
    ssn = Violation(policy="ssn", step=3)
    summary = with_violations(recorded({"a": "PP", "b": "PP", "c": "PP"}), (ssn, ssn), (), (ssn,), None, None, None)
    ends = [line.split("  ")[-1].strip() for line in lines_of(summary.batch, summary.runs)[-3:]]
    assert ends == ["2", "1 (1 run not scanned)", "not scanned"]


@pytest.mark.parametrize(
    ("retention", "said"),
    [("compacted", "compacted: one run of each scenario is kept"), ("expired", "expired: its runs are no longer kept")],
)
def test_a_batch_that_was_compacted_or_expired_says_so_and_misses_no_run(retention: Retention, said: str) -> None:
    summary = recorded({"a": "PFP"})
    batch = summary.batch.with_changes(retention=retention)
    lines = lines_of(batch, summary.runs[:1] if retention == "compacted" else ())
    assert any(said in line for line in lines)
    assert not any("missing" in line for line in lines)
    assert next(line for line in list(batch_list_lines([batch], {}))[1:]).endswith(retention)


def test_a_batch_of_fewer_scenarios_than_its_file_has_says_so_wherever_it_is_named() -> None:
    summary = recorded({"a": "PFP"}, set_scenarios=7)
    said = "partial: 1 of 7 scenarios"
    assert f"  {said}" in lines_of(summary.batch, summary.runs)
    assert list(batch_list_lines([summary.batch], {}))[1].endswith(f"  {said}")
    assert batch_words(summary.batch).endswith(f"; {said}")
    assert short_batch_words(summary.batch) == f"{summary.batch.id} (partial)"
    assert batch_json(summary.batch)["is_partial"]
    for whole in (recorded({"a": "P"}, set_scenarios=1), recorded({"a": "P"})):
        assert list(batch_list_lines([whole.batch], {}))[1].endswith("  complete")
        assert not batch_json(whole.batch)["is_partial"]


def test_a_scenario_that_was_replayed_says_so_beside_its_count() -> None:
    summary = recorded({"a": "P"}, leg="replay")
    assert "1/1 (replay)" in lines_of(summary.batch, summary.runs)[-1]
    assert list(run_failure_lines(recorded({"a": "F"}, leg="replay").runs))[-1].startswith("  a run 1: failed (replay): ")


def test_a_name_cannot_reorder_the_table() -> None:
    summary = recorded({"a\u202eb": "P"}, branch="x\u202ey")
    assert "\u202e" not in "".join([*lines_of(summary.batch, summary.runs), *batch_list_lines([summary.batch], {})])
