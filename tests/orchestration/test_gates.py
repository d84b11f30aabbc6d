"""Gates under Dagster: what a decision leaves there, that it blocks, and what readiness and run plan show."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from evalplatform.gates.verification import verify_certificate
from evalplatform.runs.gate_policy import HeldPolicy
from evalplatform.runs.records import Batch, PlannedScenario
from evalplatform.runs.remembered_gate import GateReport
from evalplatform.stages.gate_policies import read_policy, set_policy
from evalplatform.stages.remember_gate import remember_gate
from tests.support.recorded_batches import recorded
from tests.support.runs_project import SCENARIOS, RunsProject
from tests.support.starter_project import materializations, value_of

POLICY = HeldPolicy().model_dump(mode="json", exclude={"tier_by_scenario"})
STEADY = {"rebook": "P" * 10, "refund": "P" * 10}
COLLAPSED = {"rebook": "P" * 10, "refund": "F" * 10}


@pytest.fixture
def runs(tmp_path: Path) -> RunsProject:
    return RunsProject.written_to(tmp_path / "project", scenarios=SCENARIOS)


def pushed(runs: RunsProject, *batches: Mapping[str, str], **header: Any) -> tuple[Batch, ...]:
    """One batch a day, the last one today, each with its partition, recorded under a gate policy."""
    days = range(len(batches) - 1, -1, -1)
    stored = runs.push(*(recorded(batch, days_ago=day, policy=POLICY, **header) for batch, day in zip(batches, days, strict=True)))
    runs.register(*stored)
    return stored


def decided(runs: RunsProject, candidate: Batch) -> dg.ExecuteInProcessResult:
    return runs.materialize(["batches", "batch_comparisons", "gate_decisions"], candidate, raise_on_error=False)


def gate_check(result: dg.ExecuteInProcessResult) -> dg.AssetCheckEvaluation:
    return next(check for check in result.get_asset_check_evaluations() if check.check_name == "gate")


def test_a_gate_that_fails_blocks_the_run_with_its_decision_and_certificate_stored(runs: RunsProject) -> None:
    baseline, candidate = pushed(runs, STEADY, COLLAPSED)
    result = decided(runs, candidate)
    assert not result.success
    made = materializations(result)["gate_decisions"]
    assert (value_of(made, "answer"), value_of(made, "decided_by"), value_of(made, "k")) == ("fails", "gate policy", 1)
    assert value_of(made, "baseline") == f"{baseline.id} (the previous batch)"
    assert "refund" in value_of(made, "gating")
    check = gate_check(result)
    assert (check.passed, check.blocking, check.partition, check.severity) == (False, True, candidate.id, dg.AssetCheckSeverity.ERROR)
    assert "The gate would fail (1 significant drop)" in (check.description or "")
    with runs.opened() as opened:
        manifest = opened.runs_context().upstream("gate_decisions", candidate.id)
        verified = verify_certificate(opened.catalog.read(manifest, "gate-certificate.json"))
        stored = json.loads(opened.catalog.read(manifest, "gate-decision.json"))
    assert (verified.holds, verified.fails, verified.gating) == (True, True, ("refund",))
    assert verified.digest == value_of(made, "certificate")
    assert stored["would_fail"] is True


def test_a_gate_that_passes_lets_the_run_succeed(runs: RunsProject) -> None:
    _, candidate = pushed(runs, STEADY, STEADY)
    result = decided(runs, candidate)
    assert result.success
    assert gate_check(result).passed
    assert value_of(materializations(result)["gate_decisions"], "answer") == "passes"


def test_a_gate_that_could_not_be_decided_blocks_as_well(runs: RunsProject) -> None:
    _, candidate = runs.push(recorded({"refund": "P"}, days_ago=1), recorded({"rebook": "P"}))
    runs.register(candidate)
    result = decided(runs, candidate)
    assert not result.success
    made = materializations(result)["gate_decisions"]
    assert (value_of(made, "answer"), value_of(made, "decided_by")) == ("undecided", "one run a side")


def test_a_decision_stands_on_what_the_remembered_gate_pinned(runs: RunsProject) -> None:
    *older, candidate = pushed(runs, STEADY, STEADY, COLLAPSED)
    with runs.opened() as opened:
        context = opened.runs_context()
        report = GateReport(
            key="ci", baseline=older[0].id, candidate=candidate.id, history=(older[1].id, older[0].id), baseline_branch="main"
        )
        remember_gate(context, report, actor="test")
    made = materializations(decided(runs, candidate))["gate_decisions"]
    assert value_of(made, "baseline") == f"{older[0].id} (the batch that its last gate compared it with)"
    assert (value_of(made, "remembered"), value_of(made, "remembered_standing")) == ("ci", "flagged")
    with runs.opened() as opened:
        manifest = opened.runs_context().upstream("gate_decisions", candidate.id)
        certificate = json.loads(opened.catalog.read(manifest, "gate-certificate.json"))
    assert certificate["history"] == [older[1].id, older[0].id]
    assert {entry["scenario_id"]: entry["baseline_graded"] for entry in certificate["scenarios"]} == {"rebook": 20, "refund": 20}


def test_readiness_and_run_plan_speak_of_the_branch_and_the_held_policy(runs: RunsProject) -> None:
    *older, candidate = pushed(runs, STEADY, STEADY, branch="main")
    with runs.opened() as opened:
        context = opened.runs_context()
        for batch in (*older, candidate):
            remember_gate(context, GateReport(key=batch.id, baseline=batch.id, candidate=batch.id, branch="main"), actor="test")
        set_policy(context, HeldPolicy(target_drop=40), read_policy(context), actor="test")
    made = materializations(runs.materialize(["gate_readiness", "run_plan"]))
    readiness, plan = made["gate_readiness"], made["run_plan"]
    assert value_of(readiness, "target_drop_points") == 40
    assert value_of(plan, "branch") == "main"
    assert value_of(plan, "total_runs") == value_of(readiness, "runs_per_gate")
    again = materializations(runs.materialize(["gate_readiness", "run_plan"]))
    assert value_of(again["gate_readiness"], "unchanged") is True
    assert value_of(again["run_plan"], "unchanged") is True


def test_a_critical_scenario_of_either_batch_is_gated_as_critical(runs: RunsProject) -> None:
    tiers = {name: PlannedScenario(tier="critical", planned_runs=10) for name in STEADY}
    dropped = {"rebook": "P" * 9 + "F", "refund": "P" * 10}
    first = recorded(STEADY, days_ago=1, policy=POLICY)
    _, candidate = runs.push(first._replace(header=first.header.with_changes(scenarios=tiers)), recorded(dropped, policy=POLICY))
    runs.register(candidate)
    assert "(1 critical drop)" in (gate_check(decided(runs, candidate)).description or "")
