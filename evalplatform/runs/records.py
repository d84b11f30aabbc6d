"""Runs and batches as values: one declaration for what is computed, stored, written to bundles and served."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, AwareDatetime, Field, JsonValue, model_validator

from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.usage import Usage
from evalplatform.kernel.values import Value
from evalplatform.runs.tolerance import DEFAULT_TOLERANCE, PathTolerance

Outcome = Literal["passed", "failed", "agent_error", "budget_stop", "harness_error", "ungraded"]
GRADED_OUTCOMES: frozenset[Outcome] = frozenset({"passed", "failed", "agent_error", "budget_stop"})
"""What has a verdict. `agent_error` and `budget_stop` (the run's own limits) are failures. `harness_error` (could not run) and `ungraded`
(stopped by the batch's spend cap, or nothing to grade by) have none."""

Verdict = Literal["passed", "failed"]
Leg = Literal["live", "replay"]
GateTier = Literal["critical", "standard"]
CiEvent = Literal["push", "pull_request"]
Origin = Literal["run", "import", "night"]
Retention = Literal["whole", "compacted", "expired"]

MAX_RUNS_PER_SCENARIO = 50
ONE_LINE = r"^[^\x00-\x1f]+$"
OneLine = Annotated[str, Field(pattern=ONE_LINE)]


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # the first or the last hours that there are
        raise ValueError("is no moment in UTC") from None


# In UTC from the start: a database gives it back so, and an id that is taken of the content must not change by that.
UtcMoment = Annotated[AwareDatetime, AfterValidator(_in_utc)]


def _without_nul(text: str) -> str:
    return text.replace("\x00", "\N{SYMBOL FOR NULL}")


# What an agent or a judge says goes in here, and no NUL of it may keep a batch out of a database.
Words = Annotated[str, AfterValidator(_without_nul)]


class AssertionResult(Value):
    """What one assertion found. `unchecked`: the trace holds nothing to check it by, which is never a pass; `detail` says why."""

    assertion: str
    state: Literal["passed", "failed", "unchecked"]
    detail: Words | None = None


class Violation(Value):
    """A policy that a run breached. `step` is the 1-based step where it was found; what was found is not kept."""

    policy: str
    step: int = Field(ge=1)


class ModelVerdict(Value):
    """What a model judge said of a run. It is kept apart from the structural verdict and never changes the outcome.

    `verdict` and `score_points` are None where it gave none, for the `reason`.
    """

    judge: str
    verdict: Verdict | None
    score_points: float | None = Field(default=None, ge=0, le=100)
    reason: Words | None = None


class Run(Value):
    """One attempt of an agent at one scenario.

    Attributes:
        scenario_id: which scenario.
        order: its place within its scenario in the batch, from 0; the highest is the most recent.
        created_at: when it ended.
        leg: live, or a replay of a recorded trajectory.
        outcome: how it ended; `reason` says why wherever that is not `passed`.
        score_points: the share of its assertions that passed, 0 to 100; None where it has no checked assertion, or no verdict.
        assertions: what each assertion found.
        model_verdict: a model judge's word, or None where none was asked.
        violations: breached policies; None where the run was not scanned for any, which is not the same as none.
        scan_given_up: whether `violations` are those found before a scan was given up, beside which there may be others. A scan that was
            given up before anything was found is none.
        trajectory_digest: its trajectory in the blob store; None where there is none (it could not run).
        tools: the tool path.
        step_count: how many steps the trajectory has.
        usage, cost_usd, seconds: what it took; None where unknown.
    """

    scenario_id: OneLine
    order: int = Field(ge=0, lt=MAX_RUNS_PER_SCENARIO)
    created_at: UtcMoment
    leg: Leg = "live"
    outcome: Outcome
    reason: Words | None = None
    score_points: float | None = Field(default=None, ge=0, le=100)
    assertions: tuple[AssertionResult, ...] = ()
    model_verdict: ModelVerdict | None = None
    violations: tuple[Violation, ...] | None = None
    scan_given_up: bool = False
    trajectory_digest: str | None = None
    tools: tuple[str, ...] = ()
    step_count: int = Field(default=0, ge=0)
    usage: Usage = Usage()
    cost_usd: float | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _a_scan_given_up_found_something(self) -> Self:
        if self.scan_given_up and not self.violations:
            raise ValueError("a scan that was given up with nothing found is no scan: violations is null then")
        return self

    @property
    def id(self) -> str:
        """`r-` and 16 hex digits of its content: the same run read twice has one id. Unique within its batch."""
        left_out = set() if self.scan_given_up else {"scan_given_up"}  # what is so of almost every run marks none
        return "r-" + json_digest(self.model_dump(mode="json", exclude=left_out)).removeprefix("sha256:")[:16]

    @property
    def verdict(self) -> Verdict | None:
        """Passed or failed; None where the run was not graded."""
        if self.outcome not in GRADED_OUTCOMES:
            return None
        return "passed" if self.outcome == "passed" else "failed"

    @property
    def has_steps(self) -> bool:
        """Whether there is a trajectory that can be scanned for violations."""
        return self.trajectory_digest is not None

    @property
    def is_scanned(self) -> bool:
        """Whether all its steps were scanned for violations. A run without steps was not, whatever it says of violations."""
        return self.has_steps and self.violations is not None and not self.scan_given_up

    @property
    def found_violations(self) -> tuple[Violation, ...]:
        """What a scan of its steps found, also one that was given up; `is_scanned` says whether that is all."""
        return (self.violations or ()) if self.has_steps else ()

    @property
    def was_made(self) -> bool:
        """Whether the agent was asked at all: what a batch never got to is listed as ungraded, without steps."""
        return self.outcome != "ungraded" or self.has_steps


class PlannedScenario(Value):
    """What a batch declares of one scenario: its gate tier, its path tolerance (None: not declared), and how many runs were planned."""

    tier: GateTier = "standard"
    tolerance: PathTolerance | None = None
    planned_runs: int = Field(default=1, ge=1, le=MAX_RUNS_PER_SCENARIO)
    leg: Leg = "live"

    @property
    def applied_tolerance(self) -> PathTolerance:
        """The declared tolerance, or the default."""
        return self.tolerance or DEFAULT_TOLERANCE


class BatchHeader(Value):
    """What is known of a batch before its first run: the first line of a bundle.

    Attributes:
        tenant, project: whose it is.
        commit, branch: of the agent's repository; the branch is recorded for push builds alone, never for a pull request.
        ci_event: what the CI build was for; None outside CI.
        agent, model, judge: who acted, with which model, and who graded, as identities that do not contain the commit. `model` is None
            where it is not known.
        origin: whether its runs were made here, were imported, or are a leg of a night: a night's legs are compared with one another, and
            are never taken as a side by themselves.
        recorded_at: when it was begun.
        scenario_set_digest: of the scenario file's content; None for an import without one.
        set_scenarios: how many scenarios that file has, of which fewer may have been run; None for an import without one.
        policy: the whole `gate` block it ran under, or None.
        scenarios: what is declared of each scenario, by id.
    """

    tenant: OneLine = "default"
    project: OneLine
    commit: OneLine | None = None
    branch: OneLine | None = None
    ci_event: CiEvent | None = None
    agent: OneLine
    model: OneLine | None = None
    judge: OneLine
    origin: Origin = "run"
    recorded_at: UtcMoment
    scenario_set_digest: str | None = None
    set_scenarios: int | None = Field(default=None, ge=0)
    policy: dict[str, JsonValue] | None = None
    scenarios: dict[str, PlannedScenario] = Field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The digest of all that it declares: everything but when the batch was begun."""
        return json_digest(self.model_dump(mode="json", exclude={"recorded_at"}))

    @property
    def digest_without_runs(self) -> str:
        """The same without how many runs are planned: what a batch has in common with one that another run plan was made for."""
        planned = {name: one.with_changes(planned_runs=1) for name, one in self.scenarios.items()}
        return self.with_changes(scenarios=planned).digest

    @property
    def policy_digest(self) -> str | None:
        """The digest of the gate policy, or None without one."""
        return None if self.policy is None else json_digest(self.policy)


class ScanCoverage(Value):
    """How many of a batch's runs were scanned for violations, of those that have steps: a run without steps is in neither number."""

    scanned_runs: int = Field(default=0, ge=0)
    runs: int = Field(default=0, ge=0)

    @property
    def is_whole(self) -> bool:
        """Whether every run that has steps was scanned."""
        return self.scanned_runs == self.runs

    def with_runs(self, runs: Sequence[Run]) -> "ScanCoverage":
        """Return the coverage of these runs too."""
        scanned = self.scanned_runs + sum(run.is_scanned for run in runs)
        return ScanCoverage(scanned_runs=scanned, runs=self.runs + sum(run.has_steps for run in runs))


class Batch(Value):
    """A stored batch: all run sets recorded together at a commit.

    Attributes:
        id: `b-<UTC yyyymmddThhmmss>-<8 hex of the content digest>`; also its partition key.
        header: what was known at its beginning.
        content_digest: of the header and all runs, whatever order they ended in: the same content pushed twice is one batch.
        run_count, graded_runs, passed_runs: how many runs it was recorded with, how many of them have a verdict, and how many of those
            passed, whatever of them is kept.
        coverage: how many of the runs that had steps were scanned for violations.
        truncated_reason: why not every planned run was made (a spend cap, an interruption), or None where all were.
        retention: whether all its runs are kept, one a scenario (and pinned ones), or none.
    """

    id: OneLine
    header: BatchHeader
    content_digest: str
    run_count: int = Field(ge=0)
    graded_runs: int = Field(ge=0)
    passed_runs: int = Field(ge=0)
    coverage: ScanCoverage
    truncated_reason: Words | None = None
    retention: Retention = "whole"

    @property
    def truncated(self) -> bool:
        """Whether a planned run is missing."""
        return self.truncated_reason is not None

    @property
    def is_leg(self) -> bool:
        """Whether it is a leg of a night."""
        return self.header.origin == "night"

    @property
    def is_partial(self) -> bool:
        """Whether it was recorded of fewer scenarios than the scenario file has."""
        return self.header.set_scenarios is not None and len(self.header.scenarios) < self.header.set_scenarios


def batch_id(recorded_at: AwareDatetime, content_digest: str) -> str:
    """Return a batch's id, from a time in UTC and the digest of its content."""
    return f"b-{recorded_at:%Y%m%dt%H%M%S}-{content_digest.removeprefix('sha256:')[:8]}"
