"""The certificate of a gate: all that its decision rests on, so that anyone can derive it again from this alone.

`gates.verification` does, with none of the code that is used here.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal

import orjson
from pydantic import Field

from evalplatform.comparisons.batches.records import BaselineChoice
from evalplatform.gates.claim import BOUND, COVERED, EXACT_UP_TO_RUNS, NOT_COVERED, RELATIVE_ERROR
from evalplatform.gates.records import (
    LISTED_LEVEL,
    SINGLE_LEVEL,
    SUITE_LEVEL,
    GateDecision,
    GateRule,
    HistoryPool,
    PoolStop,
    ReplayDeterminism,
    ScenarioDecision,
    ScenarioReading,
    UnverifiedReason,
)
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.values import Value
from evalplatform.runs.records import Batch, GateTier, OneLine, Outcome, UtcMoment
from evalplatform.runs.remembered_gate import GateStrictness
from evalplatform.stats.stratified_drop import exact_stratified_drop_p

FORMAT: Final = "evalplatform.gate-certificate"
VERSION: Final = 1


class CertifiedBatch(Value):
    """A batch as a certificate names it."""

    id: OneLine
    content_digest: str
    commit: OneLine | None
    recorded_at: UtcMoment


class CertifiedPool(Value):
    """A history pool: one mark a run, newest first (`1` passed, `0` failed), why it ends, and the batches it is of."""

    marks: str = Field(pattern="^[01]+$")
    stop: PoolStop
    batches: tuple[OneLine, ...]


class CertifiedScenario(Value):
    """One scenario: what was given, and what was derived from it. P-values are fractions, as text."""

    scenario_id: str
    baseline_tier: GateTier
    candidate_tier: GateTier
    tier: GateTier
    rule: GateRule
    baseline_passed: int
    baseline_graded: int
    candidate_passed: int
    candidate_graded: int
    pool: CertifiedPool | None
    baseline_outcome: Outcome | None
    candidate_outcome: Outcome | None
    legs_differ: bool
    p: Fraction | None
    smallest_p: Fraction | None
    reading: ScenarioReading
    unverified_reason: UnverifiedReason | None
    unstable_critical: bool
    gates: bool


class CertifiedTotals(Value):
    """The counts of all scenarios together: what one edited count alone contradicts, also where no p-value depends on it."""

    baseline_passed: int
    baseline_graded: int
    candidate_passed: int
    candidate_graded: int


class CertifiedSuite(Value):
    """The suite test: over how many scenarios, its p-value (a fraction where that is short enough) and whether it is a drop."""

    scenarios: int
    p: float
    exact_p: Fraction | None
    relative_error: float
    drop: bool


class CertifiedBound(Value):
    """How often a gate in which nothing changed fails at most, in words, and what that does not cover."""

    at_most: Fraction
    covers: str
    does_not_cover: tuple[str, ...]


class Certificate(Value):
    """All that a gate's decision rests on, and what was derived. `digest` is of everything else."""

    format: Literal["evalplatform.gate-certificate"] = FORMAT
    version: Literal[1] = VERSION
    tenant: OneLine
    project: OneLine
    baseline: CertifiedBatch
    candidate: CertifiedBatch
    choice: BaselineChoice
    branch: OneLine | None
    history: tuple[OneLine, ...] | None
    strictness: GateStrictness
    single_level: Fraction
    listed_level: Fraction
    suite_level: Fraction
    k: int
    threshold: Fraction
    scenarios: tuple[CertifiedScenario, ...]
    totals: CertifiedTotals
    suite: CertifiedSuite
    is_seed: bool
    history_error: str | None
    determinism: ReplayDeterminism | None
    bound: CertifiedBound
    gating: tuple[str, ...]
    fails: bool
    digest: str = ""

    @property
    def content_digest(self) -> str:
        """The digest of all but `digest` itself."""
        return json_digest(self.model_dump(mode="json", exclude={"digest"}))


def certificate_of(
    decision: GateDecision,
    *,
    baseline: Batch,
    candidate: Batch,
    choice: BaselineChoice,
    branch: str | None = None,
    history: Sequence[str] | None = None,
    strictness: GateStrictness | None = None,
) -> Certificate:
    """Return the certificate of a decision.

    Args:
        decision: what was decided.
        baseline, candidate: the two batches.
        choice: why this baseline.
        branch: the branch that was gated against; None where none was.
        history: the ids of the batches that were pooled, newest first; None where no history was asked for.
        strictness: how strictly it was gated; None for the default.
    """
    spread = [one for one in decision.scenarios if one.counts_for_k and one.reading != "drop_significant"]
    scenarios = tuple(map(_scenario, decision.scenarios))
    certificate = Certificate(
        tenant=candidate.header.tenant,
        project=candidate.header.project,
        baseline=_batch(baseline),
        candidate=_batch(candidate),
        choice=choice,
        branch=branch,
        history=None if history is None else tuple(history),
        strictness=strictness or GateStrictness(),
        single_level=SINGLE_LEVEL,
        listed_level=LISTED_LEVEL,
        suite_level=SUITE_LEVEL,
        k=decision.k,
        threshold=decision.threshold,
        scenarios=scenarios,
        totals=CertifiedTotals(**{name: sum(getattr(scenario, name) for scenario in scenarios) for name in CertifiedTotals.model_fields}),
        suite=CertifiedSuite(
            scenarios=decision.suite_scenarios,
            p=decision.suite_p,
            exact_p=_exact_suite_p(spread),
            relative_error=RELATIVE_ERROR,
            drop=decision.suite_drop,
        ),
        is_seed=decision.is_seed,
        history_error=decision.history_error,
        determinism=decision.determinism,
        bound=CertifiedBound(at_most=BOUND, covers=COVERED, does_not_cover=NOT_COVERED),
        gating=tuple(one.scenario_id for one in decision.gating),
        fails=decision.fails,
    )
    return certificate.with_changes(digest=certificate.content_digest)


def certificate_bytes(certificate: Certificate) -> bytes:
    """Return the certificate as indented JSON, the same bytes for the same certificate."""
    return orjson.dumps(certificate.model_dump(mode="json"), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _batch(batch: Batch) -> CertifiedBatch:
    return CertifiedBatch(
        id=batch.id, content_digest=batch.content_digest, commit=batch.header.commit, recorded_at=batch.header.recorded_at
    )


def _pool(pool: HistoryPool) -> CertifiedPool:
    marks = "".join("1" if passed else "0" for passed in pool.newest_first)
    return CertifiedPool(marks=marks, stop=pool.stop, batches=pool.batches)


def _scenario(decided: ScenarioDecision) -> CertifiedScenario:
    given = decided.scenario
    return CertifiedScenario(
        scenario_id=given.scenario_id,
        baseline_tier=given.baseline_tier,
        candidate_tier=given.candidate_tier,
        tier=given.tier,
        rule=given.rule,
        baseline_passed=given.baseline.passed,
        baseline_graded=given.baseline.graded,
        candidate_passed=given.candidate.passed,
        candidate_graded=given.candidate.graded,
        pool=None if given.pool is None else _pool(given.pool),
        baseline_outcome=given.baseline_outcome,
        candidate_outcome=given.candidate_outcome,
        legs_differ=given.legs_differ,
        p=decided.p,
        smallest_p=decided.smallest_p,
        reading=decided.reading,
        unverified_reason=decided.unverified_reason,
        unstable_critical=decided.unstable_critical,
        gates=decided.gates,
    )


def _exact_suite_p(spread: Sequence[ScenarioDecision]) -> Fraction | None:
    runs = sum(one.scenario.baseline.graded + one.scenario.candidate.graded for one in spread)
    if runs > EXACT_UP_TO_RUNS:
        return None
    return exact_stratified_drop_p([(one.scenario.baseline, one.scenario.candidate) for one in spread])
