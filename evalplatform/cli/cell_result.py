"""What a run of one cell leaves for whoever asked for it: files, a result as JSON, warnings, and how it ended."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evalplatform.artifacts.catalog import ArtifactCatalog
from evalplatform.cli.results import failure_lines
from evalplatform.reports.matrix_stamp import with_matrix_cell
from evalplatform.reports.visible import one_line
from evalplatform.stages.arms_report import json_file
from evalplatform.stages.facts import report_facts
from evalplatform.stages.pipeline import CellRun
from evalplatform.stages.report_findings import coverage_shortfall, other_failed_checks

RESULTS_FOLDER = Path("results/arms")
JSON_SUFFIX = ".json"


@dataclass(frozen=True)
class Ending:
    """How a run ended: its exit code, what kept it from being whole in a sentence each, and what a rerun would do about it."""

    code: int
    problems: tuple[str, ...] = ()
    advice: str | None = None


def results_folder(project_root: Path) -> Path:
    """Return the folder that results go to.

    It lies beside the project file, not in the working directory: that may be a folder of documents, which a report would then be one of.
    """
    return Path(os.path.relpath(project_root / RESULTS_FOLDER))


def file_name_of(product: str) -> str:
    """Return a product's name as a file's: what separates folders becomes `-`, so that no product's report leaves its folder."""
    return re.sub(r"[/\\\x00-\x1f]+", "-", product).strip(".- ") or "product"


def draw_files(json_path: Path, *, draws: int) -> dict[Path, str]:
    """Return where each draw's arms.v1 file goes (`NAME.json`, or `NAME.d0.json` and so on), and its name in the report's artifact."""
    paths = [json_path] if draws == 1 else [json_path.with_name(f"{json_path.stem}.d{draw}{json_path.suffix}") for draw in range(draws)]
    return {path: json_file(draw, draws=draws) for draw, path in enumerate(paths)}


def report_file(catalog: ArtifactCatalog, done: CellRun, file: str, *, matrix_cell: str | None = None) -> bytes:
    """Return a file of the run's report; an arms.v1 file says which cell of a matrix it is of, where it is of one."""
    data = catalog.read(done.report, file)
    return data if matrix_cell is None or not file.endswith(JSON_SUFFIX) else with_matrix_cell(data, matrix_cell)


def cell_result(done: CellRun) -> dict[str, Any]:
    """Return what a run came to, for `--json`."""
    facts = report_facts(done.report)
    return {
        "data_version": done.report.data_version,
        "unchanged": done.unchanged,
        "calls": orjson.loads(done.counts.model_dump_json()),
        "result": [row.model_dump() for row in facts.result],
        "interactions": [row.model_dump() for row in facts.interactions],
        "coverage_rate": facts.coverage_rate,
        "retrieval": facts.retrieval,
        "truncated": done.truncated_message,
        "warnings": list(done.warnings),
        "checks": [result.model_dump() for result in facts.checks],
        "failed_answers": done.failed_answers.model_dump(),
        "failed_scores": done.failed_scores.model_dump(),
        "failed_votes": done.failed_votes.model_dump(),
    }


def file_warnings(done: CellRun) -> list[str]:
    """Return what was found in the question set and the arms' files, a line each; every cell of a suite has the same."""
    return [one_line(warning) for warning in done.warnings]


def check_warnings(done: CellRun) -> list[str]:
    """Return what the checks found of the cell, a line each; a shortfall of coverage is an ending, not a warning."""
    return [one_line(result.finding.sentence) for result in other_failed_checks(done.failed_checks)]


def ending(done: CellRun, *, least_scored_rate: float) -> Ending:
    """Return how a run ended: 2 where it was truncated, something failed, or too little was scored to answer the question."""
    truncated, failures = done.truncated_message, failure_lines(done)
    problems = [*([] if truncated is None else [f"the run is truncated. {truncated}"]), *failures]
    advice = None
    if failures:
        advice = "Once that is mended, a rerun asks only those." if truncated is None else "A rerun asks only what is missing."
    facts = report_facts(done.report)
    if truncated is not None or not facts.complete:
        return Ending(2, tuple(problems), advice)
    shortfall = coverage_shortfall(
        coverage_rate=facts.coverage_rate, scored_rate=done.scored_rate, unscored=done.unscored.counts, least_rate=least_scored_rate
    )
    if shortfall is not None:
        return Ending(2, (*problems, one_line(shortfall.sentence)), advice)
    return Ending(0, tuple(problems), advice)
