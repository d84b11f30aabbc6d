"""Telling Dagster what the checks of stored artifacts find, where its event log has no result of them.

Checks are computed from what is stored, without a call, so their results can be made again whenever events are lost.
"""

from collections.abc import Collection, Iterator, Mapping

import dagster as dg

# What the event log knows of a check's partitions in one query; there is no public way to it.
from dagster._core.storage.asset_check_execution_record import COMPLETED_ASSET_CHECK_EXECUTION_RECORD_STATUSES as COMPLETED

from assets.checks import evaluation_of
from assets.comparisons import comparable_evaluation
from assets.reconcile import ShownPartition, shown_partitions
from evalplatform.stages import arm_answers, judged_scores
from evalplatform.stages.checks.answer_checks import ANSWER_CHECKS
from evalplatform.stages.checks.judge_checks import JUDGE_CHECKS
from evalplatform.stages.checks.score_checks import SCORE_CHECKS
from evalplatform.stages.checks.stored import stored_check_results
from evalplatform.stages.comparison_stages import COMPARISON_ASSETS
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.report_findings import COMPARABLE

CHECKS_OF: Mapping[str, tuple[str, ...]] = {
    arm_answers.ASSET: tuple(check.name for check in ANSWER_CHECKS),
    judged_scores.ASSET: (*(check.name for check in JUDGE_CHECKS), *(check.name for check in SCORE_CHECKS)),
    **dict.fromkeys(COMPARISON_ASSETS, (COMPARABLE,)),
}
"""The names of each asset's checks."""


def unknown_check_results(
    instance: dg.DagsterInstance, suite: SuiteContext, *, reported: Collection[ShownPartition]
) -> Iterator[tuple[ShownPartition, dg.AssetCheckEvaluation]]:
    """Iterate over the check results of stored partitions of which Dagster knows no result since their last materialization.

    Partitions that Dagster does not know as materialized have no results, but for those that are `reported` to it now: report these first,
    since a result is of the partition's last materialization. A check that cannot be made has no result, as in a run.

    Raises:
        InputError, StorageError: what a check looks at cannot be read.
    """
    checked: dict[dg.AssetKey, set[str]] = {}
    materialized: dict[dg.AssetKey, set[str]] = {}
    for shown in shown_partitions(suite):
        if shown.key is None or shown.artifact.asset not in CHECKS_OF:
            continue
        if shown.asset not in checked:
            checked[shown.asset] = _checked_keys(instance, shown)
            materialized[shown.asset] = instance.get_materialized_partitions(shown.asset)
        if shown in reported or (shown.key in materialized[shown.asset] and shown.key not in checked[shown.asset]):
            yield from ((shown, result) for result in _results(instance, suite, shown, shown.key))


def _checked_keys(instance: dg.DagsterInstance, shown: ShownPartition) -> set[str]:
    """Return the partition keys of an asset with a result of any of its checks on the last materialization."""
    keys = [dg.AssetCheckKey(shown.asset, name) for name in CHECKS_OF[shown.artifact.asset]]
    return {
        info.partition_key
        for info in instance.event_log_storage.get_asset_check_partition_info(keys)
        if info.partition_key is not None and info.is_current and info.latest_execution_status in COMPLETED
    }


def _results(instance: dg.DagsterInstance, suite: SuiteContext, shown: ShownPartition, key: str) -> Iterator[dg.AssetCheckEvaluation]:
    asset = shown.artifact.asset
    manifest = suite.catalog.find_current(shown.artifact)
    if manifest is None:
        return
    if asset in COMPARISON_ASSETS:
        yield comparable_evaluation(instance, shown.asset, manifest, key)
    elif shown.cell is not None:
        for result in stored_check_results(suite, asset, shown.cell, shown.judge):
            if result.finding.passed is not None:
                yield evaluation_of(instance, suite.suite_id, result, key)
