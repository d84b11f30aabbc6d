"""What a stage's result looks like in Dagster: data version, counts, cost, digests, a Markdown preview, where the files are."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from evalplatform.calls.counts import CallCounts
from evalplatform.reports.arms_view import ResultRow
from evalplatform.stages import arms_report
from evalplatform.stages.context import StageResult, SuiteContext
from evalplatform.stages.facts import report_facts

SIMPLE = (str, int, float, bool)
SHOWN_APART = ("calls", "cell", "judge", "result")


def materialized(suite: SuiteContext, result: StageResult) -> dg.MaterializeResult[None]:
    """Return the materialization of a stage's result.

    Raises:
        dagster.Failure: the run was stopped (budget, breaker, a long wait). What was finished is stored and in the ledger; the failure says
            why it stopped, and materializing again goes on.
    """
    manifest = result.manifest
    metadata = {**_metadata(suite, result), **_call_metadata(result)}
    message = manifest.facts.get("truncated_message")
    if message and not result.unchanged:
        raise dg.Failure(description=str(message), metadata=metadata, allow_retries=False)
    return dg.MaterializeResult(data_version=dg.DataVersion(manifest.data_version), metadata=metadata)


def _metadata(suite: SuiteContext, result: StageResult) -> dict[str, Any]:
    manifest = result.manifest
    artifact = manifest.artifact
    selector = f"--suite {artifact.suite} --asset {artifact.asset} --partition {artifact.partition}"
    shown: dict[str, Any] = {
        "unchanged": result.unchanged,
        "files": dg.MetadataValue.md(_file_list(manifest.files)),
        "stored_at": f"{suite.catalog.url} artifacts/{artifact.path}/{manifest.data_version}",
        "download": f"evalplatform assets download {selector}",
        "inputs": dg.MetadataValue.json(dict(manifest.inputs)),
    }
    if artifact.asset == arms_report.ASSET:
        shown["result"] = dg.MetadataValue.md(_result_table(report_facts(manifest).result))
    for name, value in manifest.facts.items():
        if isinstance(value, SIMPLE):
            shown[name] = value
        elif isinstance(value, dict | list) and name not in SHOWN_APART:
            shown[name] = dg.MetadataValue.json(value)
    for subject in ("cell", "judge"):
        if isinstance(described := manifest.facts.get(subject), dict):
            shown[subject] = dg.MetadataValue.json(described)
    return shown


def _call_metadata(result: StageResult) -> dict[str, Any]:
    """Return the stage's calls; an unchanged stage made none, whatever the stored version once cost."""
    if "calls" not in result.manifest.facts:
        return {}
    counts = CallCounts() if result.unchanged else CallCounts.model_validate(result.manifest.facts["calls"])
    shown: dict[str, Any] = {
        "calls_paid": counts.paid,
        "calls_replayed": counts.replayed,
        "calls_shared": counts.shared,
        "calls_failed": counts.failed,
        "calls_unpriced": counts.unpriced,
    }
    if counts.paid_usd is not None:
        shown["paid_usd"] = counts.paid_usd
    return shown


def _file_list(files: Mapping[str, Any]) -> str:
    rows = [f"| `{name}` | {file.size_bytes:,} | `{file.digest[:19]}…` |" for name, file in sorted(files.items())]
    return "\n".join(["| File | Bytes | Digest |", "| --- | ---: | --- |", *rows])


def _result_table(rows: Sequence[ResultRow]) -> str:
    titles = ("Arm", "Points", "95% CI", "Scored", "Delta", "95% CI", "p adj.", "Verdict", "Cost (USD)")
    names = ("arm", "mean_points", "mean_interval", "scored", "delta_points", "delta_interval", "p_adjusted", "verdict", "cost_usd")
    lines = ["| " + " | ".join(str(getattr(row, name)) for name in names) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles), *lines])
