"""What a result of the agent side looks like in Dagster. The same few names on every asset, in the order of `materialized`."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from assets.links import report_links, where_it_is
from assets.run_checks import coverage_sentence
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.kernel.text import plural
from evalplatform.reports.batch_comparison_words import RETENTION_WORDS
from evalplatform.reports.headline_words import CHOICE_WORDS
from evalplatform.reports.markdown import markdown_table, markdown_text
from evalplatform.reports.view import Table
from evalplatform.runs.records import ScanCoverage
from evalplatform.stages import batch_comparisons, gate_decisions, gate_plan, gate_readiness, recorded_batches, unstable_scenarios
from evalplatform.stages.context import StageResult
from evalplatform.stages.runs_context import RUNS, RunsContext
from evalplatform.stages.runs_facts import (
    BatchFacts,
    batch_comparison_facts,
    batch_facts,
    gate_decision_facts,
    gate_readiness_facts,
    run_plan_facts,
    scenario_set_facts,
    unstable_facts,
)


def runs_key(asset: str) -> dg.AssetKey:
    """Return the key of an asset of the agent side."""
    return dg.AssetKey([RUNS, asset])


def runs_materialized(context: RunsContext, result: StageResult) -> dg.MaterializeResult[None]:
    """Return the materialization of a stage's result."""
    manifest = result.manifest
    return dg.MaterializeResult(
        asset_key=runs_key(manifest.artifact.asset),
        data_version=dg.DataVersion(manifest.data_version),
        metadata={
            **report_links(context, manifest),
            **_what_came_out(manifest),
            "unchanged": result.unchanged,
            **where_it_is(context, manifest),
            "input_digests": dg.MetadataValue.json(dict(manifest.inputs)),
        },
    )


def _what_came_out(manifest: ArtifactManifest) -> dict[str, Any]:
    """Return what a reader looks for first: a sentence, a table, then counts."""
    asset = manifest.artifact.asset
    if asset == recorded_batches.ASSET:
        return _batch(batch_facts(manifest))
    if asset == batch_comparisons.ASSET:
        return _comparison(manifest)
    if asset == unstable_scenarios.ASSET:
        return _unstable(manifest)
    if asset == gate_decisions.ASSET:
        return _decision(manifest)
    if asset == gate_readiness.ASSET:
        return _readiness(manifest)
    if asset == gate_plan.ASSET:
        return _plan(manifest)
    return {"dagster/row_count": manifest.facts["scenarios"], **scenario_set_facts(manifest).model_dump()}


def _batch(facts: BatchFacts) -> dict[str, Any]:
    ended = facts.outcomes
    scenarios = plural(facts.scenarios, "scenario")
    passed = f"{facts.passed_scenarios:,} of {scenarios} passed in every graded run, {facts.mixed_scenarios:,} in some."
    known = {"commit": facts.commit, "branch": facts.branch, "agent": facts.agent, "model": facts.model, "judge": facts.judge}
    return {
        "result": dg.MetadataValue.md(markdown_text(passed)),
        **_table("preview", facts.preview),
        **{name: value for name, value in known.items() if value is not None},
        "recorded_at": dg.MetadataValue.timestamp(facts.recorded_at),
        "runs": facts.runs,
        "graded": facts.graded,
        "could_not_run": ended.get("harness_error", 0),
        "ungraded": ended.get("ungraded", 0),
        "scanned_for_violations": _coverage(facts.coverage),
        **({} if facts.truncated_reason is None else {"truncated": facts.truncated_reason}),
        **({} if facts.retention == "whole" else {"retention": RETENTION_WORDS[facts.retention]}),
        "dagster/partition_row_count": facts.runs,
    }


def _comparison(manifest: ArtifactManifest) -> dict[str, Any]:
    facts = batch_comparison_facts(manifest)
    return {
        "result": dg.MetadataValue.md(f"**{markdown_text(facts.sentence)}**\n\n{markdown_text(facts.counts_line)}"),
        **_table("preview", facts.preview),
        "verdict": facts.verdict,
        "baseline": f"{facts.baseline} ({CHOICE_WORDS[facts.choice]})",
        **_points("notices", facts.notices),
        "compared": facts.compared,
        "newly_failing": facts.newly_failing,
        "could_not_run": facts.could_not_run,
        "gate_would_fail": facts.would_fail,
        "scanned_for_violations": coverage_sentence(facts),
    }


def _unstable(manifest: ArtifactManifest) -> dict[str, Any]:
    facts = unstable_facts(manifest)
    return {
        "result": dg.MetadataValue.md(f"**{markdown_text(facts.headline)}**"),
        **_table("preview", facts.preview),
        **_points("left_out", facts.left_out),
        "unstable": facts.unstable,
        "scenarios_compared": facts.scenarios_compared,
        "repeated_commits": facts.repeated_commits,
        "batches_read": facts.batches_read,
    }


def _decision(manifest: ArtifactManifest) -> dict[str, Any]:
    facts = gate_decision_facts(manifest)
    known = {
        "k": facts.k,
        "threshold": facts.threshold,
        "suite_p": facts.suite_p,
        "certificate": facts.certificate_digest,
        "remembered": facts.remembered_key,
        "remembered_standing": facts.remembered_standing,
    }
    return {
        "result": dg.MetadataValue.md(f"**{markdown_text(facts.sentence)}**"),
        "answer": facts.answer,
        "baseline": f"{facts.baseline} ({CHOICE_WORDS[facts.choice]})",
        "decided_by": "gate policy" if facts.by_policy else "one run a side",
        "scenarios": facts.scenarios,
        **_points("gating", facts.gating),
        **{name: value for name, value in known.items() if value is not None},
    }


def _readiness(manifest: ArtifactManifest) -> dict[str, Any]:
    facts = gate_readiness_facts(manifest)
    return {
        "result": dg.MetadataValue.md(f"**{markdown_text(facts.sentence)}**"),
        **_table("preview", facts.preview),
        **_points("notes", facts.notes),
        "branch": facts.branch,
        "target_drop_points": facts.target_drop_points,
        "scenarios": facts.scenarios,
        **({} if facts.caught is None else {"caught": facts.caught}),
        "with_enough_history": facts.with_enough_history,
        "with_full_history": facts.with_full_history,
        "runs_per_gate": facts.runs_per_gate,
    }


def _plan(manifest: ArtifactManifest) -> dict[str, Any]:
    facts = run_plan_facts(manifest)
    return {
        "result": dg.MetadataValue.md(f"**{markdown_text(facts.sentence)}**"),
        **_table("preview", facts.preview),
        **_points("notes", facts.notes),
        "branch": facts.branch,
        "total_runs": facts.total_runs,
        "max_runs": facts.max_runs,
        "scenarios": facts.scenarios,
        "covered": facts.covered,
        **_points("falling_short", facts.short),
    }


def _table(name: str, table: Table | None) -> dict[str, Any]:
    return {} if table is None else {name: dg.MetadataValue.md(markdown_table(table))}


def _points(name: str, sentences: Sequence[str]) -> dict[str, Any]:
    return {name: dg.MetadataValue.md("\n".join(f"- {markdown_text(sentence)}" for sentence in sentences))} if sentences else {}


def _coverage(coverage: ScanCoverage) -> str:
    return f"{coverage.scanned_runs:,} of {coverage.runs:,} runs with steps"
