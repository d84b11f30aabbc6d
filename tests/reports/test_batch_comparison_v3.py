"""A comparison as JSON: it reads back equal, holds every row, and fits its published schema."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from evalplatform.kernel.errors import InputError
from evalplatform.reports.batch_comparison_schema import batch_comparison_schema_text
from evalplatform.reports.batch_comparison_v3 import batch_comparison_v3, read_batch_comparison_v3
from evalplatform.runs.bundle import BundleSummary
from tests.support.compared_batches import Told, a_regression, batch_of, compared_with_rows

PUBLISHED = Path(__file__).parents[2] / "docs" / "batch-comparison.schema.json"
COMMAND = "python -m evalplatform.reports.batch_comparison_schema > docs/batch-comparison.schema.json"


@pytest.mark.parametrize(
    "batches",
    [
        a_regression(),
        (batch_of({}), batch_of({}, hours=1)),
        (batch_of({"a": Told("P")}), batch_of({"a": Told("P")}, hours=1)),
        (batch_of({"a": Told("P"), "b": Told("P")}), batch_of({"a": Told("P")}, hours=1, set_scenarios=2)),
    ],
    ids=["regressed", "empty", "clean", "partial"],
)
def test_a_written_comparison_reads_back_equal(batches: tuple[BundleSummary, BundleSummary]) -> None:
    comparison, rows = compared_with_rows(*batches)
    data = batch_comparison_v3(comparison, rows, choice="previous_batch")
    read = read_batch_comparison_v3(data)
    assert read.comparison == comparison
    assert list(read.rows) == rows
    assert read.choice == "previous_batch"
    Draft202012Validator(json.loads(batch_comparison_schema_text())).validate(json.loads(data))


def test_an_expired_batch_reads_back_equal() -> None:
    comparison, rows = compared_with_rows(batch_of({"a": Told("P")}), batch_of({"a": Told("P")}, hours=1), baseline_retention="expired")
    assert read_batch_comparison_v3(batch_comparison_v3(comparison, rows)).comparison == comparison


def test_the_file_holds_all_that_the_comparison_used() -> None:
    comparison, rows = compared_with_rows(*a_regression())
    data = json.loads(batch_comparison_v3(comparison, rows))
    assert data["schema_version"] == 3
    assert data["run_sets"]["tested"] == 11
    assert data["would_fail"] is True
    steady = next(row for row in data["scenarios"] if row["scenario_id"] == "steady")
    assert steady["change"] == "unchanged"
    assert steady["baseline"]["run_id"].startswith("r-")
    assert steady["tolerance"] == "exact"
    assert "steady" not in data["named"]


def test_a_file_of_another_version_or_without_a_named_row_is_refused() -> None:
    comparison, rows = compared_with_rows(*a_regression())
    data = json.loads(batch_comparison_v3(comparison, rows))
    with pytest.raises(InputError, match=r"report\.json: schema_version: is no batch comparison of schema version 3"):
        read_batch_comparison_v3(json.dumps(data | {"schema_version": 2}).encode(), file="report.json")
    with pytest.raises(InputError, match="lists the scenario 'nobody' and has no row of it"):
        read_batch_comparison_v3(json.dumps(data | {"named": ["nobody"]}).encode())


def test_the_published_schema_is_that_of_the_records() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == batch_comparison_schema_text(), f"run: {COMMAND}"
