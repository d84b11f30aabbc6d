"""What comparing two batches gives, unrounded and unworded."""

from typing import Final, Literal

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.runs.records import Batch, Leg, Outcome, ScanCoverage, Verdict, Violation
from evalplatform.runs.tolerance import DEFAULT_TOLERANCE, PathTolerance
from evalplatform.stats.boschloo_drop import is_flagged
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
BaselineChoice = Literal["named", "previous_batch", "last_gate", "branch", "seed"]
"""Why a batch is the baseline: it was named; it was recorded just before; the last gate compared the candidate with it; it is what the last
remembered gate of a branch gated; it is the candidate itself, which becomes the first baseline of its branch."""
Side = Literal["baseline", "candidate"]
SCHEMA_VERSION: Final = 3

IncomparableReason = Literal["baseline_expired", "candidate_expired", "nothing_compared", "partly_compared"]
"""Why two batches are `incomparable`: the runs of one are gone; no scenario could be compared; or some could not be, and of those that
could none is newly failing, so that the gate has no answer."""

Gap = Literal["could_not_run", "ungraded", "no_runs"]
"""Why a side has no verdict of a scenario that it declares: its compared run hit a harness error, all runs that were made are ungraded, or
none was made."""


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
        """How many runs were made, graded or not."""
        return self.passes.graded + self.could_not_run + self.ungraded


def can_be_tested(baseline: PassCount, candidate: PassCount) -> bool:
    """Return whether run sets of these counts are tested for a drop: a graded run on each side, and not one against one."""
    return min(baseline.graded, candidate.graded) >= 1 and max(baseline.graded, candidate.graded) > 1


class ComparedRun(Value):
    """The one run of a side that a comparison used: the most recent one that was not left ungraded."""

    run_id: str
    order: int
    leg: Leg
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
        could_not_run: the sides whose compared run hit a harness error. A candidate that could not run where the baseline passed stays
            `newly_failing`; where the baseline could not run, it is `not_compared`.
        baseline_gap, candidate_gap: why that side has no verdict; None where it has one, or does not have the scenario at all. A scenario
            is `not_compared` for its gaps.
        baseline, candidate: the runs that were used; None where the side has none.
        baseline_runs, candidate_runs: the run sets' counts; None where the side has no such scenario.
        score_change_points: candidate minus baseline; None unless both have points.
        path_changed: whether the ordered tool names differ; None unless both sides have a trajectory.
        path_drifted: whether they differ beyond the tolerance that applies.
        tolerance: the class that applies: the stricter of the two declarations.
        baseline_tolerance, candidate_tolerance: what each side declares, None where it declares nothing.
        new_violations: policies that the candidate's run breaches and the baseline's does not, with the candidate's step; all that it
            breaches where the baseline has no run with steps to compare. None where a run that has steps was not scanned, and without
            steps in the candidate.
        resolved_violations: policies that the baseline's run breaches and the candidate's does not, with the baseline's step.
    """

    scenario_id: str
    change: ChangeClass
    could_not_run: tuple[Side, ...] = ()
    baseline_gap: Gap | None = None
    candidate_gap: Gap | None = None
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
    def is_run_set_tested(self) -> bool:
        """Whether a drop can be tested for: both sides have a graded run, and one of them more than one."""
        if self.baseline_runs is None or self.candidate_runs is None:
            return False
        return can_be_tested(self.baseline_runs.passes, self.candidate_runs.passes)

    @property
    def could_flag_a_drop(self) -> bool:
        """Whether a drop of this baseline could be flagged at all: whether it would be if no run of the candidate passed."""
        if self.baseline_runs is None or self.candidate_runs is None or not self.is_run_set_tested:
            return False
        return is_flagged(self.baseline_runs.passes, PassCount(passed=0, graded=self.candidate_runs.passes.graded))

    @property
    def legs_differ(self) -> bool:
        """Whether a replayed recording is compared with a live run."""
        return self.baseline is not None and self.candidate is not None and self.baseline.leg != self.candidate.leg

    @property
    def tolerances_differ(self) -> bool:
        """Whether two paths were compared by a tolerance that the two batches do not agree on."""
        baseline, candidate = (side or DEFAULT_TOLERANCE for side in (self.baseline_tolerance, self.candidate_tolerance))
        return self.path_changed is not None and baseline != candidate

    @property
    def within_tolerance(self) -> bool:
        """Whether the tool path changed and that is tolerated."""
        return bool(self.path_changed) and not self.path_drifted


class BatchComparison(Value):
    """Two batches of one project, compared.

    `changes` holds every scenario that is not `unchanged`, and every unchanged one that a report has to name (within tolerance, differing
    declarations, new or resolved violations, a run-set drop); the other unchanged ones are counted, and their rows are streamed while the
    comparison is made. In the order of CHANGE_CLASSES, then scenario id.

    Attributes:
        baseline, candidate: the batches; a `compacted` one was compared by the runs that are kept, a truncated one by those that were made.
        verdict: regressed where a scenario is newly failing; else `incomparable` for the `incomparable_reason`, also where some scenarios
            could not be compared; else improved where some are newly passing and nothing else changed; else changed or clean.
        counts: scenarios by class, every class named; empty where a batch has expired.
        could_not_run: how many of the newly failing could not run in the candidate.
        compared: scenarios that both sides have and that are not `not_compared`.
        differing_legs: how many scenarios compare a replayed recording with a live run.
        uncompared_breaches: how many of the candidate's runs breach a policy without being compared for it: they are not the compared run
            of their scenario, or the baseline's was not scanned.
        not_run_in_baseline, not_run_in_candidate: scenarios of the other batch that this one, being partial, was not recorded of. They are
            in no class and have no row.
        baseline_coverage, candidate_coverage: how many of the runs that were read and have steps had been scanned for violations.
        run_sets: None where neither side has more than one run of any scenario.
    """

    baseline: Batch
    candidate: Batch
    verdict: ComparisonVerdict
    incomparable_reason: IncomparableReason | None = None
    counts: dict[ChangeClass, int]
    could_not_run: int = 0
    compared: int = 0
    changes: tuple[ScenarioChange, ...] = ()
    differing_legs: int = 0
    uncompared_breaches: int = 0
    not_run_in_baseline: int = 0
    not_run_in_candidate: int = 0
    baseline_coverage: ScanCoverage
    candidate_coverage: ScanCoverage
    run_sets: "RunSetReport | None" = None

    @property
    def would_fail(self) -> bool:
        """Whether the flip rule fails a gate: a scenario passed in the baseline and does not pass in the candidate."""
        return self.verdict == "regressed"

    @property
    def run_set_disagreement(self) -> "RunSetDisagreement":
        """Where the run sets say another thing than the one compared run a side; empty without run sets."""
        flagged = {drop.scenario_id for drop in self.run_sets.drops if drop.reading == "drop"} if self.run_sets else set()
        failing = [row for row in self.changes if row.change == "newly_failing"]
        failing_by_verdict = [row for row in failing if "candidate" not in row.could_not_run]
        return RunSetDisagreement(
            flagged_not_failing=tuple(sorted(flagged - {row.scenario_id for row in failing})),
            failing_not_flagged=tuple(
                row.scenario_id for row in failing_by_verdict if row.could_flag_a_drop and row.scenario_id not in flagged
            ),
        )


RunSetReading = Literal["drop", "not_significant", "cannot_flag"]


class RunSetDrop(Value):
    """A scenario whose candidate passes less often than its baseline, both with a graded run, with Boschloo's p-value.

    `reading`: `drop` where it is flagged (p at most 0.05), `cannot_flag` where these counts could not flag even a fall from all to none.
    """

    scenario_id: str
    baseline: RunSetCount
    candidate: RunSetCount
    p: float = Field(ge=0, le=1)
    reading: RunSetReading

    @property
    def candidate_budget_stops(self) -> int:
        """How many of the candidate's failures are runs that came to a limit of their own."""
        return self.candidate.budget_stops


class SmallestDrop(Value):
    """What is flagged from all passed at these graded counts: `most_passes` or fewer; None where nothing can be.

    `scenarios` is how many of the tested scenarios have these counts.
    """

    baseline_graded: int
    candidate_graded: int
    most_passes: int | None
    scenarios: int


class RunSetReport(Value):
    """Run sets of all scenarios that both batches have. It decides nothing: verdicts come from one run a side.

    Attributes:
        baseline_runs, candidate_runs: the most runs that a scenario has on that side.
        tested: scenarios with a graded run on both sides, and not one against one.
        not_tested: scenarios with one graded run a side.
        ungraded_sides: ids of scenarios that lack a graded run on a side, so that there is nothing to test.
        drops: every scenario whose candidate passes less often, by id.
        expected_flags: how many of the tested would be flagged if the same runs were dealt to the sides at random.
        chance_of_as_many: how often at least as many would be flagged then, scenarios taken as independent; 1 where none is.
        smallest_drops: by graded counts, what the tested scenarios could have shown.
        could_not_run, missing: runs of both sides that hit a harness error, and that were planned and never made.
    """

    baseline_runs: int
    candidate_runs: int
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


class RunSetDisagreement(Value):
    """Scenarios of which run sets and the compared runs say different things, by id.

    Attributes:
        flagged_not_failing: a flagged drop whose class is not newly failing.
        failing_not_flagged: newly failing by a verdict, with run sets that could have flagged it, and no flag.
    """

    flagged_not_failing: tuple[str, ...] = ()
    failing_not_flagged: tuple[str, ...] = ()


class HeadlineChoice(Value):
    """The two batches that a project's page compares by itself, and why the baseline was taken."""

    baseline: Batch
    candidate: Batch
    choice: BaselineChoice


BatchComparison.model_rebuild()
