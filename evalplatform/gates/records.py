"""What a gate is given of each scenario, and what it decides, unrounded and unworded. Every p-value that decides is a fraction."""

from fractions import Fraction
from typing import Literal

from pydantic import Field

from evalplatform.kernel.values import Value
from evalplatform.runs.records import GateTier, Outcome
from evalplatform.stats.pass_counts import PassCount

GateRule = Literal["flip", "run_sets"]
"""`flip`: one run a side, or replays, so that a flip of the one run decides. `run_sets`: exact tests over graded runs."""

PoolStop = Literal["limit", "identity", "change", "end"]
"""Why a pool holds no older run: it is full; the next older run is of another agent, model or judge; the results changed there; there is
none."""

UnverifiedReason = Literal["baseline_ungraded", "candidate_ungraded", "too_few_runs", "legs_differ"]
"""Why a scenario is unverified: a side has no graded run; even a total collapse could not be shown; a replay stands against live runs."""

ScenarioReading = Literal[
    "flipped",
    "not_flipped",
    "unverified",
    "drop",
    "pre_existing_failing",
    "drop_significant",
    "listed_not_proven",
    "always_failing",
    "not_significant",
    "no_drop",
]
"""How a scenario reads. `flipped` and `not_flipped` are of the flip rule; `drop` and `pre_existing_failing` of the critical tier alone;
`drop_significant` to `not_significant` of the standard tier alone."""

GATING_READINGS: frozenset[ScenarioReading] = frozenset({"flipped", "unverified", "drop", "drop_significant"})
LISTED_LEVEL = Fraction(1, 20)
SINGLE_LEVEL = Fraction(1, 25)
"""The chance, at most, that any standard scenario is flagged though nothing changed."""
SUITE_LEVEL = Fraction(1, 100)
"""The same of the suite test alone: what the level above leaves of 1 in 20."""


class HistoryPool(Value):
    """The newest graded live runs of one scenario from the remembered gates of a branch, and why there are no older ones among them.

    Attributes:
        newest_first: whether each run passed.
        stop: why the pool ends there.
        batches: the batches that the runs are of, newest first.
    """

    newest_first: tuple[bool, ...]
    stop: PoolStop
    batches: tuple[str, ...] = ()

    @property
    def passes(self) -> PassCount:
        """Passes among the pooled runs."""
        return PassCount(passed=sum(self.newest_first), graded=len(self.newest_first))

    @property
    def is_enough(self) -> bool:
        """Whether it stands for the baseline: with fewer than 10 runs the baseline batch does."""
        return len(self.newest_first) >= FEWEST_POOLED_RUNS


FEWEST_POOLED_RUNS = 10
MOST_POOLED_RUNS = 20


class GateScenario(Value):
    """What a gate is given of one scenario that both batches have.

    Attributes:
        scenario_id: which.
        baseline_tier, candidate_tier: as each batch declares it; the stricter applies.
        rule: how it is decided.
        baseline, candidate: passes among graded runs. The baseline's are the pool's where there is one with enough runs.
        baseline_outcome, candidate_outcome: of the compared run, which the flip rule goes by; None where there is none, and under run sets.
        pool: the history that the baseline's passes are of; None where they are the baseline batch's.
        legs_differ: whether a replay is compared with live runs.
    """

    scenario_id: str
    baseline_tier: GateTier = "standard"
    candidate_tier: GateTier = "standard"
    rule: GateRule = "run_sets"
    baseline: PassCount
    candidate: PassCount
    baseline_outcome: Outcome | None = None
    candidate_outcome: Outcome | None = None
    pool: HistoryPool | None = None
    legs_differ: bool = False

    @property
    def tier(self) -> GateTier:
        """The stricter of both declarations."""
        return "critical" if "critical" in (self.baseline_tier, self.candidate_tier) else "standard"


class ScenarioDecision(Value):
    """What a gate decides of one scenario.

    Attributes:
        scenario: what was given.
        reading: how it reads.
        unverified_reason: why it is unverified; None where it is not.
        p: Fisher's p-value of a drop; None under the flip rule and where it is unverified.
        smallest_p: the least p-value that these margins allow; None where `p` is.
        unstable_critical: whether it is critical and its baseline both passed and failed, so that any-drop gating will fail it on noise.
    """

    scenario: GateScenario
    reading: ScenarioReading
    unverified_reason: UnverifiedReason | None = None
    p: Fraction | None = None
    smallest_p: Fraction | None = None
    unstable_critical: bool = False

    @property
    def scenario_id(self) -> str:
        """Which scenario."""
        return self.scenario.scenario_id

    @property
    def tier(self) -> GateTier:
        """The tier that applies."""
        return self.scenario.tier

    @property
    def gates(self) -> bool:
        """Whether it fails the gate by itself."""
        return self.reading in GATING_READINGS

    @property
    def counts_for_k(self) -> bool:
        """Whether it is a verified scenario of the standard tier, the ones that the threshold and the suite test are over."""
        return self.tier == "standard" and self.p is not None


class ReplayDeterminism(Value):
    """What running the compared replays again showed.

    Attributes:
        verified: how many came out the same: verdict and trajectory.
        differing: ids of those that did not; they fail the gate.
    """

    verified: int = Field(ge=0)
    differing: tuple[str, ...] = ()


class GateDecision(Value):
    """What a gate under a gate policy decides.

    Attributes:
        scenarios: every scenario that both batches have, by id.
        k: by how much the level of single scenarios is divided (Tarone).
        threshold: the p-value at or below which a drop of a standard scenario is significant: 1/25 divided by `k`.
        suite_scenarios: how many standard scenarios without a single flag the suite test is over.
        suite_p: its p-value; 1 without such a scenario.
        suite_drop: whether that is at most 1/100, compared exactly.
        is_seed: whether a batch was gated against itself, to become the first baseline of its branch: nothing can have dropped.
        history_error: why the history could not be read, which fails the gate as unverified; None where it could, or was not asked for.
        determinism: what running the replays again showed; None where it was not asked for.
    """

    scenarios: tuple[ScenarioDecision, ...]
    k: int = Field(ge=1)
    threshold: Fraction
    suite_scenarios: int = Field(ge=0)
    suite_p: float = Field(ge=0, le=1)
    suite_drop: bool
    is_seed: bool = False
    history_error: str | None = None
    determinism: ReplayDeterminism | None = None

    @property
    def gating(self) -> tuple[ScenarioDecision, ...]:
        """The scenarios that fail the gate by themselves; none of a seed."""
        return () if self.is_seed else tuple(decided for decided in self.scenarios if decided.gates)

    @property
    def fails(self) -> bool:
        """Whether the gate fails."""
        if self.determinism is not None and self.determinism.differing:
            return True
        if self.is_seed:
            return False
        return self.history_error is not None or bool(self.gating) or self.suite_drop
