"""One batch scenario by scenario: how many of its runs passed, and what was found in them."""

from collections.abc import Iterator

from pydantic import Field

from evalplatform.comparisons.batches.records import RunSetCount
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns, run_set_count, scenario_sides
from evalplatform.kernel.values import Value
from evalplatform.runs.records import PlannedScenario, ScanCoverage


class ScenarioRuns(Value):
    """The runs of one scenario in one batch.

    Attributes:
        scenario_id: which.
        planned: what the batch declares of it; None where it declares nothing.
        runs: passes among graded runs, and what is not graded.
        violations: how many were found in the runs that were scanned.
        coverage: how many of the runs that have steps were scanned for any.
    """

    scenario_id: str
    planned: PlannedScenario | None
    runs: RunSetCount
    violations: int = Field(ge=0)
    coverage: ScanCoverage


def runs_by_scenario(side: BatchRuns) -> Iterator[ScenarioRuns]:
    """Iterate over a batch's scenarios by id, those without a run included; one scenario's runs are in memory at a time.

    Raises:
        InputError: the runs are not in order, with the scenario.
    """
    for scenario_id, found in scenario_sides(side):
        yield ScenarioRuns(
            scenario_id=scenario_id,
            planned=found.planned,
            runs=run_set_count(found, is_compacted=side.batch.retention != "whole"),
            violations=sum(len(run.violations or ()) for run in found.runs),
            coverage=ScanCoverage().with_runs(found.runs),
        )
