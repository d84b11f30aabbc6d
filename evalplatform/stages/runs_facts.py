"""What each stage of the agent side says of its artifact without opening the files, as typed values: they are the manifest's `facts`."""

from typing import Literal

from pydantic import AwareDatetime

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.comparisons.batches.records import BaselineChoice, ComparisonVerdict
from evalplatform.kernel.values import Value
from evalplatform.reports.view import Table
from evalplatform.runs.records import Outcome, Retention, ScanCoverage
from evalplatform.runs.remembered_gate import GateStanding

GateAnswer = Literal["passes", "fails", "undecided"]


class ScenarioSetFacts(Value):
    """Of `scenario_set`: how many scenarios it has, which of them are replayed and critical, and how many runs a batch of them plans.

    `judge` is who grades, as a batch records it.
    """

    digest: str
    scenarios: int
    replayed: int
    critical: int
    planned_runs: int
    judge: str


class BatchFacts(Value):
    """Of `batches`: whose batch it is, and how its runs ended.

    `passed_scenarios` have run sets of which every graded run passed, `mixed_scenarios` some; `scenarios` counts those with runs.
    """

    batch: str
    commit: str | None
    branch: str | None
    agent: str
    model: str | None
    judge: str
    recorded_at: AwareDatetime
    scenarios: int
    passed_scenarios: int
    mixed_scenarios: int
    runs: int
    graded: int
    outcomes: dict[Outcome, int]
    coverage: ScanCoverage
    truncated_reason: str | None
    retention: Retention
    preview: Table


class BatchComparisonFacts(Value):
    """Of `batch_comparisons`: which two batches, why that baseline, and what came out.

    `sentence` is the verdict with what it rests on, `counts_line` the classes that have scenarios. `would_fail` says whether the flip rule
    fails a gate. `baseline_coverage` and `candidate_coverage` are of the scan for violations; `notices` are what to know before reading.
    """

    baseline: str
    candidate: str
    choice: BaselineChoice
    verdict: ComparisonVerdict
    sentence: str
    counts_line: str
    compared: int
    newly_failing: int
    could_not_run: int
    would_fail: bool
    baseline_coverage: ScanCoverage
    candidate_coverage: ScanCoverage
    notices: tuple[str, ...] = ()
    preview: Table | None


class GateDecisionFacts(Value):
    """Of `gate_decisions`: the answer, by which rule, and what it rests on.

    `by_policy` says whether a gate policy decides; `k`, `threshold` and `suite_p` are None where none does. `gating` fail the gate.
    `remembered_key` and `remembered_standing` are of the last remembered gate of these two batches.
    """

    baseline: str
    candidate: str
    choice: BaselineChoice
    answer: GateAnswer
    sentence: str
    by_policy: bool
    k: int | None
    threshold: float | None
    suite_p: float | None
    gating: tuple[str, ...]
    scenarios: int
    certificate_digest: str | None
    remembered_key: str | None
    remembered_standing: GateStanding | None


class RunPlanFacts(Value):
    """Of `run_plan`: how many runs the next gate takes, and how many scenarios reach their target."""

    branch: str
    sentence: str
    total_runs: int
    max_runs: int
    scenarios: int
    covered: int
    short: tuple[str, ...]
    notes: tuple[str, ...]
    preview: Table | None


class GateReadinessFacts(Value):
    """Of `gate_readiness`: what the gate catches, in a sentence and counts; `caught` is None without enough history."""

    branch: str
    sentence: str
    target_drop_points: int
    scenarios: int
    caught: int | None
    with_enough_history: int
    with_full_history: int
    runs_per_gate: int
    notes: tuple[str, ...]
    preview: Table | None


class UnstableFacts(Value):
    """Of `unstable_scenarios`: what was found in a sentence, and the counts that it rests on."""

    headline: str
    has_evidence: bool
    unstable: int
    scenarios_compared: int
    repeated_commits: int
    batches_read: int
    left_out: tuple[str, ...]
    preview: Table | None


def scenario_set_facts(manifest: ArtifactManifest) -> ScenarioSetFacts:
    """Return the facts of a `scenario_set` version."""
    return ScenarioSetFacts.model_validate(manifest.facts)


def batch_facts(manifest: ArtifactManifest) -> BatchFacts:
    """Return the facts of a `batches` version."""
    return BatchFacts.model_validate(manifest.facts)


def batch_comparison_facts(manifest: ArtifactManifest) -> BatchComparisonFacts:
    """Return the facts of a `batch_comparisons` version."""
    return BatchComparisonFacts.model_validate(manifest.facts)


def gate_decision_facts(manifest: ArtifactManifest) -> GateDecisionFacts:
    """Return the facts of a `gate_decisions` version."""
    return GateDecisionFacts.model_validate(manifest.facts)


def run_plan_facts(manifest: ArtifactManifest) -> RunPlanFacts:
    """Return the facts of a `run_plan` version."""
    return RunPlanFacts.model_validate(manifest.facts)


def gate_readiness_facts(manifest: ArtifactManifest) -> GateReadinessFacts:
    """Return the facts of a `gate_readiness` version."""
    return GateReadinessFacts.model_validate(manifest.facts)


def unstable_facts(manifest: ArtifactManifest) -> UnstableFacts:
    """Return the facts of an `unstable_scenarios` version."""
    return UnstableFacts.model_validate(manifest.facts)
