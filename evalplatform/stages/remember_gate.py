"""Remembering a gate: the platform computes it again from its own store, exactly as it was asked for, and keeps what came out.

A report says which two batches were gated, how strictly and against which history. What a client made of it is neither asked nor believed.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import NamedTuple

from pydantic import ValidationError

from evalplatform.artifacts.blobs import put_blob
from evalplatform.comparisons.batches.records import BaselineChoice, ScenarioChange
from evalplatform.comparisons.batches.scenario_pairs import BatchRuns
from evalplatform.gates.certificate import Certificate, certificate_bytes, certificate_of
from evalplatform.gates.inputs import live_scenario_ids
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError
from evalplatform.ports.audit import AuditEntry
from evalplatform.ports.gates import AddedGate
from evalplatform.reports.batch_comparison_words import incomparable_words
from evalplatform.runs.records import Batch, Run
from evalplatform.runs.remembered_gate import GatedScenario, GateReport, GateStanding, RememberedGate
from evalplatform.stages.batch_sides import BatchSide, stored_side
from evalplatform.stages.gate import NO_POOLS, GatedComparison, gated_comparison
from evalplatform.stages.gate_history import pinned_history
from evalplatform.stages.replay_determinism import replay_determinism
from evalplatform.stages.runs_context import RunsContext
from evalplatform.stats.pass_counts import PassCount

ACTION = "gates.remember"
KEY_HEX_DIGITS = 12
HISTORY_UNREADABLE = "the history could not be read when this was gated"
CLIENT_WORDS = ("verdict", "standing", "fails", "decision", "passed", "result")
"""What a client may be tempted to say of a gate."""


class _Recomputed(NamedTuple):
    """What the platform made of a report."""

    standing: GateStanding
    reason: str | None = None
    scenarios: tuple[GatedScenario, ...] = ()
    certificate: Certificate | None = None


def remember_gate(context: RunsContext, report: GateReport, *, actor: str) -> AddedGate:
    """Compute a gate again and store it; the same key again changes nothing.

    Where the gate has no answer (exit code 2 at the command line), or its pinned history can no longer be read, a failed check is stored,
    with the reason: it is no baseline, and never clean.

    Args:
        context: the agent side of the project.
        report: what was gated.
        actor: who asks for it, for the audit.

    Raises:
        UnknownNameError: a batch of the report is not stored.
        InputError: one is of another project.
        StorageUnavailableError: the stores do not answer; remembering again is safe.
    """
    there = context.gates.gate(report.key)
    if there is not None:
        return AddedGate(gate=there, already_there=True)
    baseline, candidate = (
        stored_side(batch_id, batches=context.batches, objects=context.objects) for batch_id in (report.baseline, report.candidate)
    )
    evidence = _Evidence(baseline.batch, candidate.batch)
    made = _recomputed(context, report, baseline, candidate, evidence)
    digest = None
    if made.certificate is not None:  # before the row that names it
        digest = put_blob(context.objects, certificate_bytes(made.certificate))
    now = context.clock.now()
    gate = RememberedGate(
        report=report,
        standing=made.standing,
        reason=made.reason,
        received_at=max(now, evidence.newest),
        commit=candidate.batch.header.commit,
        certificate_digest=digest,
    )
    entry = AuditEntry(
        actor=actor,
        action=ACTION,
        subject=report.key,
        new_value={"baseline": report.baseline, "candidate": report.candidate, "standing": made.standing},
        happened_at=now,
    )
    return context.gates.remember(gate, made.scenarios, entry=entry)


def read_gate_report(data: bytes) -> GateReport:
    """Read a report that a client sends as JSON.

    Raises:
        InputError: it is none; one that brings an answer of the client's own is refused by the field.
    """
    try:
        return GateReport.model_validate_json(data)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in problem["loc"]) or None
        if field in CLIENT_WORDS:
            rule = "is not taken from a client: the platform computes every remembered gate itself. Leave it out."
            raise InputError(rule, field=field) from None
        raise InputError(f"the report of a gate cannot be used: {problem['msg']}.", field=field) from None


def gate_key(environ: Mapping[str, str], *, baseline: str, candidate: str) -> str:
    """Return the key of a gate: of one CI attempt, job and pair of batches; outside CI of the pair alone.

    So a build that is run again is a gate of its own, and a gate that failed and then passed on one commit stays to be seen; the jobs of a
    matrix are remembered each.
    """
    run, attempt = environ.get("GITHUB_RUN_ID"), environ.get("GITHUB_RUN_ATTEMPT", "1")
    if not run:
        return f"local:{baseline}:{candidate}"
    digest = json_digest([environ.get("GITHUB_JOB", ""), baseline, candidate]).removeprefix("sha256:")
    return f"{run}-{attempt}-{digest[:KEY_HEX_DIGITS]}"


class _Evidence:
    """Watches the runs that a comparison reads, for the time of the newest: a gate is never older than what it rests on."""

    def __init__(self, *batches: Batch) -> None:
        self.newest: datetime = max(batch.header.recorded_at for batch in batches)

    def watched(self, side: BatchRuns) -> BatchRuns:
        """Return the same side; its runs are looked at as they go by."""
        return BatchRuns(side.batch, partial(self._runs, side))

    def _runs(self, side: BatchRuns) -> Iterator[Run]:
        for run in side.runs():
            self.newest = max(self.newest, run.created_at)
            yield run


def _recomputed(context: RunsContext, report: GateReport, baseline: BatchSide, candidate: BatchSide, evidence: _Evidence) -> _Recomputed:
    rows: list[ScenarioChange] = []
    try:
        gated = _gated(context, report, baseline, candidate, evidence, rows)
    except InputError as error:  # a pinned batch is gone or compacted; replays cannot be run again
        return _Recomputed("failed_check", f"comparison refused: {error}")
    if not gated.is_answered:
        return _Recomputed("failed_check", f"comparison refused: {incomparable_words(gated.comparison)}")
    certificate = None
    if gated.decision is not None:
        certificate = certificate_of(
            gated.decision,
            baseline=baseline.batch,
            candidate=candidate.batch,
            choice=_choice(report),
            branch=report.baseline_branch,
            history=report.history,
            strictness=report.strictness,
        )
    return _Recomputed("flagged" if gated.fails else "clean", None, tuple(_gated_scenarios(gated, rows)), certificate)


def _gated(
    context: RunsContext,
    report: GateReport,
    baseline: BatchSide,
    candidate: BatchSide,
    evidence: _Evidence,
    rows: list[ScenarioChange],
) -> GatedComparison:
    pools = NO_POOLS
    if report.history is not None:
        pools = pinned_history(context, report.history, live_scenario_ids(candidate.batch.header)).pools
    determinism = replay_determinism(context, baseline, candidate) if report.strictness.require_replay_determinism else None
    return gated_comparison(
        evidence.watched(baseline.runs),
        evidence.watched(candidate.runs),
        pools=pools,
        is_seed=_choice(report) == "seed",
        history_error=HISTORY_UNREADABLE if report.history_unreadable else None,
        determinism=determinism,
        on_row=rows.append,
    )


def _choice(report: GateReport) -> BaselineChoice:
    if report.baseline_branch is None:
        return "named"
    return "seed" if report.baseline == report.candidate else "branch"


def _gated_scenarios(gated: GatedComparison, rows: list[ScenarioChange]) -> Iterator[GatedScenario]:
    gating = None if gated.decision is None else {decided.scenario_id for decided in gated.decision.gating}
    for row in rows:
        if row.candidate_runs is None:
            continue
        run = row.candidate
        yield GatedScenario(
            scenario_id=row.scenario_id,
            verdict=None if run is None else run.verdict,
            path_digest=None if run is None or run.trajectory_digest is None else json_digest(list(run.tools)),
            candidate=PassCount(passed=row.candidate_runs.passes.passed, graded=row.candidate_runs.passes.graded),
            gates=row.change == "newly_failing" if gating is None else row.scenario_id in gating,
        )
