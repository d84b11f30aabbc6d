"""What each stage of the agent side says of its artifact without opening the files, as typed values: they are the manifest's `facts`."""

from pydantic import AwareDatetime

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.comparisons.batches.records import BaselineChoice, ComparisonVerdict
from evalplatform.kernel.values import Value
from evalplatform.reports.view import Table
from evalplatform.runs.records import Outcome, Retention, ScanCoverage


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


def unstable_facts(manifest: ArtifactManifest) -> UnstableFacts:
    """Return the facts of an `unstable_scenarios` version."""
    return UnstableFacts.model_validate(manifest.facts)
