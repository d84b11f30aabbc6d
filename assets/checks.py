"""Asset checks: what Dagster is told of the checks of a suite, and what each of them found, partition by partition.

The results are recorded by hand, each with the partition it is of, so that a run over several says which one failed. A check that could not
be made is recorded as nothing at all: the UI calls it skipped, and the log says why. Only a check that was made can pass.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

# What ties a result to the materialization it is of; there is no public way to it.
from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationTargetMaterializationData

from assets.declared import asset_key
from evalplatform.project.policy import SuiteChecks
from evalplatform.stages.checks.answer_checks import ANSWER_CHECKS
from evalplatform.stages.checks.check import Check, CheckResult
from evalplatform.stages.checks.judge_checks import JUDGE_CHECKS
from evalplatform.stages.checks.score_checks import SCORE_CHECKS
from evalplatform.stages.context import SuiteContext

SEVERITIES = {"warn": dg.AssetCheckSeverity.WARN, "error": dg.AssetCheckSeverity.ERROR}


def check_specs(suite_id: str, settings: SuiteChecks, asset: str, partitions: dg.PartitionsDefinition[str]) -> list[dg.AssetCheckSpec]:
    """Return the declarations of an asset's checks, each with its partitions, and blocking where the project file says so."""
    every: tuple[Check[Any], ...] = (*ANSWER_CHECKS, *JUDGE_CHECKS, *SCORE_CHECKS)
    checks = [check for check in every if check.asset == asset]
    return [
        check_spec(
            check.name,
            asset_key(suite_id, asset),
            description=f"{check.description}\n\nSettings: `{place(suite_id, check.name)}` in the project file.",
            blocking=getattr(settings, check.name).blocking,
            partitions=partitions,
        )
        for check in checks
    ]


def check_spec(
    name: str, asset: dg.AssetKey, *, description: str, partitions: dg.PartitionsDefinition[str], blocking: bool = False
) -> dg.AssetCheckSpec:
    """Return the declaration of a check with its partitions."""
    with warnings.catch_warnings():
        # Partitions of a check are a preview in Dagster. Without them its UI would show the last partition's result as that of all.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.AssetCheckSpec(name, asset=asset, description=description, blocking=blocking, partitions_def=partitions)


def recorded_checks(
    context: dg.AssetExecutionContext, suite: SuiteContext, results: Sequence[CheckResult], partition: str
) -> Iterator[dg.AssetCheckEvaluation]:
    """Yield what the checks found of a partition; whether the run goes on is the caller's to decide."""
    for result in results:
        if result.finding.passed is None:
            context.log.info(f"check {result.name} of {result.asset} {partition} was not made: {result.finding.sentence}")
        else:
            yield evaluation_of(context.instance, suite.suite_id, result, partition)


def place(suite_id: str, check_name: str) -> str:
    """Return where a check's settings stand in the project file."""
    return f"suites.{suite_id}.checks.{check_name}"


def evaluation_of(instance: dg.DagsterInstance, suite_id: str, result: CheckResult, partition: str) -> dg.AssetCheckEvaluation:
    """Return what Dagster is told of a check that was made, as a result of the partition's last materialization."""
    finding, key = result.finding, asset_key(suite_id, result.asset)
    metadata: dict[str, Any] = {
        "partition": partition,
        "value": finding.value,
        "unit": finding.unit,
        "limit": finding.limit,
        "setting": place(suite_id, result.name) if result.setting is None else f"{place(suite_id, result.name)}.{result.setting}",
        "examples": dg.MetadataValue.json(list(finding.examples)) if finding.examples else None,
    }
    return dg.AssetCheckEvaluation(
        asset_key=key,
        check_name=result.name,
        passed=finding.passed is True,
        metadata={name: value for name, value in metadata.items() if value is not None},
        target_materialization_data=checked_materialization(instance, key, partition),
        severity=SEVERITIES[result.severity],
        description=finding.sentence,
        blocking=result.blocking,
        partition=partition,
    )


def checked_materialization(
    instance: dg.DagsterInstance, key: dg.AssetKey, partition: str
) -> AssetCheckEvaluationTargetMaterializationData | None:
    """Return the last materialization of a partition as the one that a check's result is of; None where there is none."""
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[partition])
    record = next(iter(instance.fetch_materializations(wanted, limit=1).records), None)
    if record is None:
        return None
    return AssetCheckEvaluationTargetMaterializationData(
        storage_id=record.storage_id, run_id=record.event_log_entry.run_id, timestamp=record.timestamp
    )
