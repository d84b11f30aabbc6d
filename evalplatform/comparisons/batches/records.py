"""What comparing two batches gives, unrounded and unworded."""

from typing import Literal

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.runs.records import Batch, Outcome, ScanCoverage, Verdict, Violation
from evalplatform.runs.tolerance import PathTolerance
from evalplatform.stats.pass_counts import PassCount

ChangeClass = Literal["newly_failing", "newly_passing", "degraded", "path_drift", "dropped", "added", "not_compared", "unchanged"]
CHANGE_CLASSES: tuple[ChangeClass, ...] = (
    "newly_failing",
    "newly_passing",
    "degraded",
    "path_drift",
    "dropped",
    "added",
    "not_compared",
    "unchanged",
)
"""In the order of reports. A scenario has one class, the first that fits; path drift is also a flag of its own."""

ComparisonVerdict = Literal["regressed", "improved", "changed", "clean", "incomparable"]
BaselineChoice = Literal["named", "previous_batch", "last_gate"]
SCHEMA_VERSION = 3


class RunSetCount(Value):
    """k of n of one scenario in one batch: passes among graded runs, and what is not graded.

    `budget_stops` are in `passes` as failures; `missing` were planned and never made.
    """

    passes: PassCount
    could_not_run: int = Field(default=0, ge=0)
    ungraded: int = Field(default=0, ge=0)
    budget_stops: int = Field(default=0, ge=0)
    missing: int = Field(default=0, ge=0)

    @property
    def runs(self) -> int:
        """How many runs there are, graded or not."""
        return self.passes.graded + self.could_not_run + self.ungraded


class ComparedRun(Value):
    """The one run of a side that a comparison used: the most recent one that was not left ungraded."""

    run_id: str
    order: int
    outcome: Outcome
    reason: str | None
    score_points: float | None
    trajectory_digest: str | None
    tools: tuple[str, ...]

    @property
    def verdict(self) -> Verdict | None:
        """Passed or failed; None where it could not run."""
        if self.outcome in ("harness_error", "ungraded"):
            return None
        return "passed" if self.outcome == "passed" else "failed"


class ScenarioChange(Value):
    """One scenario in both batches.

    Attributes:
        scenario_id: which.
        change: its class.
        could_not_run: which sides' compared run hit a harness error. A candidate that could not run where the baseline passed stays
            `newly_failing`; where the baseline could not run, it is `not_compared`.
        baseline, candidate: the runs that were used; None where the side has none.
        baseline_runs, candidate_runs: the run sets' counts; None where the side has no such scenario.
        score_change_points: candidate minus baseline; None unless both have points.
        path_changed: whether the ordered tool names differ; None unless both sides have a trajectory.
        path_drifted: whether they differ beyond the tolerance that applies.
        tolerance: the class that applies: the stricter of the two declarations.
        baseline_tolerance, candidate_tolerance: what each side declares, None where it declares nothing.
        new_violations: policies that the candidate's run breaches and the baseline's does not, with the candidate's step; None unless both
            runs were scanned.
        resolved_violations: the other way round.
    """

    scenario_id: str
    change: ChangeClass
    could_not_run: tuple[Literal["baseline", "candidate"], ...] = ()
    baseline: ComparedRun | None
    candidate: ComparedRun | None
    baseline_runs: RunSetCount | None
    candidate_runs: RunSetCount | None
    score_change_points: float | None = None
    path_changed: bool | None = None
    path_drifted: bool = False
    tolerance: PathTolerance = "exact"
    baseline_tolerance: PathTolerance | None = None
    candidate_tolerance: PathTolerance | None = None
    new_violations: tuple[Violation, ...] | None = None
    resolved_violations: tuple[Violation, ...] | None = None

    @property
    def within_tolerance(self) -> bool:
        """Whether the tool path changed and that is tolerated."""
        return bool(self.path_changed) and not self.path_drifted


class BatchComparison(Value):
    """Two batches of one project, compared.

    `changes` holds every scenario that is not `unchanged`, and every unchanged one that a report has to name (within tolerance, differing
    declarations, new or resolved violations, a run-set drop); the other unchanged ones are counted, and their rows are streamed while the
    comparison is made. In the order of CHANGE_CLASSES, then scenario id.
    """

    baseline: Batch
    candidate: Batch
    verdict: ComparisonVerdict
    incomparable_reason: str | None = None
    counts: dict[ChangeClass, int]
    could_not_run: int = 0
    compared: int = 0
    changes: tuple[ScenarioChange, ...] = ()
    baseline_coverage: ScanCoverage
    candidate_coverage: ScanCoverage
    run_sets: "RunSetReport | None" = None

    @property
    def would_fail(self) -> bool:
        """Whether the flip rule fails a gate: a scenario passed in the baseline and does not pass in the candidate."""
        return self.verdict == "regressed"


RunSetReading = Literal["drop", "not_significant", "cannot_flag"]


class RunSetDrop(Value):
    """A scenario whose candidate passes less often, with Boschloo's p-value (None where no run of a side was graded)."""

    scenario_id: str
    baseline: RunSetCount
    candidate: RunSetCount
    p: float = Field(ge=0, le=1)
    reading: RunSetReading
    candidate_budget_stops: int = 0


class SmallestDrop(Value):
    """What is flagged from all passed at these graded counts: `most_passes` or fewer; None where nothing can be."""

    baseline_graded: int
    candidate_graded: int
    most_passes: int | None
    scenarios: int


class RunSetReport(Value):
    """Run sets of all scenarios: the drops, the flags that chance alone would give, and what the counts can detect.

    `not_tested` are scenarios with one run a side; `ungraded_sides` those that lack a graded run on a side and so are not tested either.
    """

    tested: int
    not_tested: int
    ungraded_sides: tuple[str, ...] = ()
    drops: tuple[RunSetDrop, ...]
    expected_flags: float = Field(ge=0)
    chance_of_as_many: float = Field(ge=0, le=1)
    smallest_drops: tuple[SmallestDrop, ...]
    could_not_run: int = 0
    missing: int = 0

    @property
    def flagged(self) -> int:
        """How many drops are flagged."""
        return sum(drop.reading == "drop" for drop in self.drops)


BatchComparison.model_rebuild()
