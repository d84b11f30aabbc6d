"""Asset checks of a batch comparison: whether the candidate regressed, and whether both batches were scanned for violations.

Neither blocks: they say what the comparison found. The gate's check does block: it fails where the gate fails or has no answer.
"""

import dagster as dg

from assets.batch_partitions import BATCH_PARTITIONS
from assets.checks import check_spec, checked_materialization
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.runs.records import ScanCoverage
from evalplatform.stages.runs_facts import BatchComparisonFacts, batch_comparison_facts, gate_decision_facts

NO_REGRESSION = "no_regression"
SCAN_COVERAGE = "scan_coverage"
CHECKS = (NO_REGRESSION, SCAN_COVERAGE)
GATE = "gate"

_NO_REGRESSION = (
    "Fails where a scenario that passed in the baseline does not pass in the candidate, and as well where the batches could not be "
    "compared: that is not known to be fine.\n\nIt has no settings and blocks nothing; one run a side decides, as in `evalplatform diff`."
)
_SCAN_COVERAGE = (
    "Warns where a run of either batch was not scanned for violations, so that one may have gone unseen.\n\nIt has no settings and blocks "
    "nothing."
)


_GATE = (
    "Fails where the gate of the batch fails, and where it could not be decided. **Blocks**: nothing that reads the comparison runs then. "
    "The decision and its certificate are stored before it, in `gate_decisions`.\n\nIts only setting is the gate policy that the batches "
    "ran under; without one, one run a side decides."
)


def gate_check_spec(asset: dg.AssetKey) -> dg.AssetCheckSpec:
    """Return the declaration of the gate's check, which blocks."""
    return check_spec(GATE, asset, description=_GATE, partitions=BATCH_PARTITIONS, blocking=True)


def gate_check(instance: dg.DagsterInstance, check: dg.AssetCheckKey, decided: ArtifactManifest, partition: str) -> dg.AssetCheckEvaluation:
    """Return what a stored gate decision says, as a result of the partition's last comparison."""
    facts = gate_decision_facts(decided)
    known = {"k": facts.k, "threshold": facts.threshold, "suite_p": facts.suite_p, "remembered": facts.remembered_key}
    return dg.AssetCheckEvaluation(
        asset_key=check.asset_key,
        check_name=check.name,
        passed=facts.answer == "passes",
        metadata={
            "partition": partition,
            "baseline": facts.baseline,
            "answer": facts.answer,
            "scenarios": facts.scenarios,
            "gating": dg.MetadataValue.json(list(facts.gating)),
            **{name: value for name, value in known.items() if value is not None},
        },
        target_materialization_data=checked_materialization(instance, check.asset_key, partition),
        severity=dg.AssetCheckSeverity.ERROR,
        description=facts.sentence,
        blocking=True,
        partition=partition,
    )


def comparison_check_specs(asset: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """Return the declarations of a comparison's checks."""
    return [
        check_spec(NO_REGRESSION, asset, description=_NO_REGRESSION, partitions=BATCH_PARTITIONS),
        check_spec(SCAN_COVERAGE, asset, description=_SCAN_COVERAGE, partitions=BATCH_PARTITIONS),
    ]


def comparison_check(
    instance: dg.DagsterInstance, check: dg.AssetCheckKey, manifest: ArtifactManifest, partition: str
) -> dg.AssetCheckEvaluation:
    """Return what one of the checks found of a stored comparison, as a result of the partition's last materialization."""
    facts = batch_comparison_facts(manifest)
    is_regression = check.name == NO_REGRESSION
    return dg.AssetCheckEvaluation(
        asset_key=check.asset_key,
        check_name=check.name,
        passed=facts.verdict not in ("regressed", "incomparable") if is_regression else _is_scanned(facts),
        metadata={"partition": partition, "baseline": facts.baseline, "verdict": facts.verdict, **_counts(facts, check.name)},
        target_materialization_data=checked_materialization(instance, check.asset_key, partition),
        severity=dg.AssetCheckSeverity.ERROR if is_regression else dg.AssetCheckSeverity.WARN,
        description=facts.sentence if is_regression else coverage_sentence(facts),
        blocking=False,
        partition=partition,
    )


def coverage_sentence(facts: BatchComparisonFacts) -> str:
    """Return how much of both batches was scanned for violations."""
    if _is_scanned(facts):
        return "Every run of both batches that has steps was scanned for violations."
    said = (f"{_words(facts.baseline_coverage)} of the baseline", f"{_words(facts.candidate_coverage)} of the candidate")
    return f"Scanned for violations: {' and '.join(said)}. What was not scanned is not known to be free of them."


def _is_scanned(facts: BatchComparisonFacts) -> bool:
    return facts.baseline_coverage.is_whole and facts.candidate_coverage.is_whole


def _counts(facts: BatchComparisonFacts, name: str) -> dict[str, int]:
    if name == NO_REGRESSION:
        return {"newly_failing": facts.newly_failing, "could_not_run": facts.could_not_run, "compared": facts.compared}
    return {
        f"{side}_{what}": number
        for side, coverage in (("baseline", facts.baseline_coverage), ("candidate", facts.candidate_coverage))
        for what, number in (("scanned_runs", coverage.scanned_runs), ("runs", coverage.runs))
    }


def _words(coverage: ScanCoverage) -> str:
    return f"{coverage.scanned_runs:,} of {coverage.runs:,} runs with steps"
