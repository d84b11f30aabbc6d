"""What a stage's result looks like in Dagster: data version, result, counts, cost, digests, a preview, where the files are.

A reader finds the same few names on every asset: a report's links, `result` or `preview`, whose it is (`cell`, `judge`), counts with
`failures` and `complete`, then `calls_*` and `paid_usd` of this materialization, where it is (`download`, `stored_at`, `files`), and last
what is long, with `input_digests`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.declared import asset_key
from assets.links import report_links, where_it_is
from assets.tables import TABLES, markdown_rows
from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.calls.counts import CallCounts
from evalplatform.project.partition_keys import asked_for, owned_keys
from evalplatform.reports.arms_view import ResultRow
from evalplatform.reports.markdown import markdown_table, markdown_text
from evalplatform.reports.verdicts import verdict_section
from evalplatform.reports.view import Table
from evalplatform.reports.words import MISSING
from evalplatform.stages import arm_answers, arms_report, judged_scores, question_set, score_moves, verdicts
from evalplatform.stages.comparison_stages import COMPARISON_ASSETS
from evalplatform.stages.context import StageResult, SuiteContext
from evalplatform.stages.facts import (
    ComparisonFacts,
    answer_facts,
    comparison_facts_of,
    report_facts,
    score_facts,
    score_move_facts,
    verdict_facts,
)

NO_BREAK = "\N{NO-BREAK SPACE}"
SHOWN_APART = frozenset(
    {
        "calls",
        "cell",
        "judge",
        "result",
        "verdicts",
        "checks",
        "findings",
        "refusals",
        "shortfalls",
        "advice",
        "tables",
        "truncated_message",
        "rows",
    }
)

REPORT_COLUMNS = frozenset(
    {
        "Plugin set",
        "Against",
        "Scored",
        "Pairs",
        "Improved",
        "Degraded",
        "p (t)",
        "p (Wilcoxon)",
        "d_z",
        "Effect",
        "Cost (USD)",
        "Tokens",
        "Cost delta (USD)",
        "Completion tokens delta",
        "Length delta (chars)",
    }
)
"""Columns of a comparison's tables that its report alone shows."""


def materialized(suite: SuiteContext, result: StageResult) -> dg.MaterializeResult[None]:
    """Return the materialization of a stage's result.

    Raises:
        dagster.Failure: the run was stopped (budget, breaker, a long wait). What was finished is stored and in the ledger; the failure says
            why it stopped, and materializing again goes on.
    """
    manifest = result.manifest
    numbers, details = _facts(manifest)
    metadata = {
        **report_links(suite, manifest),
        **_what_came_out(suite, manifest),
        **_of_whom(suite, manifest),
        **numbers,
        **_calls(result),
        "unchanged": result.unchanged,
        **where_it_is(suite, manifest),
        **details,
        "input_digests": dg.MetadataValue.json(dict(manifest.inputs)),
    }
    message = manifest.facts.get("truncated_message")
    if message and not result.unchanged:
        raise dg.Failure(description=str(message), metadata=metadata, allow_retries=False)
    return dg.MaterializeResult(
        asset_key=asset_key(manifest.artifact.suite, manifest.artifact.asset),
        data_version=dg.DataVersion(manifest.data_version),
        metadata=metadata,
    )


def _of_whom(suite: SuiteContext, manifest: ArtifactManifest) -> dict[str, Any]:
    """Return what the partition's keys stand for: `cell` and `judge`, each with id, model, provider and what else a reader knows it by."""
    shown: dict[str, Any] = {}
    for key, owners in owned_keys(manifest.artifact.partition):
        for owner in owners:
            for asked in asked_for(suite.project, suite.suite_id, owner):
                if asked.key == key:
                    shown[owner] = f"{asked.id}: {', '.join(f'{name} {value}' for name, value in asked.labels.items())}"
    return shown


def _what_came_out(suite: SuiteContext, manifest: ArtifactManifest) -> dict[str, Any]:
    """Return what a reader looks for first: the result table of a report, the first rows of a table, the number of failures."""
    asset = manifest.artifact.asset
    if asset == arms_report.ASSET:
        facts = report_facts(manifest)
        found = {"findings": dg.MetadataValue.md(_points(facts.findings))} if facts.findings else {}
        return {"result": dg.MetadataValue.md(_result_table(facts.result)), **found}
    if asset in COMPARISON_ASSETS:
        return _comparison(comparison_facts_of(manifest))
    if asset == question_set.ASSET:
        return {"dagster/row_count": manifest.facts["questions"]}
    if asset not in TABLES:
        return {}
    if asset == score_moves.ASSET:
        moves = score_move_facts(manifest)
        return {
            "result": dg.MetadataValue.md(_points(moves.findings)),
            "preview": dg.MetadataValue.md(TABLES[asset].preview(suite, manifest)),
            "dagster/partition_row_count": moves.rows,
        }
    passes = {"result": dg.MetadataValue.md(_pass_rates(manifest))} if asset == verdicts.ASSET else {}
    return {
        **passes,
        "preview": dg.MetadataValue.md(TABLES[asset].preview(suite, manifest)),
        "failures": _failures(manifest),
        "dagster/partition_row_count": manifest.facts["rows"],
    }


def _comparison(facts: ComparisonFacts) -> dict[str, Any]:
    """Return what a comparison came to: its table, what it found, what it refused, and what to know before reading it."""
    points = {
        "refused": facts.refusals,
        "falls_short": facts.shortfalls,
        "to_do": facts.advice,
        "findings": facts.findings,
        "warnings": facts.warnings,
    }
    tables = "\n\n".join(f"**{markdown_text(title)}**\n\n{markdown_table(_narrowed(table))}" for title, table in facts.tables.items())
    result = {"result": dg.MetadataValue.md(tables.replace(", ", f",{NO_BREAK}"))} if tables else {}
    return {**result, **{name: dg.MetadataValue.md(_points(sentences)) for name, sentences in points.items() if sentences}}


def _narrowed(table: Table) -> Table:
    """Return a table as it fits beside Dagster's panels; the report has all of its columns."""
    kept = [place for place, column in enumerate(table.columns) if column.label not in REPORT_COLUMNS]
    return Table(
        columns=tuple(table.columns[place] for place in kept), rows=tuple(tuple(row[place] for place in kept) for row in table.rows)
    )


def _pass_rates(manifest: ArtifactManifest) -> str:
    return markdown_table(verdict_section(verdict_facts(manifest).verdicts).table)


def _failures(manifest: ArtifactManifest) -> int:
    """Return how many rows have no answer, or no points."""
    if manifest.artifact.asset == arm_answers.ASSET:
        answers = answer_facts(manifest)
        return answers.rows - answers.states.get("answered", 0)
    if manifest.artifact.asset == verdicts.ASSET:
        return verdict_facts(manifest).unscored
    assert manifest.artifact.asset == judged_scores.ASSET  # the last asset with a table
    scores = score_facts(manifest)
    return scores.rows - scores.scored


def _facts(manifest: ArtifactManifest) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the stage says of its artifact: numbers and words, and what is too long to stand before them."""
    shown = {name: value for name, value in manifest.facts.items() if name not in SHOWN_APART and value not in (None, [], {})}
    details = {name: _detail(value) for name, value in shown.items() if isinstance(value, dict | list)}
    return {name: value for name, value in shown.items() if name not in details}, details


def _detail(value: Mapping[str, Any] | Sequence[Any]) -> dg.MetadataValue[Any]:
    """Return what a person reads best: sentences as a list of points, everything else as JSON."""
    if isinstance(value, Mapping) or not all(isinstance(item, str) for item in value):
        return dg.MetadataValue.json(value)
    return dg.MetadataValue.md(_points(value))


def _points(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {markdown_text(sentence)}" for sentence in sentences)


def _calls(result: StageResult) -> dict[str, Any]:
    """Return the stage's calls; an unchanged stage made none, whatever the stored version once cost."""
    if "calls" not in result.manifest.facts:
        return {}
    counts = CallCounts() if result.unchanged else CallCounts.model_validate(result.manifest.facts["calls"])
    tallies = {f"calls_{name}": getattr(counts, name) for name in ("paid", "replayed", "shared", "failed", "unpriced")}
    return tallies if counts.paid_usd is None else {**tallies, "paid_usd": counts.paid_usd}


def _result_table(rows: Sequence[ResultRow]) -> str:
    titles = ("Arm", "Points [95% CI]", "Delta [95% CI]", "Verdict", "p adj.", "Scored")  # more would not fit beside Dagster's panels
    table = markdown_rows(
        titles,
        [
            (
                row.arm,
                _with_interval(row.mean_points, row.mean_interval),
                _with_interval(row.delta_points, row.delta_interval),
                row.verdict,
                row.p_adjusted,
                row.scored,
            )
            for row in rows
        ],
    )
    return table.replace(", ", f",{NO_BREAK}")  # the UI breaks a cell at every space; an interval stays in one piece


def _with_interval(number: str, interval: str) -> str:
    return number if interval == MISSING else f"{number} {interval}"
