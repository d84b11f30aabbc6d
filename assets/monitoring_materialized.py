"""What a night, and what is made of many, look like in Dagster. The same few names on every asset, in the order of `materialized`."""

from typing import Any

import dagster as dg

from assets.links import report_links, where_it_is
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.reports.markdown import markdown_table, markdown_text
from evalplatform.reports.view import Table
from evalplatform.stages import drift_history
from evalplatform.stages.context import StageResult
from evalplatform.stages.monitoring_context import MONITORING, MonitoringContext
from evalplatform.stages.monitoring_facts import DriftHistoryFacts, StandingsFacts, night_facts


def monitoring_key(asset: str) -> dg.AssetKey:
    """Return the key of an asset of monitoring."""
    return dg.AssetKey([MONITORING, asset])


def monitoring_materialized(context: MonitoringContext, result: StageResult) -> dg.MaterializeResult[None]:
    """Return the materialization of a stage's result. Nothing in it is of a trajectory, an address or a secret."""
    return dg.MaterializeResult(
        asset_key=monitoring_key(result.manifest.artifact.asset),
        data_version=dg.DataVersion(result.manifest.data_version),
        metadata=monitoring_metadata(context, result),
    )


def monitoring_metadata(context: MonitoringContext, result: StageResult) -> dict[str, Any]:
    """Return what is shown of a stage's result."""
    manifest = result.manifest
    return {
        **report_links(context, manifest),
        **_what_came_out(manifest),
        "unchanged": result.unchanged,
        **where_it_is(context, manifest),
        "input_digests": dg.MetadataValue.json(dict(manifest.inputs)),
    }


def _what_came_out(manifest: ArtifactManifest) -> dict[str, Any]:
    """Return what a reader looks for first: a sentence, a table, then counts and cost."""
    if manifest.artifact.asset == drift_history.ASSET:
        return _history(DriftHistoryFacts.model_validate(manifest.facts))
    if manifest.artifact.asset == drift_history.STANDINGS_ASSET:
        return _standings(StandingsFacts.model_validate(manifest.facts))
    return _night(manifest)


def _night(manifest: ArtifactManifest) -> dict[str, Any]:
    facts = night_facts(manifest)
    known = {"reason": facts.reason, "alert": facts.alert, "replay_leg": facts.replay_batch, "live_leg": facts.live_batch}
    cost = {} if facts.cost is None else {name: round(number, 3) for name, number in facts.cost.model_dump().items()}
    return {
        "result": dg.MetadataValue.md(f"**{markdown_text(facts.sentence)}**"),
        **_table(facts.preview),
        "state": facts.state,
        "stream": facts.stream,
        "due_at": dg.MetadataValue.timestamp(facts.due_at),
        **{name: value for name, value in known.items() if value is not None},
        "scenarios": facts.scenarios,
        "drifted": len(facts.drifted),
        "dead_sensors": len(facts.dead),
        **cost,
    }


def _history(facts: DriftHistoryFacts) -> dict[str, Any]:
    return {
        "result": dg.MetadataValue.md(f"**{markdown_text(facts.sentence)}**"),
        **_table(facts.preview),
        "nights": facts.nights,
        "failed_checks": facts.failed_checks,
        "scenarios": facts.scenarios,
        "drifted_scenarios": facts.drifted_scenarios,
        "verdict_alarms": dg.MetadataValue.json(facts.verdict_rate.model_dump(mode="json")),
        "path_alarms": dg.MetadataValue.json(facts.path_rate.model_dump(mode="json")),
    }


def _standings(facts: StandingsFacts) -> dict[str, Any]:
    lines = "\n".join(f"- {markdown_text(sentence)}" for sentence in facts.sentences)
    return {
        "result": dg.MetadataValue.md(lines or "No night is recorded."),
        **_table(facts.preview),
        "streams": facts.streams,
        "clean": facts.clean,
        "flagged": facts.flagged,
        "failed": facts.failed,
    }


def _table(table: Table | None) -> dict[str, Any]:
    return {} if table is None else {"preview": dg.MetadataValue.md(markdown_table(table))}
