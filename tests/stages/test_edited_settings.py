"""Settings that are edited after answers were stored: a report of those answers tells of them as they were made."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalplatform.artifacts.records import ArtifactManifest
from evalplatform.project.load import load_project
from evalplatform.retrieval.rerank import RERANKER
from evalplatform.stages import arms_report
from evalplatform.stages.context import SuiteContext
from evalplatform.stages.pipeline import run_cell
from evalplatform.stages.score_stages import stages_of
from evalplatform.wiring import OpenedProject
from tests.support.model_stub import running_stub
from tests.support.starter import edited, starter

HERE = "  here: {provider: offline}"
FACTS = "facts: {kind: overlap, model: overlap, endpoint: here}"
SECOND = (FACTS, f"{FACTS}\n  second: {{kind: overlap, model: overlap, endpoint: here}}")
SETTINGS = (
    ("    baseline_arm: baseline\n", "    baseline_arm: baseline\n    draws: 3\n    top_k: 2\n    rerank_threshold: 0.9\n"),
    ("sampling: {max_tokens: 120}", "sampling: {max_tokens: 120, seed: 7}"),
)


@contextmanager
def suite(file: Path) -> Iterator[SuiteContext]:
    with OpenedProject(load_project(file, environ={})) as opened:
        yield opened.suite_context("kettle")


def answered(folder: Path, *replacements: tuple[str, str]) -> Path:
    file = starter(folder, *replacements)
    with suite(file) as context:
        run_cell(context, context.project.cell("reader"), context.project.judge("facts"))
    return file


def judged_by_second(file: Path) -> dict[str, str]:
    """Run the chain of the added judge on the stored answers; return the report's files."""
    with suite(file) as context:
        cell, judge = context.project.cell("reader"), context.project.judge("second")
        manifest = [stage.materialize(context, cell, judge) for stage in stages_of(context.suite, judge)][-1].manifest
        return {name: told(context, manifest, name) for name in manifest.files}


def told(context: SuiteContext, manifest: ArtifactManifest, name: str) -> str:
    """A file of a report without the times at which it and its answers were made."""
    text = context.catalog.read(manifest, name).decode()
    return re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?", "", text)


def test_settings_edited_after_the_answers_do_not_change_a_report_of_them(tmp_path: Path) -> None:
    as_answered, since_edited = answered(tmp_path / "a"), answered(tmp_path / "b")
    edited(as_answered, SECOND)
    edited(since_edited, SECOND, *SETTINGS)
    expected = judged_by_second(as_answered)
    assert "arms.json" in expected
    assert judged_by_second(since_edited) == expected


def test_a_judges_seed_edited_after_its_scores_is_not_in_a_report_of_them(tmp_path: Path) -> None:
    with running_stub() as stub:
        there = f'  there: {{provider: openai-compatible, base_url: "{stub.url}"}}'
        rubric = "facts: {kind: rubric, model: grader, endpoint: there, sampling: {seed: 8}}"
        file = answered(tmp_path / "a", (HERE, f"{HERE}\n{there}"), (FACTS, rubric))
    edited(file, ("seed: 8", "seed: 9"), ("  kettle: {}", "  kettle: {}\n  pot: {}"), ("    product: kettle", "    product: pot"))
    with suite(file) as context:
        result = arms_report.materialize_arms_report(context, context.project.cell("reader"), context.project.judge("facts"))
        assert not result.unchanged
        text = told(context, result.manifest, arms_report.MARKDOWN_FILE)
    assert "seed 8" in text
    assert "seed 9" not in text


def test_answers_stored_before_their_retrieval_was_kept_are_reported_without_it(tmp_path: Path) -> None:
    file = answered(tmp_path / "a")
    (manifest,) = (file.parent / ".evalplatform/store/artifacts/kettle/arm_answers").glob("*/*/manifest.json")
    described = json.loads(manifest.read_text())
    assert described["facts"].pop("retrieval") == {"top_k": 5, "rerank_threshold": 0.3, "reranker": RERANKER}
    manifest.write_text(json.dumps(described))
    edited(file, SECOND)
    report = judged_by_second(file)
    assert "Retrieval: not recorded with these answers" in report["report.md"].replace("*", "")
    assert json.loads(report["arms.json"])["top_k"] is None
