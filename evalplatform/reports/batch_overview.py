"""Recorded batches as text and JSON: the list of them, and one with its scenarios."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalplatform.comparisons.batches.scenario_runs import ScenarioRuns
from evalplatform.kernel.text import plural
from evalplatform.reports import words
from evalplatform.reports.batch_comparison_words import AS_RECORDED, TOLERANCE_WORDS, count_words, partial_words, shortfall_words
from evalplatform.reports.visible import one_line, with_visible_spaces
from evalplatform.runs.records import Batch, Origin, ScanCoverage

LIST_TITLES = ("Batch", "Commit", "Branch", "Recorded (UTC)", "Runs", "Passed/graded", "State")
SCENARIO_TITLES = ("Scenario", "Passed/graded", "Planned", "Tier", "Path tolerance", "Violations")
COMMIT_CHARS = 12
NOT_DECLARED = "not declared"
ORIGIN_WORDS: dict[Origin, str] = {"run": "", "import": ", imported", "night": ", leg of a night"}


def batch_list_lines(batches: Sequence[Batch], continued: Mapping[str, str]) -> Iterator[str]:
    """Yield batches as a table in the order given, columns aligned; nothing where there is none.

    `continued` holds, by the id of a batch that was gone on with, the id of the one that stands for it now.
    """
    if batches:
        yield from _table(LIST_TITLES, (_list_cells(batch, continued.get(batch.id)) for batch in batches))


def batch_lines(batch: Batch, scenarios: Iterable[ScenarioRuns]) -> Iterator[str]:
    """Yield one batch: what is known of it, how far it was scanned, what it lacks, and k/n of each scenario."""
    yield batch.id
    facts = dict(_facts(batch))
    width = max(len(name) for name in facts)
    for name, fact in facts.items():
        yield f"  {name.ljust(width)}  {one_line(fact)}"
    yield from (f"  {one_line(shortfall)}" for shortfall in shortfall_words(batch))
    yield ""
    yield from _table(SCENARIO_TITLES, (_scenario_cells(scenario) for scenario in scenarios))


def batch_json(batch: Batch) -> dict[str, Any]:
    """Return a batch as JSON for a list of them: of its scenarios only how many there are."""
    facts = batch.model_dump(mode="json", exclude={"header": {"scenarios"}})
    return facts | {
        "policy_digest": batch.header.policy_digest,
        "scenario_count": len(batch.header.scenarios),
        "is_partial": batch.is_partial,
    }


def coverage_words(coverage: ScanCoverage) -> str:
    """Return how many of the runs that have steps were scanned for violations; none scanned is said, and is not the same as none found."""
    if not coverage.runs:
        return "no run has steps to scan"
    if not coverage.scanned_runs:
        return "no run was scanned"
    return f"{coverage.scanned_runs:,} of {plural(coverage.runs, 'run')} with steps scanned{'' if coverage.is_whole else ': partial'}"


def _facts(batch: Batch) -> Iterator[tuple[str, str]]:
    header = batch.header
    yield "project", f"{header.project} (tenant {header.tenant})"
    yield "commit", header.commit or words.MISSING
    yield "branch", header.branch or words.MISSING
    yield "CI event", (header.ci_event or words.MISSING).replace("_", " ")
    yield "agent", header.agent
    yield "model", header.model or words.MISSING
    yield "judge", header.judge
    yield "recorded", f"{header.recorded_at:%Y-%m-%d %H:%M:%S} UTC{ORIGIN_WORDS[header.origin]}"
    then = "" if batch.retention == "whole" else AS_RECORDED
    yield "runs", f"{batch.run_count:,}: {batch.passed_runs:,} passed of {batch.graded_runs:,} graded{then}"
    yield "violations", f"{coverage_words(batch.coverage)}{then}"
    yield "gate policy", header.policy_digest or words.MISSING
    yield "scenarios", header.scenario_set_digest or words.MISSING
    yield "content", batch.content_digest


def _list_cells(batch: Batch, continued_as: str | None) -> tuple[str, ...]:
    shortened = (batch.header.commit or words.MISSING)[:COMMIT_CHARS]
    gone_on_with = [] if continued_as is None else [f"continued as {continued_as}"]
    partial = [partial_words(batch)] if batch.is_partial else []
    truncated = ["truncated"] if batch.truncated else []
    of_night = ["leg of a night"] if batch.is_leg else []
    lacks = [*of_night, *gone_on_with, *partial, *truncated, *([batch.retention] if batch.retention != "whole" else [])]
    return (
        batch.id,
        shortened,
        batch.header.branch or words.MISSING,
        f"{batch.header.recorded_at:%Y-%m-%d %H:%M}",
        f"{batch.run_count:,}",
        f"{batch.passed_runs:,}/{batch.graded_runs:,}",
        ", ".join(lacks) or "complete",
    )


def _scenario_cells(scenario: ScenarioRuns) -> tuple[str, ...]:
    planned = scenario.planned
    tolerance = None if planned is None else planned.tolerance
    return (
        with_visible_spaces(scenario.scenario_id),
        f"{count_words(scenario.runs)}{' (replay)' if planned is not None and planned.leg == 'replay' else ''}",
        NOT_DECLARED if planned is None else f"{planned.planned_runs:,}",
        NOT_DECLARED if planned is None else planned.tier,
        NOT_DECLARED if tolerance is None else TOLERANCE_WORDS[tolerance],
        _violation_words(scenario),
    )


def _violation_words(scenario: ScenarioRuns) -> str:
    coverage = scenario.coverage
    if coverage.is_whole:
        return f"{scenario.violations:,}" if coverage.runs else words.MISSING
    if not coverage.scanned_runs:
        return "not scanned"
    return f"{scenario.violations:,} ({plural(coverage.runs - coverage.scanned_runs, 'run')} not scanned)"


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    table = [titles, *(tuple(one_line(cell) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(titles))]
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
